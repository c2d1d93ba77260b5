// SPDX-License-Identifier: Apache-2.0
// For devices that can tell why they did not record a repeated batch.
#pragma once

#include <cstdint>
#include <string>

namespace dhpvm::offload {

// Implemented by devices that take batches and may fail to record them. Thread-safe.
class BatchRecorder {
 public:
  // How many batches were submitted step by step because the driver refused to record them, and the reason for the last
  // of them.
  struct Refusals {
    std::uint64_t count = 0;
    std::string reason;
  };
  virtual Refusals refusals() const = 0;

 protected:
  ~BatchRecorder() = default;
};

}  // namespace dhpvm::offload
