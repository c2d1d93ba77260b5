// SPDX-License-Identifier: Apache-2.0
#include "offload/device/opencl/host_caller.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "offload/device/opencl/event.h"

namespace dhpvm::offload {
namespace {

// PoCL does not call back when a command has failed (its issue 1430): markers are looked at this often regardless.
constexpr std::chrono::milliseconds kLookAnyway(5);
// How long the end waits for callbacks that may never come.
constexpr std::chrono::milliseconds kPatience(200);

}  // namespace

HostCaller::HostCaller(const OpenClApi& api, SubmissionTracker& tracker, const DeviceClock& clock)
    : api_(api), tracker_(tracker), clock_(clock) {}

HostCaller::~HostCaller() {
  {
    const std::lock_guard lock(wakeup_->mutex);
    stopping_ = true;
    wakeup_->changed.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  std::unique_lock lock(wakeup_->mutex);
  const bool paid =
      wakeup_->changed.wait_for(lock, kPatience, [this] { return wakeup_->callbacks_owed == 0; });
  lock.unlock();
  // A callback may still come: better these bytes are lost than that it finds something else in their place.
  if (!paid) static_cast<void>(wakeup_.release());
}

void HostCaller::on_marker(cl_event /*marker*/, cl_int /*status*/, void* wakeup) {
  auto& self = *static_cast<Wakeup*>(wakeup);
  const std::lock_guard lock(self.mutex);
  self.woken = true;
  --self.callbacks_owed;
  self.changed.notify_all();
}

void HostCaller::add(HostCall call) {
  {
    const std::lock_guard lock(wakeup_->mutex);
    ++wakeup_->callbacks_owed;
  }
  // Not under the mutex: it may call back at once.
  const cl_int code = api_.SetEventCallback(static_cast<const OpenClEvent&>(*call.marker).handle(),
                                            CL_COMPLETE, &HostCaller::on_marker, wakeup_.get());
  const std::lock_guard lock(wakeup_->mutex);
  if (code != CL_SUCCESS) --wakeup_->callbacks_owed;
  added_.push_back(std::move(call));
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  wakeup_->woken = true;
  wakeup_->changed.notify_all();
}

void HostCaller::run() {
  std::vector<HostCall> waiting;
  std::unique_lock lock(wakeup_->mutex);
  while (true) {
    const auto woken = [this] { return wakeup_->woken || stopping_; };
    if (waiting.empty()) {
      wakeup_->changed.wait(lock, woken);
    } else {
      wakeup_->changed.wait_for(lock, kLookAnyway, woken);
    }
    if (stopping_) return;
    wakeup_->woken = false;
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
  // A marker that has failed may have ended before some of what follows, which may itself wait for this thread.
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
  // What the function holds is gone before anybody hears that it has returned.
  call.function = nullptr;
  // Complete even if it was not called: that is known by its conditions, and drivers are poor at failing user events.
  api_.SetUserEventStatus(call.returned->handle(), CL_COMPLETE);
}

}  // namespace dhpvm::offload
