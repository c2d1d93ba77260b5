// SPDX-License-Identifier: Apache-2.0
// Parallel loops run anywhere, without objects. Closures and objects that they call are taken apart here, where it is
// known when compiling which function that is: a loop captures what the closure has captured, or the fields that the
// method reads, and calls a copy of the function that takes them as parameters. A function that calls a parameter of
// its own in a loop is a template: each call of it has a copy, made for the closure that it gives.
#pragma once

#include <vector>

#include "compiler/check/analysis.h"

namespace dhpvm::compiler {

// The loops in templates are taken out of `kernels`, and those in their copies are added.
void specialise_loops(Analysis& analysis, std::vector<Analysis::PendingKernel>& kernels);

}  // namespace dhpvm::compiler
