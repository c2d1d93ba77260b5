// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/opencl/callbacks.h"

namespace dhpvm::offload {
namespace {

// The destructor waits this long for callbacks that may never come.
constexpr std::chrono::milliseconds kPatience(200);

}  // namespace

EventCallbacks::~EventCallbacks() {
  std::unique_lock lock(state_->mutex);
  const bool paid = state_->changed.wait_for(lock, kPatience, [this] { return state_->owed == 0; });
  lock.unlock();
  // A callback may still come: leaking these bytes is better than letting it find something else in their place.
  if (!paid) static_cast<void>(state_.release());
}

void EventCallbacks::on_end(cl_event /*event*/, cl_int /*status*/, void* state) {
  auto& self = *static_cast<State*>(state);
  const std::lock_guard lock(self.mutex);
  ++self.calls;
  --self.owed;
  self.changed.notify_all();
}

bool EventCallbacks::order(cl_event event) {
  {
    const std::lock_guard lock(state_->mutex);
    ++state_->owed;
  }
  // Without the mutex, because the driver may call back at once.
  if (api_.SetEventCallback(event, CL_COMPLETE, &EventCallbacks::on_end, state_.get()) == CL_SUCCESS)
    return true;
  const std::lock_guard lock(state_->mutex);
  --state_->owed;
  return false;
}

std::uint64_t EventCallbacks::calls() const {
  const std::lock_guard lock(state_->mutex);
  return state_->calls;
}

void EventCallbacks::wait(std::uint64_t calls, std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait_until(lock, deadline, [&] { return state_->calls != calls; });
}

}  // namespace dhpvm::offload
