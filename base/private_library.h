// SPDX-License-Identifier: Apache-2.0
// Shared libraries that only this one loads, such as the code generator.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace dhpvm {

// Paths to try in turn for the library `name`: next to the library that `code` is in, as in a build; in the folder
// `dhpvm` there, where packages put it, since it is no library for others; and the name alone, for the loader's search.
std::vector<std::string> private_library_paths(const void* code, std::string_view name);

struct OpenedLibrary {
  void* handle = nullptr;  // null if none of the paths could be opened
  std::string path;        // what was opened
  std::string reason;      // why not: of the first file that is there, else of the first path
};

// Opens the first of these that can be loaded. It is never closed: libraries such as LLVM, OpenSSL and libfabric keep
// state that outlives every user of theirs.
OpenedLibrary open_first(const std::vector<std::string>& paths);

// Gives the memory that code and constants of the loaded library with this file name occupy back to the system, which
// maps them again where they are used: for a large library that nobody needs for a while. Other threads may run in it.
// Breakpoints that a debugger has set inside are lost.
void release_library_pages(std::string_view name);

}  // namespace dhpvm
