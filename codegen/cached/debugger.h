// SPDX-License-Identifier: Apache-2.0
// Tells gdb of code that was loaded, by its interface for just-in-time compilers ("JIT Compilation Interface" in its
// manual).
#pragma once

#include <cstddef>
#include <vector>

namespace dhpvm::codegen {

// `object`: an object file whose headers say where its sections are. It stays registered for good. Thread-safe.
void tell_debugger(std::vector<std::byte> object);

}  // namespace dhpvm::codegen
