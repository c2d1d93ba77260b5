// SPDX-License-Identifier: Apache-2.0
// The mathematical functions with vector forms in glibc's libmvec, and their names.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <functional>
#include <string>
#include <string_view>

namespace dhpvm::codegen::spmd {

// The C library function for `call` ("sinf" for llvm.sin.f32); empty if there is none.
std::string math_function(const llvm::CallBase& call);

struct VectorFunction {
  std::string symbol;  // empty: there is none
  unsigned lanes = 0;
};

// Whether the vector form of `name` falls back to glibc's scalar function for large angles, in place of ours
// (base/trigonometry.h).
bool is_wrong_for_large_angles(std::string_view name);

// The vector form of `name` for `width` lanes of `element_bits`: the widest that the target's vectors and the lanes
// fill, or a partially filled one if there is no other.
VectorFunction vector_function(const std::string& name, unsigned arguments, unsigned element_bits,
                               unsigned width, unsigned vector_bits,
                               const std::function<bool(std::string_view)>& exists);

}  // namespace dhpvm::codegen::spmd
