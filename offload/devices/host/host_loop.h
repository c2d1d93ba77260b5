// SPDX-License-Identifier: Apache-2.0
// Runs one `parallel for` on the cores of the host: cuts its iteration space into chunks that are worth a
// thread's while, has a compiled kernel work them off on the thread pool, and combines their results. The result of
// a loop, and the trap that it reports, do not depend on the number of threads or the
// size of the chunks.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "bytecode/module.h"
#include "codegen/kernel_abi.h"
#include "dhpvm/result.h"
#include "offload/loops/iteration_space.h"
#include "offload/loops/loop_progress.h"

namespace dhpvm::offload {

struct OpenBlock;

// Measurements of a loop's earlier executions. The caller keeps one per loop (and may keep one per
// size class) and passes it again next time; one execution at a time uses it.
struct LoopProfile {
  // On one core; before the first measurement 0, or a guess of the caller's.
  double seconds_per_iteration = 0;
  std::uint32_t measurements = 0;

  // A thread that had to wait for a processor makes an execution seem longer, never shorter: the first few
  // measurements count by the least of them, and a later one by little more than what was known.
  static constexpr std::uint32_t kFirst = 3;
  // Threads never share an execution that is expected to be this short: even one that waits for it begins too late.
  static constexpr double kNeverShared = 5e-6;
  void add(double measured);
};

// One execution of a loop.
struct HostLoop {
  codegen::KernelCode code = nullptr;
  const std::uint64_t* scalars = nullptr;
  const codegen::KernelArray* arrays = nullptr;
  IterationSpace space;
  std::span<const bytecode::Reduction> reductions;
  // One per reduction: the initial values, and after a loop that was not cut short the final ones.
  std::span<std::uint64_t> accumulators;
  // A caller ends the loop early by storing a value other than 0 and LoopEnd::kDecided. May be null. The loop
  // itself stores kDecided for a moment when it has trapped and only waits for iterations that no longer matter.
  std::atomic<std::uint32_t>* stop = nullptr;
  // Not null: where the partial results go, one per reduction for each of reduction_blocks(space), in iteration order.
  // They are not folded then, and there are no accumulators.
  std::uint64_t* partials = nullptr;
  // The iterations that the code does at once: fewer are not worth a thread of their own. A power of two.
  unsigned width = 1;
  // The rows of the innermost dimension that it does together, where a chunk has as many. A power of two.
  unsigned rows = 1;
  // The size of KernelChunk::panels, which each thread that runs a chunk has.
  std::size_t panel_bytes = 0;
  // Not null: the space begins inside this block, whose beginning has been done, and lies in one row.
  const OpenBlock* open = nullptr;
  // Told of the iterations that are done; null: nobody is.
  LoopProgress* progress = nullptr;
};

struct LoopOutcome {
  // kTrapped: `trap` is the first one in iteration order, and all iterations before it have been done; of
  // those behind it some may have been. kStopped: any iterations may have been done.
  codegen::KernelStatus status = codegen::KernelStatus::kDone;
  codegen::KernelTrap trap;
  std::uint64_t iterations = 0;  // in calls of the code that ran to their end
  std::uint64_t chunks = 0;      // or other parts
  bool parallel = false;         // more than the calling thread was asked
};

// Fails before anything has run: with kUnsupported when the space has 2^63 iterations or more, with kOutOfMemory when
// the system refuses memory for panels. Thread-safe for different loops.
Result<LoopOutcome> run_on_host(ThreadPool& pool, const HostLoop& loop, LoopProfile& profile);

}  // namespace dhpvm::offload
