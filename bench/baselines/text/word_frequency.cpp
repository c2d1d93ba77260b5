// SPDX-License-Identifier: Apache-2.0
// bench/programs/text/word_frequency.dhp in C++.
#include <cstdint>
#include <unordered_map>

#include "report.h"

namespace {

void word_frequency(std::istream& lines) {
  std::unordered_map<std::string, std::int64_t> counts;
  for (std::string line; std::getline(lines, line);)
    report::split(line, ' ', [&](std::string word) { ++counts[std::move(word)]; });
  std::int64_t total = 0, most = 0;
  std::string best;
  for (const auto& [word, count] : counts) {
    total += count;
    if (count > most || (count == most && word < best)) {
      most = count;
      best = word;
    }
  }
  std::printf("%zu %lld %s %lld\n", counts.size(), static_cast<long long>(total), best.c_str(),
              static_cast<long long>(most));
}

}  // namespace

int main(int argc, char** argv) { return report::repeat(argc, argv, word_frequency); }
