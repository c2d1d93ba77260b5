// SPDX-License-Identifier: Apache-2.0
// The names in OpenCL C of LLVM's intrinsics, of the C library's functions and of the device's own.
#pragma once

#include <llvm/IR/InstrTypes.h>

#include <map>
#include <optional>
#include <span>
#include <string>

namespace dhpvm::codegen::opencl {

// Functions that the text has to define, by name.
using Helpers = std::map<std::string, std::string>;

// An expression for the value of a call that only computes, or a statement without its semicolon for one that returns
// nothing; `arguments` are expressions. Nothing if OpenCL C has no such function. An empty text: nothing need be done.
std::optional<std::string> call_text(const llvm::CallBase& call, std::span<const std::string> arguments,
                                     Helpers& helpers);

// The sine or cosine of an f32 or f64.
bool is_sine(const llvm::CallBase& call);
bool is_cosine(const llvm::CallBase& call);

}  // namespace dhpvm::codegen::opencl
