// SPDX-License-Identifier: Apache-2.0
// Shared libraries that only this one loads, such as the code generator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dhpvm {

// The paths to try, in order, for the library `name`: beside the library that contains `code`, as in a build; in the
// folder `dhpvm` beside it, where packages install libraries that only this one uses; and the bare name, for the
// loader's search.
std::vector<std::string> private_library_paths(const void* code, std::string_view name);

struct OpenedLibrary {
  void* handle = nullptr;  // null if none of the paths could be opened
  std::string path;        // the path that was opened
  std::string reason;      // the error of the first file that exists, or else of the first path
};

// Opens the first of these paths that can be loaded. The library is never closed: LLVM, OpenSSL and libfabric keep
// state that outlives all their users.
OpenedLibrary open_first(const std::vector<std::string>& paths);

// Gives the memory of the code and constants of the loaded library with this file name back to the system, which maps
// the pages again when they are used. For a large library that will not be needed for a while. Other threads may run in
// it. Breakpoints that a debugger has set in it are lost.
void release_library_pages(std::string_view name);

}  // namespace dhpvm
