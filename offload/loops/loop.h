// SPDX-License-Identifier: Apache-2.0
// One execution of a `parallel for`. It is described once, when the program comes to the loop; the host's cores, the
// choice of devices, the pipeline and deferred loops are all handed this description.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "bytecode/module.h"
#include "codegen/kernel_abi.h"
#include "offload/loops/footprint.h"
#include "offload/loops/iteration_space.h"

namespace dhpvm::offload {

class Buffer;

// Iterations of a loop, with the values that they capture. Arrays that overlap in memory are treated as different ones:
// code that moves data must allow for that.
struct LoopChunk {
  IterationSpace space;                          // not empty
  std::span<const std::uint64_t> scalars;        // the captured ones, as registers
  std::span<const codegen::KernelArray> arrays;  // the captured ones, as if nothing of them were on its way
  // Captured arrays, as bits, whose elements may be looked at: they stay as they are until the loop has ended. Those
  // behind the first 64 are not among them.
  std::uint64_t inspectable = 0;
};

// The storage of a captured array, for code that moves its elements.
struct ArrayStorage {
  std::uint32_t element_bytes = 0;
  Buffer* buffer = nullptr;  // null: memory that is not in the pool
};

// A captured array with its storage.
struct LoopArray : ArrayStorage {
  codegen::KernelArray host;

  std::uint64_t bytes() const {
    return host.shape.length <= 0 ? 0 : static_cast<std::uint64_t>(host.shape.length) * element_bytes;
  }
  // Whether they have elements in common.
  bool overlaps(const LoopArray& other) const {
    return host.data < other.host.data + other.bytes() && other.host.data < host.data + bytes();
  }
};

// Everything it refers to must stay until the loop is done or in flight. The space has a count.
struct Loop : LoopChunk {
  const Footprint* footprint = nullptr;
  std::span<const ArrayStorage> storage;  // of `arrays`
  std::span<const bytecode::Reduction> reductions;
  bool can_trap = true;
  bool has_sites = false;     // its kernel wants a report even if this execution cannot trap
  std::uint64_t label = 0;    // the same for all executions of the loop
  std::string_view position;  // in the source, "blur.dhp:12": for messages

  LoopArray array(std::size_t n) const { return {storage[n], arrays[n]}; }
};
using Loops = std::span<const Loop>;

}  // namespace dhpvm::offload
