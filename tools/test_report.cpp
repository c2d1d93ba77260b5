// SPDX-License-Identifier: Apache-2.0
#include "test_report.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "bench/svg.h"

namespace dhpvm::tools {
namespace {

// Puts `margin` in front of every line of `text`.
std::string indented(std::string_view text, std::string_view margin) {
  std::string lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.append(margin).append(text.substr(0, end)).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// XML 1.0 cannot represent most control characters, nor bytes that are not UTF-8, and build servers refuse the whole
// report because of one. They become question marks, as do all bytes above ASCII, because a test may write anything.
std::string xml(std::string_view text) {
  std::string safe(text);
  std::ranges::replace_if(
      safe,
      [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return (byte < 0x20 && c != '\n' && c != '\t') || byte >= 0x7F;
      },
      '?');
  return escaped(safe);
}

std::string seconds(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6f", std::chrono::duration<double>(time).count());
  return text;
}

std::string suite_text(std::span<const TestCase> tests) {
  const auto failures =
      std::ranges::count_if(tests, [](const TestCase& test) { return test.failure.has_value(); });
  std::chrono::nanoseconds time{0};
  for (const TestCase& test : tests) time += test.time;
  const std::string file = xml(tests.front().file);
  std::string text = "  <testsuite name=\"" + file + "\" tests=\"" + std::to_string(tests.size()) +
                     "\" failures=\"" + std::to_string(failures) + "\" errors=\"0\" skipped=\"0\" time=\"" +
                     seconds(time) + "\">\n";
  for (const TestCase& test : tests) {
    text += "    <testcase classname=\"" + file + "\" name=\"" + xml(test.name) + "\" time=\"" +
            seconds(test.time) + "\">\n";
    if (test.failure) {
      text += "      <failure type=\"" + xml(to_string(test.failure->code())) + "\" message=\"" +
              xml(test.failure->message()) + "\">" + xml(test.failure->to_string()) + "</failure>\n";
    }
    if (!test.output.empty()) text += "      <system-out>" + xml(test.output) + "</system-out>\n";
    text += "    </testcase>\n";
  }
  return text + "  </testsuite>\n";
}

}  // namespace

std::string test_text(const TestCase& test) {
  std::string text = (test.failure ? "FAILED  " : "ok      ") + test.name;
  // Shorter times do not matter, and would make the reports of two runs differ.
  constexpr std::chrono::seconds kWorthTelling{1};
  if (test.time >= kWorthTelling) {
    char time[32];
    std::snprintf(time, sizeof time, " (%.1f s)", std::chrono::duration<double>(test.time).count());
    text += time;
  }
  text += '\n';
  if (!test.failure) return text;
  text += indented(test.failure->to_string(), "    ");
  if (!test.output.empty()) text += "    it wrote:\n" + indented(test.output, "      ");
  return text;
}

std::string junit_text(std::span<const TestCase> tests) {
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n";
  while (!tests.empty()) {
    const auto next =
        std::ranges::find_if(tests, [&](const TestCase& test) { return test.file != tests.front().file; });
    const auto count = static_cast<std::size_t>(next - tests.begin());
    text += suite_text(tests.first(count));
    tests = tests.subspan(count);
  }
  return text + "</testsuites>\n";
}

void Coverage::add(std::span<const LineCount> counts) {
  for (const LineCount& line : counts) lines_[{line.file, line.line}] += line.count;
}

std::string Coverage::lcov_text() const {
  std::string text = "TN:\n";
  for (auto line = lines_.begin(); line != lines_.end();) {
    const std::string& file = line->first.first;
    std::error_code problem;
    const bool is_file = std::filesystem::is_regular_file(file, problem);
    std::string records;
    std::uint64_t found = 0;
    std::uint64_t hit = 0;
    for (; line != lines_.end() && line->first.first == file; ++line) {
      records += "DA:" + std::to_string(line->first.second) + "," + std::to_string(line->second) + "\n";
      found += 1;
      hit += line->second != 0 ? 1 : 0;
    }
    if (!is_file) continue;
    text.append("SF:").append(file).append("\n").append(records);
    text.append("LF:").append(std::to_string(found)).append("\nLH:").append(std::to_string(hit));
    text += "\nend_of_record\n";
  }
  return text;
}

}  // namespace dhpvm::tools
