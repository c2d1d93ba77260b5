// SPDX-License-Identifier: Apache-2.0
#include "statistics.h"

#include <array>
#include <cstdio>

namespace dhpvm::tools {
namespace {

std::string scaled(double value, double base, std::array<const char*, 4> units) {
  std::size_t i = 0;
  while (value >= base && i + 1 < units.size()) value /= base, ++i;
  char text[48];
  std::snprintf(text, sizeof text, i == 0 ? "%.0f %s" : "%.1f %s", value, units[i]);
  return text;
}

std::string amount(std::string_view unit, std::uint64_t value) {
  if (unit == "bytes") return scaled(static_cast<double>(value), 1024, {"B", "KiB", "MiB", "GiB"});
  if (unit == "ns") return scaled(static_cast<double>(value), 1000, {"ns", "us", "ms", "s"});
  return std::to_string(value);
}

// Calls visit(name, unit, meaning, value) for all that is reported.
template <typename Visitor>
void for_each(const Statistics& statistics, const Leftovers& left, Visitor&& visit) {
  for_each_statistic(statistics, visit);
  visit("left_buffer_bytes", "bytes", "of arrays outside the heap, at the end", left.buffer_bytes);
  visit("left_device_bytes", "bytes", "on devices, at the end", left.device_bytes);
  visit("left_registrations", "count", "pieces of memory known to devices at the end", left.registrations);
}

}  // namespace

std::string statistics_table(const Statistics& statistics, const Leftovers& left) {
  std::string text;
  for_each(statistics, left,
           [&](std::string_view name, std::string_view unit, std::string_view meaning, std::uint64_t value) {
             char line[160];
             std::snprintf(line, sizeof line, "%-21.*s %14s  %.*s\n", static_cast<int>(name.size()),
                           name.data(), amount(unit, value).c_str(), static_cast<int>(meaning.size()),
                           meaning.data());
             text += line;
           });
  return text;
}

std::string statistics_json(const Statistics& statistics, const Leftovers& left) {
  std::string text = "{";
  for_each(statistics, left,
           [&](std::string_view name, std::string_view, std::string_view, std::uint64_t value) {
             if (text.size() > 1) text += ", ";
             text += "\"" + std::string(name) + "\": " + std::to_string(value);
           });
  return text + "}\n";
}

}  // namespace dhpvm::tools
