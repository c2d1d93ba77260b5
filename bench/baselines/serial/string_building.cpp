// SPDX-License-Identifier: Apache-2.0
// Text: numbers to text, joining pieces, short concatenations, searching. All of it with std::string.
#include <cinttypes>
#include <cstdio>
#include <string>

#include "../measure.h"

namespace {

std::string join(const std::vector<std::string>& parts, const std::string& separator) {
  std::size_t size = 0;
  for (const std::string& part : parts) size += part.size() + separator.size();
  std::string text;
  text.reserve(size);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) text += separator;
    text += parts[i];
  }
  return text;
}

std::string upper(const std::string& text) {
  std::string out = text;
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

void string_building(std::int64_t n) {
  std::vector<std::string> parts(n);
  for (std::int64_t i = 0; i < n; ++i) {
    const std::string word = "item" + std::to_string(i);
    parts[i] = word + ";";
  }
  const std::string text = join(parts, " ");
  std::int64_t count = 0;
  std::size_t at = text.find("9;");
  while (at != std::string::npos) {
    ++count;
    at = text.find("9;", at + 1);
  }
  std::printf("%zu\n%" PRId64 "\n%s\n", text.size(), count, upper(text).substr(0, 20).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  measure::Run run(argc, argv, 400'000);
  while (run.next()) {
    string_building(run.size());
    run.done();
  }
}
