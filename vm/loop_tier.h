// SPDX-License-Identifier: Apache-2.0
// Parallel loops of an isolate on the cores of the host: which are compiled, and their execution.
//
// A loop begins in the interpreter, box after box of its iterations, while its kernel is compiled in the background;
// when that is done, the rest of it runs compiled on the thread pool. Either way the result has the same bits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "codegen/codegen.h"
#include "offload/kernel/host_loop.h"
#include "vm/alarm.h"
#include "vm/compile_service.h"
#include "vm/limits.h"
#include "vm/linker.h"

namespace dhpvm::vm {

struct Context;

class LoopTier {
 public:
  LoopTier(std::shared_ptr<const LinkedModule> linked, const JitOptions& options,
           std::shared_ptr<CompileService> service, std::shared_ptr<ThreadPool> pool,
           std::shared_ptr<Alarm> alarm);

  // Runs a loop whose window is at `p` and `r`; the results come back there. False: the program has trapped.
  bool run(Context& context, const LinkedKernel& kernel, std::uint64_t* p, gc::Ref* r);

  // From any thread and from signal handlers: loops that run leave soon.
  void interrupt() { stop_.store(kInterrupt, std::memory_order_relaxed); }

 private:
  // Values of the stop flag.
  static constexpr std::uint32_t kInterrupt = 1;
  static constexpr std::uint32_t kTimeIsUp = 2;

  // Where the background thread leaves a kernel, which may be after the isolate's end.
  struct Slot {
    std::unique_ptr<codegen::CompiledKernel> kernel;
    std::string failure;
    std::atomic<bool> done{false};
  };
  struct Entry {
    std::shared_ptr<Slot> slot;  // null: not asked for
    std::uint64_t iterations = 0;
    offload::LoopProfile profile;
  };

  bool interpret_box(Context& context, const LinkedKernel& kernel, const offload::IterationSpace& box,
                     std::vector<std::uint64_t>& window, const gc::Ref* r);
  bool run_native(Context& context, const LinkedKernel& kernel, Entry& entry,
                  const offload::IterationSpace& box, std::vector<std::uint64_t>& window, const gc::Ref* r);
  void raise_trap(Context& context, const LinkedKernel& kernel, const codegen::KernelSite& site,
                  const codegen::KernelTrap& trap, const gc::Ref* r);
  void consider(Context& context, const LinkedKernel& kernel, Entry& entry, std::uint64_t iterations);

  std::shared_ptr<const LinkedModule> linked_;
  const JitOptions options_;
  std::shared_ptr<CompileService> service_;
  std::shared_ptr<ThreadPool> pool_;
  std::shared_ptr<Alarm> alarm_;
  std::vector<Entry> entries_;  // by kernel
  std::atomic<std::uint32_t> stop_{0};
};

}  // namespace dhpvm::vm
