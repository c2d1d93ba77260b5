// SPDX-License-Identifier: Apache-2.0
// The calling interface of a compiled `parallel for` kernel on the host: plain structs that C++ fills in and machine
// code reads. Their layout is fixed; the code generator uses offsetof.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace dhpvm::codegen {

// The size of a captured array, and the part of it that a loop may access, in elements. It does not depend on where the
// elements are: on the host (KernelArray), on a device, on a worker.
struct ArrayShape {
  std::int64_t readable = 0;           // elements below this may be read; 0 when the array is closed
  std::int64_t writable = 0;           // elements below this may be written; 0 also when it is read-only
  std::int64_t length = 0;             // for array.length, which works on closed arrays too; -1: null
  std::array<std::int64_t, 3> dims{};  // outermost first; dims[0] is the length of an array of rank 1
  bool operator==(const ArrayShape&) const = default;
};

// A captured array in the host's memory, row-major.
struct KernelArray {
  std::byte* data = nullptr;
  ArrayShape shape;
};

// The arguments shared by all chunks of one execution of a loop.
struct KernelCall {
  const std::uint64_t* scalars = nullptr;            // the captured scalars, as registers
  const KernelArray* arrays = nullptr;               // the captured arrays
  const std::atomic<std::uint32_t>* stop = nullptr;  // not 0: stop at the next poll
};

// The reason why a chunk stopped early: of the iterations that trapped, the first in iteration order.
struct KernelTrap {
  std::uint32_t site = 0;          // index into CompiledKernel::sites
  std::uint32_t array = 0;         // the captured array that the instruction accesses, if any
  std::int64_t index[3] = {};      // the iteration
  std::uint64_t operands[3] = {};  // operands for the message, by the instruction: indices, or the dividend
};

// A box of the iteration space, and its results. With reductions and without `lanes`, low and high of the innermost
// dimension are those of the loop or lie a multiple of bytecode::kReductionBlock above its low bound.
struct KernelChunk {
  std::int64_t low[3] = {};
  std::int64_t high[3] = {};  // exclusive, above low
  // One value per reduction for each block of the innermost dimension, in iteration order; unused without reductions.
  std::uint64_t* partials = nullptr;
  // Not null: the chunk is a part of one block and may begin anywhere in it. The lanes' current accumulators are here:
  // bytecode::kReductionLanes registers for each reduction, one reduction after the other. Iteration low + j uses lane
  // j mod kReductionLanes of these. They are not combined, and there are no partials.
  std::uint64_t* lanes = nullptr;
  // CompiledKernel::panel_bytes of any content, aligned to a cache line, for the packed operands.
  std::byte* panels = nullptr;
  KernelTrap trap;
  // Not 0: no other thread updates elements of the arrays meanwhile, so that updates need not be atomic.
  std::uint32_t alone = 0;
};

enum class KernelStatus : std::uint32_t { kDone = 0, kTrapped = 1, kStopped = 2 };

// The trap report of the launches of one loop on one device, in memory that the device writes. Initially zero; shared
// by all chunks, and by all work-items of each.
struct KernelReport {
  std::uint32_t lock = 0;    // taken by a work-item that has trapped
  std::uint32_t status = 0;  // a KernelStatus
  KernelTrap trap;           // if the status is kTrapped: the first in iteration order
};

// Thread-safe: different chunks of one call may run concurrently.
using KernelCode = KernelStatus (*)(const KernelCall* call, KernelChunk* chunk);

}  // namespace dhpvm::codegen
