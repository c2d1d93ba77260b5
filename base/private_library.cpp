// SPDX-License-Identifier: Apache-2.0
#include "base/private_library.h"

#include <dlfcn.h>

#include <filesystem>
#include <system_error>

namespace dhpvm {

std::vector<std::string> private_library_paths(const void* code, std::string_view name) {
  std::vector<std::string> paths;
  Dl_info here{};
  if (dladdr(code, &here) != 0 && here.dli_fname != nullptr) {
    const std::string_view own = here.dli_fname;
    // Without a slash it was found by its name, and so are its companions.
    if (const std::size_t slash = own.rfind('/'); slash != std::string_view::npos) {
      const std::string folder(own.substr(0, slash + 1));
      paths.push_back(folder + std::string(name));
      paths.push_back(folder + "dhpvm/" + std::string(name));
    }
  }
  paths.emplace_back(name);
  return paths;
}

OpenedLibrary open_first(const std::vector<std::string>& paths) {
  OpenedLibrary opened;
  bool is_of_a_file = false;
  for (const std::string& path : paths) {
    opened.handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (opened.handle != nullptr) {
      opened.path = path;
      return opened;
    }
    const char* const text = dlerror();
    std::error_code ignored;
    const bool is_file = std::filesystem::exists(path, ignored);
    if (text == nullptr || (!opened.reason.empty() && (is_of_a_file || !is_file))) continue;
    opened.reason = text;
    is_of_a_file = is_file;
  }
  return opened;
}

}  // namespace dhpvm
