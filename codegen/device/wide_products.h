// SPDX-License-Identifier: Apache-2.0
// Products of 128 bits, which devices do not have.
#pragma once

namespace llvm {
class Function;
}

namespace dhpvm::codegen {

// Replaces the upper halves of products by Builtin::kMulHigh. Before optimisation, which would make other
// shifts of them.
void replace_wide_products(llvm::Function& function);

}  // namespace dhpvm::codegen
