// SPDX-License-Identifier: Apache-2.0
#include "statistics.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

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

// Calls visit(name, unit, meaning, value) for every value that is reported.
template <typename Visitor>
void for_each(const Statistics& statistics, const Leftovers& left, Visitor&& visit) {
  for_each_statistic(statistics, visit);
  visit("left_buffer_bytes", "bytes", "of arrays outside the heap, at the end", left.buffer_bytes);
  visit("left_device_bytes", "bytes", "on devices, at the end", left.device_bytes);
  visit("left_registrations", "count", "pieces of memory known to devices at the end", left.registrations);
}

}  // namespace

std::string statistics_table(const Statistics& statistics, const Leftovers& left,
                             std::span<const WorkerUse> workers) {
  std::string text;
  for_each(statistics, left,
           [&](std::string_view name, std::string_view unit, std::string_view meaning, std::uint64_t value) {
             char line[160];
             std::snprintf(line, sizeof line, "%-21.*s %14s  %.*s\n", static_cast<int>(name.size()),
                           name.data(), amount(unit, value).c_str(), static_cast<int>(meaning.size()),
                           meaning.data());
             text += line;
           });
  for (const WorkerUse& worker : workers) {
    text += worker.name + (worker.host.empty() ? "" : " (" + worker.host + ")") + ": " + worker.state + "; " +
            std::to_string(worker.jobs) + " jobs, " + amount("bytes", worker.bytes_sent) + " sent, " +
            amount("bytes", worker.bytes_received) + " received";
    if (worker.round_trip.count() != 0) {
      text += ", round trip " + amount("ns", static_cast<std::uint64_t>(worker.round_trip.count()));
    }
    text += worker.seal.empty() ? "\n" : ", seal: " + worker.seal + "\n";
  }
  return text;
}

std::string statistics_json(const Statistics& statistics, const Leftovers& left,
                            std::span<const WorkerUse> workers) {
  using Json = nlohmann::ordered_json;
  Json json;
  for_each(statistics, left,
           [&](std::string_view name, std::string_view, std::string_view, std::uint64_t value) {
             json[std::string(name)] = value;
           });
  json["workers"] = Json::array();
  for (const WorkerUse& worker : workers) {
    json["workers"].push_back({{"name", worker.name},
                               {"host", worker.host},
                               {"state", worker.state},
                               {"seal", worker.seal},
                               {"jobs", worker.jobs},
                               {"bytes_sent", worker.bytes_sent},
                               {"bytes_received", worker.bytes_received},
                               {"round_trip", worker.round_trip.count()}});
  }
  // Some names and states come from other machines: bytes that are not UTF-8 are replaced.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dhpvm::tools
