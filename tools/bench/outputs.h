// SPDX-License-Identifier: Apache-2.0
// The results of a measured program: copies of them, and a comparison with those of another executor.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/measure.h"

namespace dhpvm::tools {

// Copies of the results of output0(work), output1(work) and so on.
Result<std::vector<Output>> outputs_of(const Isolate& isolate, const Object& work);

// Describes how the results differ from `expected`; empty if they do not. With a tolerance of 0, all bits count;
// otherwise numbers may differ by at most `tolerance` mean magnitudes.
Result<std::string> difference(const Isolate& isolate, const Object& work, std::span<const Output> expected,
                               double tolerance);

}  // namespace dhpvm::tools
