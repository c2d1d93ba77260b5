// SPDX-License-Identifier: Apache-2.0
// Lowers the body of a `parallel for`: a function that does one iteration. Its callees are inlined while it
// is lowered, so that every place where it can trap is known together with the calls that led there.
//
//   {i32 site, i32 array, i64, i64, i64, accumulators..} body(ptr arrays, ptr stop, ptr traps, indices (i64)..,
//                                                             scalars.., accumulators..)
//
// `site` is 0 for an iteration that came to its end, and otherwise a number of KernelBody::sites plus 1: there it
// trapped, with `array` and the three operands telling the rest.
//
// A body that reports its traps says that by a call instead, and returns only its accumulators, if it has any:
//
//   {accumulators..} body(..same..)
//   void trap(ptr traps, i64 index, i32 site, i32 array, i64, i64, i64)
//
// with the innermost index, and `site` counted from 0, or kStopSite of an iteration that was told to stop. That is the
// form to vectorise: results would be vectors that live, or are spilled, from each place that can trap to the return.
#pragma once

#include <set>

#include "codegen/codegen.h"
#include "codegen/lower/lowering.h"
#include "dhpvm/result.h"

namespace dhpvm::codegen {

constexpr std::uint32_t kStopSite = 0xffffffff;
// Positions in the result of a body that does not report its traps.
enum BodyResult : unsigned { kSite = 0, kTrapArray = 1, kOperands = 2, kAccumulators = 5 };
// Positions of its parameters; the indices come first behind these.
enum BodyParameter : unsigned { kArrays = 0, kStop = 1, kTraps = 2, kIndices = 3 };

// The form in which the body is to be run.
struct KernelForm {
  unsigned element_space = 0;  // LLVM's address space of the elements of captured arrays
  // Whether the body looks at `stop` now and then; for bodies that report their traps.
  bool can_be_stopped = true;
  bool reports_traps = true;
};

struct KernelBody {
  llvm::Function* function = nullptr;
  llvm::Function* trap = nullptr;  // declared, if traps are reported and there can be any
  std::vector<KernelSite> sites;
  std::vector<llvm::Type*> accumulators;  // their types, in order
  std::vector<llvm::Type*> scalars;
};

// Emits the body of kernel `kernel` into `module`. Checks of the accesses in `proven` are left out. kUnsupported when
// inlining would make too much code of it.
Result<KernelBody> lower_kernel(const bytecode::Module& bytecode, std::uint32_t kernel,
                                const std::set<CallPath>& proven, llvm::Module& module,
                                const KernelForm& form = {});

}  // namespace dhpvm::codegen
