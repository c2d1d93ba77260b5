// SPDX-License-Identifier: Apache-2.0
#include "worker_status.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include <nlohmann/json.hpp>

namespace dhpvm::tools {
namespace {

std::string scaled(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text.data();
}

std::string duration(std::chrono::milliseconds time) {
  const auto seconds = time.count() / 1000;
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%02lld:%02lld:%02lld", static_cast<long long>(seconds / 3600),
                static_cast<long long>(seconds / 60 % 60), static_cast<long long>(seconds % 60));
  return text.data();
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ",") + name;
  return or_dash(text);
}

using Row = std::array<std::string, 12>;

Row row_of(const WorkerSessionStatus& session) {
  return {std::to_string(session.number),
          session.place == 0 ? "served" : "waits, " + std::to_string(session.place),
          or_dash(session.client),
          or_dash(session.key),
          or_dash(session.program),
          session.peer,
          session.seal,
          duration(session.age),
          std::to_string(session.jobs),
          scaled(session.bytes_in) + " / " + scaled(session.bytes_out),
          scaled(session.memory_bytes),
          joined(session.devices)};
}

}  // namespace

std::string status_table(const WorkerStatus& status) {
  const auto waiting =
      std::ranges::count_if(status.sessions, [](const auto& each) { return each.place != 0; });
  const auto served = static_cast<std::ptrdiff_t>(status.sessions.size()) - waiting;
  std::string text = "worker " + status.name + " (release " + status.release + "), up " +
                     duration(status.up) + (status.is_draining ? ", draining" : "") +
                     "\nsessions: " + std::to_string(served) + " of " + std::to_string(status.most_served) +
                     ", waiting: " + std::to_string(waiting) + " of " + std::to_string(status.most_waiting) +
                     "\n";
  for (const WorkerDevice& device : status.devices)
    text += "device " + device.name + ": " + device.description + ", " + scaled(device.memory_bytes) + "\n";
  if (status.sessions.empty()) return text;
  std::vector<WorkerSessionStatus> sorted = status.sessions;
  std::ranges::stable_sort(sorted, {}, &WorkerSessionStatus::place);
  std::vector<Row> rows{{"session", "state", "client", "key", "program", "from", "seal", "since", "jobs",
                         "in / out", "memory", "devices"}};
  for (const WorkerSessionStatus& session : sorted) rows.push_back(row_of(session));
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t n = 0; n < row.size(); ++n) widths[n] = std::max(widths[n], row[n].size());
  }
  for (const Row& row : rows) {
    for (std::size_t n = 0; n + 1 < row.size(); ++n)
      text += row[n] + std::string(widths[n] + 2 - row[n].size(), ' ');
    text += row.back() + "\n";
  }
  if (status.left_out != 0) text += "and " + std::to_string(status.left_out) + " more\n";
  return text;
}

std::string status_json(const WorkerStatus& status) {
  using Json = nlohmann::ordered_json;
  const auto seconds = [](std::chrono::milliseconds time) {
    return static_cast<double>(time.count()) / 1000;
  };
  Json devices = Json::array();
  for (const WorkerDevice& device : status.devices)
    devices.push_back(
        {{"name", device.name}, {"description", device.description}, {"memory_bytes", device.memory_bytes}});
  Json sessions = Json::array();
  for (const WorkerSessionStatus& session : status.sessions) {
    sessions.push_back({{"session", session.number},
                        {"place", session.place},
                        {"program", session.program},
                        {"client", session.client},
                        {"key", session.key},
                        {"from", session.peer},
                        {"seal", session.seal},
                        {"seconds", seconds(session.age)},
                        {"jobs", session.jobs},
                        {"bytes_in", session.bytes_in},
                        {"bytes_out", session.bytes_out},
                        {"memory_bytes", session.memory_bytes},
                        {"devices", session.devices},
                        {"priority", session.priority}});
  }
  const Json all{{"name", status.name},
                 {"release", status.release},
                 {"up_seconds", seconds(status.up)},
                 {"draining", status.is_draining},
                 {"most_sessions", status.most_served},
                 {"most_waiting", status.most_waiting},
                 {"devices", std::move(devices)},
                 {"sessions", std::move(sessions)},
                 {"left_out", status.left_out}};
  // Names from other machines need not be UTF-8.
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dhpvm::tools
