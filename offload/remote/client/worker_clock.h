// SPDX-License-Identifier: Apache-2.0
// The difference between a worker's clock and this machine's, measured by pings.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "dhpvm/result.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload {

class WorkerClock {
 public:
  // `send` sends a ping at once.
  explicit WorkerClock(std::function<void(const wire::Ping& ping)> send) : send_(std::move(send)) {}

  // On the progress thread. measure() begins to measure; renew() does so if the last measurement is too old. handle()
  // takes the answers; an error is a breach of the protocol.
  void measure();
  void renew();
  Status handle(const wire::Pong& record);

  // From any thread. This machine's steady clock minus the worker's; 0 before the first answer. The error is at most
  // half the shortest round trip, plus the clocks' drift in the second until the next measurement while the link is in
  // use.
  std::chrono::nanoseconds shift();
  // The shortest recent round trip; nothing before the first answer.
  std::optional<std::chrono::nanoseconds> round_trip();

 private:
  using Clock = std::chrono::steady_clock;

  const std::function<void(const wire::Ping& ping)> send_;
  // Only for the progress thread.
  std::uint64_t pings_ = 0;
  Clock::time_point pinged_;

  std::mutex mutex_;
  std::chrono::nanoseconds shift_{0};
  Clock::duration best_trip_ = Clock::duration::max();  // of the measurement that gave shift_
  Clock::time_point shift_measured_;
};

}  // namespace dhpvm::offload
