// SPDX-License-Identifier: Apache-2.0
#include "offload/drivers/cuda/host_calls.h"

#include <utility>

namespace dhpvm::offload {

cu::Code CudaHostCalls::enqueue(cu::Stream stream, std::function<void()> function,
                                std::vector<SemaphoreValue> waits, SubmissionPointer previous) {
  auto call = std::make_unique<Call>(Call{this, std::move(function), std::move(waits), std::move(previous)});
  Call* const handle = call.get();
  {
    const std::lock_guard lock(mutex_);
    calls_.emplace(handle, std::move(call));
  }
  const cu::Code code = api_.LaunchHostFunc(stream, &CudaHostCalls::on_turn, handle);
  if (code != cu::CUDA_SUCCESS) take(handle);
  return code;
}

std::unique_ptr<CudaHostCalls::Call> CudaHostCalls::take(Call* call) {
  const std::lock_guard lock(mutex_);
  auto node = calls_.extract(call);
  return node.empty() ? nullptr : std::move(node.mapped());
}

// On a thread of the driver, which forbids calls of its functions here, and makes no calls after the device has failed.
// So only failures made by the host, which the driver does not know, have to be checked.
void CudaHostCalls::on_turn(void* handle) {
  auto* const raw = static_cast<Call*>(handle);
  const std::unique_ptr<Call> call = raw->owner->take(raw);
  if (!raw->owner->tracker_.is_doomed(call->waits, call->previous)) call->function();
}

}  // namespace dhpvm::offload
