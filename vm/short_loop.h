// SPDX-License-Identifier: Apache-2.0
// Executions of a parallel loop that are so short that threads would never share them, after its kernel was compiled
// and measured: one call of the kernel, without the description that plans, devices and deferred loops need. Most of
// them repeat an earlier one with the same bounds, scalars and shapes, so that only the places of the arrays have to be
// checked. With a single thread, longer executions count as short, too.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/codegen.h"
#include "codegen/kernel_abi.h"
#include "offload/loops/loop.h"
#include "vm/context.h"
#include "vm/linker.h"
#include "vm/loop_code.h"
#include "vm/loop_timing.h"

namespace dhpvm::vm {

// Belongs to one loop of one isolate, on whose thread it is used.
class ShortLoop {
 public:
  // The compiled kernel for the execution whose window is at `p` and `r`; null if that is not short, or needs more than
  // a call of its kernel. Not for programs with a limit on fuel. `threads`: the number that could share the execution.
  const codegen::CompiledKernel* find(const Context& context, const LinkedKernel& kernel, LoopCode& code,
                                      const LoopTiming& timing, std::uint32_t threads, const std::uint64_t* p,
                                      const gc::Ref* r);
  // Runs the execution that find() has just returned a kernel for. If everything is done, the results stand at `p`.
  // kTrapped: `trap` is the first trap in iteration order.
  codegen::KernelStatus run(const Context& context, const LinkedKernel& kernel, std::uint64_t* p,
                            codegen::KernelTrap& trap);
  std::uint64_t iterations() const { return iterations_; }
  // Whether the execution just found differs from the one before, or that one took the slow path. Callers then check
  // whether anything speaks against the short path, and call forget() if so.
  bool is_new() const { return is_new_; }
  void forget() { compiled_ = nullptr; }

 private:
  bool take_window(const LinkedKernel& kernel, const std::uint64_t* p);
  bool take_arrays(const Context& context, const LinkedKernel& kernel, const gc::Ref* r, bool& changed);
  const codegen::CompiledKernel* choose(const LinkedKernel& kernel, LoopCode& code);

  // The last execution.
  std::vector<std::uint64_t> window_;  // bounds and scalars
  std::vector<codegen::KernelArray> arrays_;
  offload::IterationSpace space_;
  std::uint64_t iterations_ = 0;
  std::vector<std::uint64_t> partials_;
  const codegen::CompiledKernel* compiled_ = nullptr;  // null: there is no such execution
  codegen::KernelCode code_ = nullptr;                 // of `compiled_`
  bool is_new_ = false;
  std::uint64_t executions_ = 0;
};

}  // namespace dhpvm::vm
