// SPDX-License-Identifier: Apache-2.0
// Parallel loops of an isolate on the cores of the host: which are compiled, and their execution.
//
// A loop begins in the interpreter, box after box of its iterations, while its kernel is compiled in the background;
// when that is done, the rest of it runs compiled on the thread pool. Math apart, the bits are the same either way.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/thread_pool.h"
#include "codegen/codegen.h"
#include "offload/devices/host/host_loop.h"
#include "offload/devices/host/open_block.h"
#include "offload/loops/footprint.h"
#include "offload/loops/range.h"
#include "vm/alarm.h"
#include "vm/compile_service.h"
#include "vm/limits.h"
#include "vm/linker.h"

namespace dhpvm::vm {

struct Context;
class DeviceLoops;

class LoopTier {
 public:
  LoopTier(std::shared_ptr<const LinkedModule> linked, const JitOptions& options,
           std::shared_ptr<CompileService> service, std::shared_ptr<ThreadPool> pool,
           std::shared_ptr<Alarm> alarm);
  ~LoopTier();

  // From now on loops may go to devices.
  void set_devices(std::unique_ptr<DeviceLoops> devices);
  // Has devices let go of buffers that the program does not need any more. May collect nothing.
  Status release_buffers();
  // Null if there are none.
  const DeviceLoops* devices() const { return devices_.get(); }

  // Runs a loop whose window is at `p` and `r`; the results come back there. False: the program has trapped.
  bool run(Context& context, const LinkedKernel& kernel, std::uint64_t* p, gc::Ref* r);

  // What became of each loop that was run, and why, in source terms: a paragraph for each.
  std::string explain() const;

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
  // A kernel is compiled once without the checks that its footprint proves to be needless and for the small sizes that arrays
  // have, and, should an execution not fulfil what that rests on, once for any sizes, and once with all checks.
  enum Variant : std::uint8_t { kSized, kProven, kChecked };
  static constexpr std::size_t kVariants = 3;
  // What codegen::KernelRequest::most_lanes may be, where threads have so much to share at once.
  static constexpr unsigned kAnyLanes = 0;
  struct Entry {
    std::optional<offload::Footprint> footprint;  // made on first need
    std::chrono::nanoseconds interpreted{0};      // the time spent so
    std::uint64_t interpreted_iterations = 0;
    double guess = 0;  // what the profile says while nothing has been measured
    // Accesses of the footprint that kProven leaves unchecked, ascending; chosen in the first execution.
    std::optional<std::vector<std::uint32_t>> proven;
    // What kSized is compiled for; chosen in the first execution.
    std::vector<codegen::KnownDimension> dimensions;
    std::map<unsigned, std::shared_ptr<Slot>>
        slots[kVariants];        // by variant, and how many lanes it has at most
    const Slot* last = nullptr;  // the one that ran last
    std::uint64_t iterations = 0;
    offload::LoopProfile profile;
    std::optional<bool> has_exact_bits;  // found out on first need
    // For explain().
    std::uint64_t executions = 0;
    std::uint64_t native_iterations = 0;
    std::uint32_t unproven =
        offload::kNothing;  // the access for which the checks are needed, in the last execution
    bool fuel_was_limited = false;
  };

  bool interpret_box(Context& context, const LinkedKernel& kernel, const offload::IterationSpace& box,
                     std::vector<std::uint64_t>& window, const gc::Ref* r, offload::OpenBlock* open,
                     bool ends_block);
  std::optional<std::vector<offload::IterationSpace>> offload(Context& context, const LinkedKernel& kernel,
                                                              Entry& entry, Variant variant,
                                                              const offload::IterationSpace& space,
                                                              std::span<const codegen::KernelArray> arrays,
                                                              std::vector<std::uint64_t>& window,
                                                              const gc::Ref* r);
  bool wait_for(Context& context, const Slot& slot, std::chrono::nanoseconds patience);
  bool run_on_cores(Context& context, const LinkedKernel& kernel, Entry& entry, Variant variant,
                    const offload::IterationSpace& space, std::span<const codegen::KernelArray> arrays,
                    std::vector<std::uint64_t>& window, const gc::Ref* r);
  bool run_native(Context& context, const LinkedKernel& kernel, const codegen::CompiledKernel& compiled,
                  offload::LoopProfile& profile, const offload::IterationSpace& box,
                  const offload::OpenBlock& open, std::span<const codegen::KernelArray> arrays,
                  std::vector<std::uint64_t>& window, const gc::Ref* r);
  const offload::Footprint& footprint_of(const LinkedKernel& kernel, Entry& entry);
  bool fetch_arrays(Context& context, const LinkedKernel& kernel, Entry& entry, const gc::Ref* r);
  Variant choose(const LinkedKernel& kernel, Entry& entry, const offload::LoopChunk& execution);
  void raise_trap(Context& context, const LinkedKernel& kernel, const codegen::KernelSite& site,
                  const codegen::KernelTrap& trap, const gc::Ref* r);
  std::string position_of(const LinkedKernel& kernel) const;
  std::string explain(const LinkedKernel& kernel, const Entry& entry) const;
  std::set<codegen::CallPath> proven_paths(const LinkedKernel& kernel, const Entry& entry,
                                           Variant variant) const;
  void consider(const LinkedKernel& kernel, Entry& entry, Variant variant, unsigned most_lanes,
                std::uint64_t iterations);
  unsigned lanes_for(const LinkedKernel& kernel, Entry& entry, const offload::IterationSpace& space) const;
  static const Slot* compiled(const Entry& entry, Variant variant, unsigned most_lanes);

  std::shared_ptr<const LinkedModule> linked_;
  const JitOptions options_;
  std::shared_ptr<CompileService> service_;
  std::shared_ptr<ThreadPool> pool_;
  std::shared_ptr<Alarm> alarm_;
  std::unique_ptr<DeviceLoops> devices_;  // null: everything stays on the host
  std::vector<Entry> entries_;            // by kernel
  std::atomic<std::uint32_t> stop_{0};
};

}  // namespace dhpvm::vm
