// SPDX-License-Identifier: Apache-2.0
// Counts the work done over the link to a worker.
#pragma once

#include <atomic>
#include <cstdint>

namespace dhpvm::offload {

// Thread-safe.
class LinkCounters {
 public:
  void count_job() { ++jobs_; }
  void count_batch(bool is_replay) {
    ++batches_;
    if (is_replay) ++replays_;
  }
  void count_sent(std::uint64_t bytes) { bytes_sent_ += bytes; }
  void count_received(std::uint64_t bytes) { bytes_received_ += bytes; }

  std::uint64_t jobs() const { return jobs_; }  // kernels launched
  std::uint64_t batches() const { return batches_; }
  std::uint64_t replays() const { return replays_; }  // of the batches, those that repeated a recorded one
  std::uint64_t bytes_sent() const { return bytes_sent_; }  // of arrays
  std::uint64_t bytes_received() const { return bytes_received_; }

 private:
  std::atomic<std::uint64_t> jobs_ = 0;
  std::atomic<std::uint64_t> batches_ = 0;
  std::atomic<std::uint64_t> replays_ = 0;
  std::atomic<std::uint64_t> bytes_sent_ = 0;
  std::atomic<std::uint64_t> bytes_received_ = 0;
};

}  // namespace dhpvm::offload
