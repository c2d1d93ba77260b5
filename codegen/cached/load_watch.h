// SPDX-License-Identifier: Apache-2.0
// Debuggers and profilers are told about code that was loaded.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

namespace dhpvm::codegen {

struct LoadedFunction {
  const void* begin;
  std::size_t size;
  std::string_view name;
};

// Takes all functions of an object at once, from any thread. A report is never taken back: code stays where it is, or
// other code takes its place (see LinkerOptions).
using LoadWatch = std::function<void(std::span<const LoadedFunction>)>;

}  // namespace dhpvm::codegen
