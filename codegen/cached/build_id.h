// SPDX-License-Identifier: Apache-2.0
// Identifies this build of the code generator.
#pragma once

#include <string>

namespace dhpvm::codegen {

// The build ID that the linker gave to the library or program that holds this function, as raw bytes: a hash of its
// contents. Empty if it was linked without one. Thread-safe.
std::string build_id();
// The same for the library or program that contains `code`.
std::string build_id(const void* code);
// The same for a file that is not loaded; also empty if it cannot be read.
std::string build_id_in_file(const std::string& path);

}  // namespace dhpvm::codegen
