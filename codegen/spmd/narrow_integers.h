// SPDX-License-Identifier: Apache-2.0
// Arithmetic on integers wider than their values: `(4 * (a[i] as i32) + b[i] as i32) >> 3` of bytes.
#pragma once

namespace llvm {
class Function;
}

namespace dhpvm::codegen::spmd {

// Computes in 16 or 32 bits what is known to fit, operands and result alike, if every user accepts the narrow value: a
// vector holds two to four times as many lanes of it. Programs use `i32` or `i64` for sums of bytes, as C++ promotes
// them to `int`.
void narrow_integers(llvm::Function& function);

}  // namespace dhpvm::codegen::spmd
