// SPDX-License-Identifier: Apache-2.0
// Some devices can tell why they do not record a batch that comes again.
#pragma once

#include <cstdint>
#include <string>

namespace dhpvm::offload {

// Implemented by devices that take batches, and may fail to record them. Thread-safe.
class BatchRecorder {
 public:
  // Batches that were given step by step because the driver had refused a recording of them, and why, for the last one.
  struct Refusals {
    std::uint64_t count = 0;
    std::string reason;
  };
  virtual Refusals refusals() const = 0;

 protected:
  ~BatchRecorder() = default;
};

}  // namespace dhpvm::offload
