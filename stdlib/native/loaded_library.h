// SPDX-License-Identifier: Apache-2.0
// Libraries that a module of the standard library loads when a program first calls it: nothing needs them to start.
#pragma once

#include <dlfcn.h>

#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"

namespace dhpvm::stdlib {

// The names to try for a library: `usual`, or what the environment variable says; none if that is "none".
std::vector<std::string> library_names(const char* variable, std::vector<std::string> usual);

// kNotFound, for a module that calls a library which cannot be loaded: "zlib (libz.so.1)".
Error no_library(std::string_view name);

// False if the library lacks the function.
template <typename Function>
bool find_function(void* library, const char* name, Function& into) {
  into = reinterpret_cast<Function>(dlsym(library, name));
  return into != nullptr;
}

}  // namespace dhpvm::stdlib
