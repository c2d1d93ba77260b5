// SPDX-License-Identifier: Apache-2.0
// Maps LLVM's intrinsics, the C library's functions and the device's builtins to functions of OpenCL C.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <map>
#include <optional>
#include <span>
#include <string>

namespace dhpvm::codegen::opencl {

// Function definitions that the text must include, by name.
using Helpers = std::map<std::string, std::string>;

// An expression for a call that only computes, or a statement without its semicolon for one that returns nothing;
// `arguments` are expressions. Empty optional: OpenCL C has no such function. Empty text: no operation.
std::optional<std::string> call_text(const llvm::CallBase& call, std::span<const std::string> arguments,
                                     Helpers& helpers);

// The sine or cosine of an f32 or f64.
bool is_sine(const llvm::CallBase& call);
bool is_cosine(const llvm::CallBase& call);

}  // namespace dhpvm::codegen::opencl
