// SPDX-License-Identifier: Apache-2.0
// The native functions under the standard library, as declared by natives.def.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "dhpvm/result.h"
#include "vm/native.h"

namespace dhpvm::stdlib {

#define DHPVM_NATIVE(name, reach, signature, function, meaning) Status function(vm::NativeCall& call);
#define DHPVM_FAST_PATH(name, function) bool function(vm::NativeCall& call);
#include "stdlib/native/natives.def"

enum class Reach : std::uint8_t { kSelf, kSystem };

struct NativeRow {
  std::string_view name;
  Reach reach;
  std::string_view signature;  // with parameter names
  Status (*function)(vm::NativeCall&);
  std::string_view meaning;
};

// All rows of natives.def.
std::span<const NativeRow> natives();

// That of the function with this name, or null.
vm::NativeFastPath fast_path(std::string_view name);

// Defines those that `imports` name and nobody has defined: a program uses few of them. The isolates that run them must
// carry a NativeState as their host data. kLink if one is beyond the reach allowed.
Status register_natives(vm::NativeRegistry& registry, Reach allowed,
                        std::span<const bytecode::Import> imports);

// `signature` without the names of parameters: "(str path, i64 at) -> str" is "(str, i64) -> str".
std::string without_parameter_names(std::string_view signature);

}  // namespace dhpvm::stdlib
