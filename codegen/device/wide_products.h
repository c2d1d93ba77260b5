// SPDX-License-Identifier: Apache-2.0
// 128-bit products, which devices lack.
#pragma once

namespace llvm {
class Function;
}

namespace dhpvm::codegen {

// Replaces the upper halves of products by Builtin::kMulHigh. Runs before optimisation, which would change the shifts.
void replace_wide_products(llvm::Function& function);

}  // namespace dhpvm::codegen
