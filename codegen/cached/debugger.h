// SPDX-License-Identifier: Apache-2.0
// Registers loaded code with gdb through its interface for just-in-time compilers ("JIT Compilation Interface" in its
// manual).
#pragma once

#include <cstddef>
#include <vector>

namespace dhpvm::codegen {

// `object`: an object file whose section headers have final addresses. It is never unregistered. Thread-safe.
void tell_debugger(std::vector<std::byte> object);

}  // namespace dhpvm::codegen
