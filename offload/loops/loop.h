// SPDX-License-Identifier: Apache-2.0
// One execution of a `parallel for`. The description is made once, when the program comes to the loop. The host's
// cores, the placement on devices, the pipeline and deferred loops all use it.
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

// Iterations of a loop, with the values that they capture. Arrays that overlap in memory count as different arrays, so
// code that moves data must check for overlaps.
struct LoopChunk {
  IterationSpace space;                          // not empty
  std::span<const std::uint64_t> scalars;        // captured; each has the bits of its register
  std::span<const codegen::KernelArray> arrays;  // captured; transfers in flight are not visible in them
  // A bit for each of the first 64 captured arrays: its elements do not change until the loop has ended, and may be
  // read to prove accesses.
  std::uint64_t inspectable = 0;
};

// The storage of a captured array, for code that moves its elements.
struct ArrayStorage {
  std::uint32_t element_bytes = 0;
  Buffer* buffer = nullptr;  // null: the memory does not belong to the buffer pool
};

// A captured array with its storage.
struct LoopArray : ArrayStorage {
  codegen::KernelArray host;

  std::uint64_t bytes() const {
    return host.shape.length <= 0 ? 0 : static_cast<std::uint64_t>(host.shape.length) * element_bytes;
  }
  // Whether both arrays have bytes in common.
  bool overlaps(const LoopArray& other) const {
    return host.data < other.host.data + other.bytes() && other.host.data < host.data + bytes();
  }
};

// Everything that it refers to must stay valid until the loop has ended or is in flight. The space has a count.
struct Loop : LoopChunk {
  const Footprint* footprint = nullptr;
  std::span<const ArrayStorage> storage;  // of `arrays`
  std::span<const bytecode::Reduction> reductions;
  bool can_trap = true;
  bool has_sites = false;     // its kernel needs a report even if this execution cannot trap
  std::uint64_t label = 0;    // identifies the loop in the program: the same for all its executions
  std::string_view position;  // in the source, for messages: "blur.dhp:12"

  LoopArray array(std::size_t n) const { return {storage[n], arrays[n]}; }
};
using Loops = std::span<const Loop>;

}  // namespace dhpvm::offload
