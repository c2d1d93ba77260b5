// SPDX-License-Identifier: Apache-2.0
// Functions of the host that streams call between operations.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "offload/drivers/cuda/driver_api.h"
#include "offload/drivers/submission.h"

namespace dhpvm::offload {

// Keeps the functions that the driver has got, because it does not report which ones it will never call after an error.
// Thread-safe.
class CudaHostCalls {
 public:
  CudaHostCalls(const cu::Api& api, SubmissionTracker& tracker) : api_(api), tracker_(tracker) {}

  // The function is not called if one of `waits`, or `previous`, has failed by then.
  cu::Code enqueue(cu::Stream stream, std::function<void()> function, std::vector<SemaphoreValue> waits,
                   SubmissionPointer previous);

 private:
  struct Call {
    CudaHostCalls* owner;
    std::function<void()> function;
    std::vector<SemaphoreValue> waits;
    SubmissionPointer previous;
  };
  static void on_turn(void* call);
  std::unique_ptr<Call> take(Call* call);

  const cu::Api& api_;
  SubmissionTracker& tracker_;
  std::mutex mutex_;
  std::unordered_map<Call*, std::unique_ptr<Call>> calls_;
};

}  // namespace dhpvm::offload
