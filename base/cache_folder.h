// SPDX-License-Identifier: Apache-2.0
// Where this user's caches are.
#pragma once

#include <sys/stat.h>

#include <cstdlib>
#include <string>

namespace dhpvm {

// $XDG_CACHE_HOME/dhpvm, or ~/.cache/dhpvm; empty where neither is known.
inline std::string default_cache_folder() {
  // The XDG specification wants relative paths ignored.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && cache[0] == '/') {
    return std::string(cache) + "/dhpvm";
  }
  if (const char* home = std::getenv("HOME"); home != nullptr && home[0] == '/') {
    return std::string(home) + "/.cache/dhpvm";
  }
  return {};
}

// Creates it with all folders above it, for the user alone. Failures show when a file in the folder is opened.
inline void make_cache_folder(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    static_cast<void>(::mkdir(path.substr(0, slash).c_str(), 0700));
  }
  static_cast<void>(::mkdir(path.c_str(), 0700));
}

}  // namespace dhpvm
