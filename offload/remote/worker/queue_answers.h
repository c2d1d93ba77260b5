// SPDX-License-Identifier: Apache-2.0
// The answers to the operations of one queue: small results and times wait for the notification that comes behind
// them, and leave in its frame.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload {

// Thread-safe: threads of the device add what they have done.
class QueueAnswers {
 public:
  explicit QueueAnswers(std::shared_ptr<FrameLane> frames) : frames_(std::move(frames)) {}

  // `count` operations are about to be given to the device: notify() follows for them, or cancel().
  void expect(std::uint64_t count);
  void cancel(std::uint64_t count) { expect(0 - count); }
  // Leaves with the next notification, or at once if none is to come.
  void add(const wire::FromWorker& record);
  // Sends what waits, and behind it that so many operations of the queue are done.
  void notify(const wire::Progress& progress);
  // Sends what waits.
  void flush();

 private:
  void append(const wire::FromWorker& record);
  void send();

  const std::shared_ptr<FrameLane> frames_;
  std::mutex mutex_;
  std::uint64_t expected_ = 0;  // operations for which no notification has left
  std::vector<std::byte> frame_;
  std::size_t records_ = 0;
  std::vector<std::byte> record_;  // being put together
};

}  // namespace dhpvm::offload
