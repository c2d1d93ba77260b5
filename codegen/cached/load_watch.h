// SPDX-License-Identifier: Apache-2.0
// The notification of debuggers and profilers about loaded code.
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

// Receives all functions of an object at once, from any thread. There is no notification of unloading: code stays in
// place, or is replaced by other code (see LinkerOptions).
using LoadWatch = std::function<void(std::span<const LoadedFunction>)>;

}  // namespace dhpvm::codegen
