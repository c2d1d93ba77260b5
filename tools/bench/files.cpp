// SPDX-License-Identifier: Apache-2.0
#include "bench/files.h"

#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace dhpvm::tools {

void show_progress(const std::string& text) {
  if (::isatty(STDERR_FILENO) != 0) std::fprintf(stderr, "\r\033[K%s", text.c_str());
}

Status write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) return Error(ErrorCode::kIo, "cannot write " + path + ": check the folder and the space left");
  return {};
}

}  // namespace dhpvm::tools
