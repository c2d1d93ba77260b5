// SPDX-License-Identifier: Apache-2.0
// Loads whose address is a select or phi of several, each of which would be cheap by itself.
#pragma once

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

// `if first { row[j] } else { row[j - 1] }` has two loads that are contiguous across the lanes. Instcombine merges them
// into one of a phi or select of addresses, which would be a gather; so would `row[max(j - 1, 0)]`. This pass turns the
// select into control flow again, with a load on each path, if that makes every load a vector or a scalar. It does the
// same for a phi of addresses of which only some are in a local array.
void split_chosen_loads(llvm::Function& function, const std::vector<ArgShape>& args);

}  // namespace dhpvm::codegen::spmd
