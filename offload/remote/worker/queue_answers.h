// SPDX-License-Identifier: Apache-2.0
// Collects the answers to the operations of one queue: small results and times wait for the notification that follows
// them, and leave in its frame.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload {

// Thread-safe: threads of the device add results.
class QueueAnswers {
 public:
  explicit QueueAnswers(std::shared_ptr<FrameLane> frames) : frames_(std::move(frames)) {}

  // `count` operations are about to be given to the device: notify() or cancel() follows for them.
  void expect(std::uint64_t count);
  void cancel(std::uint64_t count) { expect(0 - count); }
  // The record leaves with the next notification, or at once if none follows.
  void add(const wire::FromWorker& record);
  // Sends what waits, and then that so many operations of the queue are done.
  void notify(const wire::Progress& progress);
  // Sends what waits.
  void flush();

 private:
  void append(const wire::FromWorker& record);
  void send();

  const std::shared_ptr<FrameLane> frames_;
  std::mutex mutex_;
  std::uint64_t expected_ = 0;  // operations for which no notification was sent
  std::vector<std::byte> frame_;
  std::size_t records_ = 0;
  std::vector<std::byte> record_;  // being put together
};

}  // namespace dhpvm::offload
