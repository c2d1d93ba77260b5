// SPDX-License-Identifier: Apache-2.0
// Runs one `parallel for` on the cores of the host: cuts its iteration space into chunks that are large enough for a
// thread, runs a compiled kernel on them in the thread pool, and combines their results. The result of a loop, and the
// trap that it reports, do not depend on the number of threads or the size of the chunks.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "base/thread_pool.h"
#include "bytecode/module.h"
#include "codegen/kernel_abi.h"
#include "dhpvm/result.h"
#include "offload/devices/host/update_copies.h"
#include "offload/loops/iteration_space.h"
#include "offload/loops/loop_progress.h"

namespace dhpvm::offload {

struct OpenBlock;

// Measurements of a loop's earlier executions. The caller keeps one for each loop, or for each size class of a loop,
// and passes it to every execution. Used by one execution at a time.
struct LoopProfile {
  // On one core. Before the first measurement: 0, or an estimate by the caller.
  double seconds_per_iteration = 0;
  std::uint32_t measurements = 0;

  // Threads that wait for a processor make an execution seem longer, never shorter. So the least of the first kFirst
  // measurements counts, and later ones raise the estimate only by a little.
  static constexpr std::uint32_t kFirst = 3;
  // An execution that is expected to be this short, in seconds, is never shared: even a spinning thread begins too
  // late.
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
  // One for each reduction: the initial value, and after a loop that was not cut short, the final one.
  std::span<std::uint64_t> accumulators;
  // May be null. A caller ends the loop early by storing a value other than 0 and LoopEnd::kDecided. The loop itself
  // stores kDecided for a moment, when it has trapped and only waits for iterations behind the trap.
  std::atomic<std::uint32_t>* stop = nullptr;
  // If not null, the partial results are stored here, one for each reduction and each of reduction_blocks(space), in
  // iteration order. They are then not folded, and `accumulators` is unused.
  std::uint64_t* partials = nullptr;
  // The number of iterations that the code does at once, a power of two. Chunks have at least as many.
  unsigned width = 1;
  // The number of rows of the innermost dimension that the code does together, if a chunk has as many. A power of two.
  unsigned rows = 1;
  // The size of KernelChunk::panels. Each thread that runs a chunk has panels of its own.
  std::size_t panel_bytes = 0;
  // If not null, the space begins inside this block, of which the first iterations have been done, and lies in one row.
  const OpenBlock* open = nullptr;
  // Counts the iterations that are done; may be null.
  LoopProgress* progress = nullptr;
  std::size_t array_count = 0;
  // All arrays that the loop updates atomically, if it may do so in copies of them; empty otherwise.
  std::span<const UpdatedArray> updated = {};
};

struct LoopOutcome {
  // kTrapped: `trap` is the first trap in iteration order. All iterations before it have been done, and some of those
  // behind it may have been. kStopped: any iterations may have been done.
  codegen::KernelStatus status = codegen::KernelStatus::kDone;
  codegen::KernelTrap trap;
  std::uint64_t iterations = 0;  // of all calls of the code that were not cut short
  std::uint64_t chunks = 0;      // including the parts of shared lanes
  bool parallel = false;         // threads of the pool were asked to take part
};

// Errors come before anything has run: kUnsupported if the space has 2^63 iterations or more, kOutOfMemory if the
// system refuses memory for panels. Thread-safe for different loops.
Result<LoopOutcome> run_on_host(ThreadPool& pool, const HostLoop& loop, LoopProfile& profile);

}  // namespace dhpvm::offload
