// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>

namespace dhpvm {
namespace {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    } else {
      out += c;
    }
  }
  return out + '"';
}

// An argument that is more than shown: events with the same number are joined by arrows, from the earliest to the latest.
constexpr std::string_view kFlow = "flow";

}  // namespace

std::uint32_t Tracer::add_track(std::string name) {
  const std::lock_guard lock(mutex_);
  tracks_.push_back(std::move(name));
  return static_cast<std::uint32_t>(tracks_.size() - 1);
}

void Tracer::slice(std::uint32_t track, std::string_view name, Clock::time_point begin, Clock::time_point end,
                   Arguments arguments) {
  const std::lock_guard lock(mutex_);
  events_.push_back({'X', track, std::string(name), microseconds(begin),
                     microseconds(end) - microseconds(begin), std::move(arguments)});
}

void Tracer::instant(std::uint32_t track, std::string_view name, Arguments arguments) {
  const std::lock_guard lock(mutex_);
  events_.push_back({'i', track, std::string(name), microseconds(Clock::now()), 0, std::move(arguments)});
}

void Tracer::counter(std::string_view name, std::int64_t value) {
  const std::lock_guard lock(mutex_);
  events_.push_back({'C', 0, std::string(name), microseconds(Clock::now()), 0, {{"value", value}}});
}

std::string Tracer::to_json() const {
  const std::lock_guard lock(mutex_);
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  const auto append = std::back_inserter(out);
  const char* separator = "\n";
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    fmt::format_to(
        append, "{}{{\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}}",
        separator, i, json_string(tracks_[i]));
    separator = ",\n";
  }
  std::map<std::int64_t, std::vector<const Event*>> flows;
  for (const Event& event : events_) {
    for (const auto& [key, value] : event.arguments) {
      if (key == kFlow) flows[value].push_back(&event);
    }
    fmt::format_to(append, "{}{{\"ph\":\"{}\",\"pid\":1,\"tid\":{},\"name\":{},\"ts\":{:.3f}", separator,
                   event.phase, event.track, json_string(event.name), event.timestamp_us);
    if (event.phase == 'X') fmt::format_to(append, ",\"dur\":{:.3f}", event.duration_us);
    if (event.phase == 'i') out += ",\"s\":\"t\"";
    if (!event.arguments.empty()) {
      const char* comma = "";
      out += ",\"args\":{";
      for (const auto& [key, value] : event.arguments) {
        fmt::format_to(append, "{}{}:{}", comma, json_string(key), value);
        comma = ",";
      }
      out += "}";
    }
    out += "}";
    separator = ",\n";
  }
  for (auto& [flow, events] : flows) {
    std::ranges::stable_sort(events, {}, &Event::timestamp_us);
    for (const Event* const event : events) {
      fmt::format_to(append,
                     ",\n{{\"ph\":\"{}\",\"pid\":1,\"tid\":{},\"cat\":\"flow\",\"name\":\"flow\",\"id\":{},"
                     "\"ts\":{:.3f},\"bp\":\"e\"}}",
                     event == events.front() ? 's' : 't', event->track, flow, event->timestamp_us);
    }
  }
  return out + "\n]}\n";
}

}  // namespace dhpvm
