// SPDX-License-Identifier: Apache-2.0
// The code of one parallel loop for the cores of the host: its footprint, its specialisations, and their compiled
// forms.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "codegen/codegen.h"
#include "offload/loops/execution_family.h"
#include "offload/loops/execution_memo.h"
#include "offload/loops/footprint.h"
#include "offload/loops/range.h"
#include "vm/compile_service.h"
#include "vm/linker.h"
#include "vm/loop_timing.h"

namespace dhpvm::vm {

// A kernel is compiled once for the small extents that its arrays have, and without the checks that its footprint
// proves to be unnecessary. An execution that breaks these assumptions has it compiled once more for any extents, or
// with all checks.
enum class LoopVariant : std::uint8_t { kSized, kProven, kChecked };

class LoopCode {
 public:
  // A number of lanes that leaves the choice to the code generator.
  static constexpr unsigned kAnyLanes = 0;

  LoopCode(std::shared_ptr<const LinkedModule> linked, std::uint32_t kernel);

  // Made on first need.
  const offload::Footprint& footprint();

  // The variant for an execution. The first execution decides the specialisations: what holds in it mostly holds in
  // all.
  LoopVariant choose(const offload::LoopChunk& execution);
  // Accesses of the footprint that `variant` does not check: ascending, and as the code generator knows them.
  std::span<const std::uint32_t> proven_accesses(LoopVariant variant) const;
  std::set<codegen::CallPath> proven_paths(LoopVariant variant) const;
  // Extents that `variant` is compiled for.
  std::span<const codegen::KnownDimension> dimensions(LoopVariant variant) const;
  // The access that needs a check in the last execution; kNothing if none does.
  std::uint32_t unproven() const { return unproven_; }

  // Whether an iteration gives the same bits as one of several lanes and by itself.
  bool has_exact_bits();

  // The compiled kernel with at most `most_lanes` lanes, or, until that has been compiled, with any number; null if
  // there is none.
  const codegen::CompiledKernel* find(LoopVariant variant, unsigned most_lanes) const;
  // The kernel's baseline code; null if it has not been compiled.
  const codegen::CompiledKernel* find_baseline(LoopVariant variant) const;
  // Has the kernel compiled, here and now or in the background; once for each variant and number of lanes.
  enum class When : std::uint8_t { kNow, kInBackground };
  void request(LoopVariant variant, unsigned most_lanes, CompileService& service, When when);
  // Has the kernel's baseline code compiled; once for each variant. With Kept::kAny, optimised code with at most
  // `most_lanes` lanes is used in its place if the cache has such code.
  enum class Kept : std::uint8_t { kAny, kBaseline };
  void request_baseline(LoopVariant variant, unsigned most_lanes, CompileService& service, When when,
                        Kept kept);
  // Whether optimised code need not be requested yet: baseline code is being compiled, or was compiled by this process
  // and has not run long enough, by `timing`. If an earlier run left baseline code in the cache, the program is run
  // repeatedly, so that optimised code is worth its compilation.
  bool is_baseline_enough(LoopVariant variant, const LoopTiming& timing) const;
  // Whether a requested kernel, or its baseline code, is still being compiled.
  bool is_being_compiled(LoopVariant variant, unsigned most_lanes) const;
  bool is_sized(const codegen::CompiledKernel& kernel) const;
  bool is_requested() const;
  // Why it could not be compiled; empty if no compilation has failed.
  std::string failure() const;

 private:
  static constexpr std::size_t kVariants = 3;
  // Where the background thread stores a kernel, perhaps after the isolate's end.
  struct Slot {
    std::unique_ptr<codegen::CompiledKernel> kernel;
    std::string failure;
    std::atomic<bool> done{false};
  };
  // By the largest number of lanes.
  using Slots = std::map<unsigned, std::shared_ptr<Slot>>;
  // As Slot, for baseline code.
  struct BaselineSlot {
    std::unique_ptr<codegen::CompiledKernel> kernel;
    bool was_kept = false;  // `kernel` is from the cache
    // Optimised code from the cache, used in place of `kernel`; null if the cache had none.
    std::shared_ptr<Slot> optimised;
    unsigned most_lanes = kAnyLanes;  // of `optimised`
    std::string failure;
    std::atomic<bool> done{false};
  };

  const Slots& slots(LoopVariant variant) const { return slots_[static_cast<std::size_t>(variant)]; }
  // Null unless the compilation was requested and has ended.
  const BaselineSlot* finished_baseline(LoopVariant variant) const;
  // Moves optimised code that the cache had in place of baseline code to the slots of optimised code.
  void adopt_kept(LoopVariant variant);
  codegen::KernelRequest new_request(LoopVariant variant, unsigned most_lanes) const;
  const bytecode::KernelRecord& record() const { return linked_->module().kernels[kernel_]; }
  // The first proven access that `ranges` do not prove; kNothing if there is none.
  std::uint32_t first_failing(offload::Ranges& ranges) const;
  std::uint32_t find_unproven(const offload::LoopChunk& execution);
  void specialise(const offload::LoopChunk& execution);

  std::shared_ptr<const LinkedModule> linked_;
  std::uint32_t kernel_;
  std::optional<offload::Footprint> footprint_;
  std::optional<std::vector<std::uint32_t>> proven_;
  std::vector<codegen::KnownDimension> dimensions_;
  std::uint32_t unproven_ = offload::kNothing;
  offload::ProvenFamilies families_;  // of executions without an unproven access
  offload::NumberMemo<std::uint32_t, 32>
      unproven_accesses_;              // by the numbers of an execution in none of them
  std::vector<std::int64_t> numbers_;  // of the last execution
  std::optional<bool> has_exact_bits_;
  Slots slots_[kVariants];
  std::shared_ptr<BaselineSlot> baselines_[kVariants];
};

}  // namespace dhpvm::vm
