// SPDX-License-Identifier: Apache-2.0
#include "vm/api/source_corpus.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace dhpvm {

std::vector<std::string> corpus_programs(const std::string& folder) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".dhp") paths.push_back(entry.path());
  std::ranges::sort(paths);
  std::vector<std::string> programs;
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    programs.push_back(std::move(text).str());
  }
  return programs;
}

}  // namespace dhpvm
