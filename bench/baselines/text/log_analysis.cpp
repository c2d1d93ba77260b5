// SPDX-License-Identifier: Apache-2.0
// bench/programs/text/log_analysis.dhp in C++; prints what it counts in another order.
#include <charconv>
#include <cstdint>
#include <unordered_map>

#include "report.h"

namespace {

using Counts = std::unordered_map<std::string, std::int64_t>;

void log_analysis(std::istream& lines) {
  Counts levels, hours, requests, times;
  std::int64_t slow = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> parts = report::split(line, ' ');
    ++levels[parts[1]];
    if (parts[1] == "ERROR") ++hours[parts[0].substr(11, 2)];
    const std::string& path = parts[5];
    std::int64_t micros = 0;
    const std::string& digits = parts[8];
    if (std::from_chars(digits.data(), digits.data() + digits.size(), micros).ec != std::errc()) continue;
    ++requests[path];
    times[path] += micros;
    if (line.find("slow query") != std::string::npos) ++slow;
  }
  const auto number = [](std::int64_t value) { return static_cast<long long>(value); };
  for (const auto& [level, count] : levels) std::printf("%s %lld\n", level.c_str(), number(count));
  for (const auto& [hour, count] : hours) std::printf("%s %lld\n", hour.c_str(), number(count));
  for (const auto& [path, count] : requests)
    std::printf("%s %lld %lld\n", path.c_str(), number(count), number(times[path] / count));
  std::printf("%lld\n", number(slow));
}

}  // namespace

int main(int argc, char** argv) { return report::repeat(argc, argv, log_analysis); }
