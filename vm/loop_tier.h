// SPDX-License-Identifier: Apache-2.0
// Parallel loops of an isolate on the cores of the host: which are compiled, and their execution.
//
// A loop begins in the interpreter, box after box of its iterations, while its kernel is compiled in the background;
// when that is done, the rest of it runs compiled on the thread pool. Math apart, the bits are the same either way.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/thread_pool.h"
#include "codegen/codegen.h"
#include "offload/devices/host/open_block.h"
#include "offload/loops/iteration_space.h"
#include "offload/loops/loop.h"
#include "offload/loops/loop_progress.h"
#include "vm/alarm.h"
#include "vm/compile_service.h"
#include "vm/limits.h"
#include "vm/linker.h"
#include "vm/loop_code.h"
#include "vm/loop_history.h"
#include "vm/loop_timing.h"
#include "vm/short_loop.h"

namespace dhpvm::vm {

struct Context;
class DeviceLoops;

// The iterations of a loop whose window is at `window`.
offload::IterationSpace space_of(const LinkedKernel& kernel, const std::uint64_t* window);

class LoopTier {
 public:
  LoopTier(std::shared_ptr<const LinkedModule> linked, const JitOptions& options,
           std::shared_ptr<CompileService> service, std::shared_ptr<ThreadPool> pool,
           std::shared_ptr<Alarm> alarm);
  ~LoopTier();

  // From now on loops may go to devices.
  void set_devices(std::unique_ptr<DeviceLoops> devices);
  // Before the end: what is in flight on devices and cannot be interrupted, as OpenDevices::leave() returns it.
  std::shared_ptr<void> leave_devices();
  // Makes devices release buffers that the program does not need any more. Never collects.
  Status release_buffers();
  // From now on the progress of long loops is reported there, unless it is null. Not while a loop runs.
  void set_progress(std::unique_ptr<offload::LoopProgress> progress) { progress_ = std::move(progress); }
  // Null if there are none.
  const DeviceLoops* devices() const { return devices_.get(); }

  // Runs a loop whose window is at `p` and `r`; the results come back there. False: the program has trapped.
  bool run(Context& context, const LinkedKernel& kernel, std::uint64_t* p, gc::Ref* r);

  // Explains how each loop has run, and why, in source terms: a paragraph for each.
  std::string explain();

  // Sets an alarm that raises the stop token of `context` at the call's deadline. False if no thread can watch the
  // clock.
  bool watch_deadline(Context& context);

 private:
  // The state of one loop over all executions.
  struct KnownLoop {
    KnownLoop(LoopCode code, std::string position) : position(std::move(position)), code(std::move(code)) {}
    std::string position;  // in the source
    LoopCode code;
    LoopTiming timing;
    LoopHistory history;
    ShortLoop short_loop;
  };
  // One execution of a loop. The window has the bounds of the space, the captured scalars, and the
  // accumulators: initial values, then results.
  struct HostExecution {
    Context& context;
    const LinkedKernel& kernel;
    KnownLoop& known;
    LoopVariant variant;
    const offload::Loop& loop;
    std::vector<std::uint64_t>& window;
    const gc::Ref* references;  // the captured arrays

    std::span<std::uint64_t> accumulators() const { return std::span(window).last(kernel.accumulators); }
  };

  const codegen::CompiledKernel* find_short(const Context& context, const LinkedKernel& kernel,
                                            const std::uint64_t* p, const gc::Ref* r);
  bool run_short(Context& context, const LinkedKernel& kernel, const codegen::CompiledKernel& compiled,
                 std::uint64_t* p, const gc::Ref* r);
  void end_early(Context& context, const LinkedKernel& kernel, const codegen::CompiledKernel& compiled,
                 codegen::KernelStatus status, const codegen::KernelTrap& trap, std::uint64_t* window,
                 const gc::Ref* references);
  void raise_trap(Context& context, const LinkedKernel& kernel, const codegen::KernelSite& site,
                  const codegen::KernelTrap& trap, std::uint64_t* window, const gc::Ref* references);
  static bool interpret_box(Context& context, const LinkedKernel& kernel, const offload::IterationSpace& box,
                            std::vector<std::uint64_t>& window, const gc::Ref* r, offload::OpenBlock* open,
                            bool ends_block);
  std::optional<std::vector<offload::IterationSpace>> offload(const HostExecution& execution);
  // The part of an execution on the cores that has not run yet.
  struct HostRest {
    explicit HostRest(const offload::IterationSpace& space) : remaining(space) {}

    offload::RemainingSpace remaining;
    offload::OpenBlock open;                // of a reduction
    std::uint64_t iterations = 1;           // that interpret_next() takes
    std::chrono::nanoseconds last_took{0};  // the time of an iteration in the last box, on average
    bool is_measured = false;  // whether last_took is not that of the first iterations, which take longer
  };

  bool run_on_cores(const HostExecution& execution, const offload::IterationSpace& space);
  bool interpret_next(const HostExecution& execution, HostRest& rest);
  bool run_baseline(const HostExecution& execution, const codegen::CompiledKernel& compiled, unsigned lanes,
                    HostRest& rest);
  ThreadPool& pool_beside_compiler(bool is_compiling);
  bool begins_with_baseline(const HostExecution& execution) const;
  bool run_native(const HostExecution& execution, const codegen::CompiledKernel& compiled, ThreadPool& pool,
                  const offload::IterationSpace& box, const offload::OpenBlock& open);
  static bool fetch_arrays(const HostExecution& execution);
  bool wait_for_kernel(const HostExecution& execution, unsigned lanes, std::chrono::nanoseconds patience);
  void request_kernel(const HostExecution& execution, unsigned lanes, std::chrono::nanoseconds iteration);
  unsigned lanes_for(const HostExecution& execution, const offload::IterationSpace& space) const;
  std::uint32_t number_of(const LinkedKernel& kernel) const;

  std::shared_ptr<const LinkedModule> linked_;
  const JitOptions options_;
  std::shared_ptr<CompileService> service_;
  std::shared_ptr<ThreadPool> pool_;
  std::unique_ptr<ThreadPool> alone_;  // the calling thread; made on first need
  std::shared_ptr<Alarm> alarm_;
  std::unique_ptr<DeviceLoops> devices_;             // null: everything stays on the host
  std::unique_ptr<offload::LoopProgress> progress_;  // null: progress is not reported
  std::vector<KnownLoop> loops_;                     // by kernel
};

}  // namespace dhpvm::vm
