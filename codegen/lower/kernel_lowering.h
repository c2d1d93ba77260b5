// SPDX-License-Identifier: Apache-2.0
// Lowers the body of a `parallel for`: a function that does one iteration. What it calls is inlined while it is lowered,
// so that every place where it can trap is known together with the calls that led there.
//
//   {i32 site, i32 array, i64, i64, i64, accumulators..} body(ptr arrays, ptr stop, indices (i64).., scalars..,
//                                                             accumulators..)
//
// `site` is 0 for an iteration that came to its end, kStopSite for one that was told to stop, and otherwise a number
// of KernelInfo::sites plus 1: there it trapped, with `array` and the three operands telling the rest.
#pragma once

#include <set>

#include "codegen/codegen.h"
#include "codegen/lower/lowering.h"
#include "dhpvm/result.h"

namespace dhpvm::codegen {

constexpr std::uint32_t kStopSite = 0xffffffff;
// Positions in the body's result.
enum BodyResult : unsigned { kSite = 0, kTrapArray = 1, kOperands = 2, kAccumulators = 5 };
// Positions of its parameters; the indices come first behind these.
enum BodyParameter : unsigned { kArrays = 0, kStop = 1, kIndices = 2 };

// How the body is to be run.
struct KernelForm {
  unsigned element_space = 0;  // LLVM's address space of the elements of captured arrays
  bool can_be_stopped = true;  // whether the body looks at `stop` now and then
};

struct KernelBody {
  llvm::Function* function = nullptr;
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
