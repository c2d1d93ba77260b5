// SPDX-License-Identifier: Apache-2.0
// Batches as records for the worker. It keeps the last ones: one that is the same but for scalars and the elements that
// are written is told by its place and these. Kernels and memories are known by numbers that are never used again, so
// that a batch with other ones is another batch.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "offload/devices/operation.h"
#include "offload/remote/fabric/protocol.h"

namespace dhpvm::offload {

// The records of operations on this device.
wire::Span span_of(const MemorySpan& span);
wire::Work work_of(const Operation& launch);

// Belongs to one session; one thread uses it at a time.
class RemoteBatches {
 public:
  // `steps` can be read by the worker, and lose the elements that they write.
  wire::FromClient record_of(wire::Order order, std::vector<Operation>& steps);

 private:
  struct Kept {
    std::vector<std::uint64_t> shape;  // all but what may change; empty: nothing is kept there
    std::vector<std::uint64_t> scalars;
    std::uint64_t used = 0;  // when, in batches
  };

  static void describe(wire::Id queue, const std::vector<Operation>& steps, Kept& kept);
  static wire::Replay replay_of(std::uint64_t place, Kept& kept, const Kept& asked,
                                std::vector<Operation>& steps);

  std::array<Kept, wire::kMaxKept> kept_;  // by place
  Kept asked_;
  std::uint64_t batches_ = 0;
};

}  // namespace dhpvm::offload
