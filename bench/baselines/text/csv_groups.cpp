// SPDX-License-Identifier: Apache-2.0
// bench/programs/text/csv_groups.dhp in C++; prints the cities in another order.
#include <charconv>
#include <cstdint>
#include <unordered_map>

#include "report.h"

namespace {

template <typename T>
T parsed(const std::string& text) {
  T value{};
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void csv_groups(std::istream& lines) {
  std::unordered_map<std::string, std::int64_t> counts, quantities;
  std::unordered_map<std::string, double> sums;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = report::split(line, ',');
    const std::string& city = cells[1];
    const auto quantity = parsed<std::int64_t>(cells[3]);
    ++counts[city];
    quantities[city] += quantity;
    sums[city] += static_cast<double>(quantity) * parsed<double>(cells[4]);
  }
  for (const auto& [city, count] : counts) {
    std::printf("%s %lld %lld %.2f\n", city.c_str(), static_cast<long long>(count),
                static_cast<long long>(quantities[city]), sums[city]);
  }
}

}  // namespace

int main(int argc, char** argv) { return report::repeat(argc, argv, csv_groups); }
