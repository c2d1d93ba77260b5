// SPDX-License-Identifier: Apache-2.0
// Loads from one of several addresses, each of which would be cheap by itself.
#pragma once

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// `if first { row[j] } else { row[j - 1] }` has two loads that are contiguous across the lanes. Instcombine
// makes one of them, of a phi or a select of addresses, which would be a gather; and so would `row[max(j - 1,
// 0)]`. This makes control flow of the choice again, with a load for each way, where that makes every load a
// vector or a scalar. It does so as well with a phi of addresses in a local array and of others, which have
// nothing in common.
void split_chosen_loads(llvm::Function& function, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
