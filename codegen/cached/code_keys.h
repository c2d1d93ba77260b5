// SPDX-License-Identifier: Apache-2.0
// The symbol names of compiled code, and its keys in the cache.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "codegen/cached/code_cache.h"
#include "codegen/codegen.h"

namespace dhpvm::codegen {

// The function that a kernel's code defines.
inline constexpr char kKernelSymbol[] = "kernel";

// The symbol that the code of a function defines: with the prefix "body", "enter" or "continue", for instance.
inline std::string function_symbol(std::string_view prefix, std::uint32_t function) {
  return std::string(prefix).append(".").append(std::to_string(function));
}

// What compiled code depends on besides the request.
struct CodeSetting {
  std::string build;          // of the code generator's library (build_id.h)
  std::string cpu;            // GeneratorOptions::cpu
  bool is_traceable = false;  // see LinkerOptions
};

CacheKey key_of(const KernelRequest& request, const CodeSetting& setting);
CacheKey key_of(const FunctionRequest& request, const CodeSetting& setting);

}  // namespace dhpvm::codegen
