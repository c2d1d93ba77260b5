// SPDX-License-Identifier: Apache-2.0
// Whether several lanes do a loop's body faster than one: an estimate of the cycles of both forms.
//
// Arithmetic gains by lanes, and so does a loop in which each turn waits for what the last one has loaded: as many
// lanes wait at once. A gather or a scatter gains nothing: it takes longer than the accesses that it stands for.
#pragma once

#include <vector>

#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen::spmd {

struct LaneCosts {
  double one = 0;      // cycles of an iteration that is done alone
  double several = 0;  // its share of those that are done together
  bool lanes_lose() const { return several > one; }
};

// `scalar` is prepared, and `wide` its vector form for options.width lanes.
LaneCosts estimate_costs(const llvm::Function& scalar, const llvm::Function& wide,
                         const SpmdOptions& options);

}  // namespace dhpvm::codegen::spmd
