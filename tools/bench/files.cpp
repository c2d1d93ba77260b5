// SPDX-License-Identifier: Apache-2.0
#include "bench/files.h"

#include <unistd.h>

#include <cstdio>

namespace dhpvm::tools {

void show_progress(const std::string& text) {
  if (::isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

}  // namespace dhpvm::tools
