// SPDX-License-Identifier: Apache-2.0
// Batches as records for the worker, which keeps the last ones: a batch that repeats one of them is sent as its place,
// with the values that have changed.
#pragma once

#include <vector>

#include "offload/devices/batch_records.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload {

// The records of operations on this device.
wire::Span span_of(const MemorySpan& span);
wire::Work work_of(const Operation& launch);

// Belongs to one session; one thread uses it at a time.
class RemoteBatches {
 public:
  // The worker must be able to read `steps`; they lose the elements that they write.
  wire::FromClient record_of(wire::Order order, std::vector<Operation>& steps);

 private:
  struct Ids final : BatchRecords::Numbers {
    std::uint64_t of(const Kernel& kernel) const override;
    std::optional<std::uint64_t> of(const DeviceMemory& memory) const override;
  };
  const Ids ids_;
  BatchRecords records_{ids_, wire::kMaxKept};
};

}  // namespace dhpvm::offload
