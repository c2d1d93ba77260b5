// SPDX-License-Identifier: Apache-2.0
// Lowers the body of a `parallel for`: a function that runs one iteration. Its callees are inlined during lowering, so
// that every site that can trap is known together with its call path.
//
//   {i32 site, i32 array, i64, i64, i64, accumulators..} body(ptr arrays, ptr stop, ptr traps, indices (i64)..,
//                                                             scalars.., accumulators..)
//
// `site` is 0 for a completed iteration, and otherwise an index into KernelBody::sites plus 1: the iteration trapped
// there, and `array` and the three operands give the details.
//
// A body that reports its traps calls a function instead, and returns only its accumulators, if it has any:
//
//   {accumulators..} body(..same..)
//   void trap(ptr traps, i64 index, i32 site, i32 array, i64, i64, i64)
//
// with the innermost index, and `site` counted from 0, or kStopSite for an iteration that was stopped. Use this form
// for vectorisation: results would be vectors that are live, or spilled, from each trap site to the return.
#pragma once

#include <set>

#include "codegen/codegen.h"
#include "codegen/lower/lowering.h"
#include "dhpvm/result.h"

namespace dhpvm::codegen {

constexpr std::uint32_t kStopSite = 0xffffffff;
// Indices into the result of a body that does not report its traps.
enum BodyResult : unsigned { kSite = 0, kTrapArray = 1, kOperands = 2, kAccumulators = 5 };
// Indices of its parameters; those of the iteration follow these.
enum BodyParameter : unsigned { kArrays = 0, kStop = 1, kTraps = 2, kIndices = 3 };

// The form in which the body is lowered.
struct KernelForm {
  unsigned element_space = 0;  // LLVM's address space of the elements of captured arrays
  // Whether the body polls `stop`; for bodies that report their traps.
  bool can_be_stopped = true;
  bool reports_traps = true;
};

struct KernelBody {
  llvm::Function* function = nullptr;
  llvm::Function* trap = nullptr;  // declared if traps are reported and any site exists
  std::vector<KernelSite> sites;
  std::vector<llvm::Type*> accumulators;  // their types, in order
  std::vector<llvm::Type*> scalars;
};

// Emits the body of kernel `kernel` into `module`. Omits checks of the accesses in `proven`. kUnsupported if inlining
// would make too much code.
Result<KernelBody> lower_kernel(const bytecode::Module& bytecode, std::uint32_t kernel,
                                const std::set<CallPath>& proven, llvm::Module& module,
                                const KernelForm& form = {});

}  // namespace dhpvm::codegen
