// SPDX-License-Identifier: Apache-2.0
// Parallel loops run without objects. This pass removes the closures and objects that they call if the function called
// is known at compile time: the loop captures the closure's captures, or the fields that the method reads, and calls a
// copy of the function that takes them as parameters. A function that calls its own parameter in a loop is a template:
// each call of it gets a copy, specialised for the closure passed.
#pragma once

#include <vector>

#include "compiler/check/analysis.h"

namespace dhpvm::compiler {

// Removes the loops of templates from `kernels`, and adds those of their copies.
void specialise_loops(Analysis& analysis, std::vector<Analysis::PendingKernel>& kernels);

}  // namespace dhpvm::compiler
