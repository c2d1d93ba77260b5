// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/opencl/host_caller.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "offload/drivers/opencl/event.h"

namespace dhpvm::offload {
namespace {

// PoCL does not call back when a command has failed (its issue 1430), so markers are also polled this often.
constexpr std::chrono::milliseconds kLookAnyway(5);

}  // namespace

HostCaller::HostCaller(const OpenClApi& api, SubmissionTracker& tracker, const DeviceClock& clock)
    : api_(api), tracker_(tracker), clock_(clock), callbacks_(api) {}

HostCaller::~HostCaller() {
  {
    const std::lock_guard lock(callbacks_.state().mutex);
    stopping_ = true;
    callbacks_.state().changed.notify_all();
  }
  thread_.join();
}

Status HostCaller::start() {
  const std::lock_guard lock(callbacks_.state().mutex);
  return thread_.start_once("dhpvm-host-call", [this] { run(); });
}

void HostCaller::add(HostCall call) {
  // If the driver refuses, the thread polls.
  static_cast<void>(callbacks_.order(static_cast<const OpenClEvent&>(*call.marker).handle()));
  const std::lock_guard lock(callbacks_.state().mutex);
  added_.push_back(std::move(call));
  callbacks_.state().changed.notify_all();
}

void HostCaller::run() {
  EventCallbacks::State& state = callbacks_.state();
  std::vector<HostCall> waiting;
  std::uint64_t calls = 0;
  std::unique_lock lock(state.mutex);
  while (true) {
    const auto woken = [&] { return state.calls != calls || !added_.empty() || stopping_; };
    if (waiting.empty()) {
      state.changed.wait(lock, woken);
    } else {
      state.changed.wait_for(lock, kLookAnyway, woken);
    }
    if (stopping_) return;
    calls = state.calls;
    std::ranges::move(added_, std::back_inserter(waiting));
    added_.clear();
    lock.unlock();
    std::erase_if(waiting, [this](HostCall& call) {
      const Turn turn = turn_of(call);
      if (turn != Turn::kNotYet) perform(call, turn);
      return turn != Turn::kNotYet;
    });
    lock.lock();
  }
}

HostCaller::Turn HostCaller::turn_of(const HostCall& call) const {
  const Result<bool> ended = call.marker->ended();
  if (ended.ok() && !*ended) return Turn::kNotYet;
  bool succeeded = ended.ok();
  // A failed marker may have ended before some of these waits, and these may wait for this thread.
  for (const SemaphoreValue& wait : call.waits) {
    const Result<bool> reached = wait.semaphore->wait(wait.value, Semaphore::Clock::time_point());
    if (reached.ok() && !*reached) return Turn::kNotYet;
    succeeded &= reached.ok();
  }
  if (call.previous != nullptr) {
    const std::optional<bool> outcome = tracker_.outcome(call.previous);
    if (!outcome) return Turn::kNotYet;
    succeeded &= *outcome;
  }
  return succeeded ? Turn::kCall : Turn::kSkip;
}

void HostCaller::perform(HostCall& call, Turn turn) const {
  if (turn == Turn::kCall) {
    call.times->called = true;
    call.times->begin = clock_.now();
    call.function();
    call.times->end = clock_.now();
  }
  // Release the function's captures before anything learns that it has returned.
  call.function = nullptr;
  // Set as complete even if the function was not called: its conditions record the failure, and drivers handle failed
  // user events badly.
  api_.SetUserEventStatus(call.returned->handle(), CL_COMPLETE);
}

}  // namespace dhpvm::offload
