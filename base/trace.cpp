// SPDX-License-Identifier: Apache-2.0
#include "base/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>

namespace dhpvm {
namespace {

// A quoted and escaped text. Names may come from programs and file systems: bytes that are not UTF-8 are replaced.
std::string json_text(const std::string& text) {
  using Json = nlohmann::json;
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

// The argument that also draws arrows.
constexpr std::string_view kFlow = "flow";

// 64 KiB: small enough to come from memory that the allocator has used before.
constexpr std::size_t kPieceWords = 8192;
// The words before the values: phase and number of values, track and kind, begin, duration.
constexpr std::size_t kFixedWords = 4;

constexpr std::uint64_t pack(std::uint64_t high, std::uint32_t low) { return high << 32 | low; }
constexpr std::uint32_t high(std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32); }
constexpr std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

double microseconds(std::uint64_t nanoseconds) {
  return static_cast<double>(static_cast<std::int64_t>(nanoseconds)) / 1000;
}

}  // namespace

std::uint32_t Tracer::add_track(std::string name) {
  const std::lock_guard lock(mutex_);
  tracks_.push_back(std::move(name));
  return static_cast<std::uint32_t>(tracks_.size() - 1);
}

Tracer::Kind Tracer::kind(std::string_view name, std::span<const std::string_view> arguments) {
  const std::lock_guard lock(mutex_);
  const auto [found, is_new] = kinds_.try_emplace(
      Names{std::string(name), {arguments.begin(), arguments.end()}}, static_cast<Kind>(names_.size()));
  if (is_new) names_.push_back(&found->first);
  return found->second;
}

void Tracer::slice(std::uint32_t track, Kind kind, Clock::time_point begin, Clock::time_point end,
                   std::initializer_list<std::int64_t> values) {
  record(Phase::kSlice, track, kind, begin, end, {values.begin(), values.size()});
}

void Tracer::instant(std::uint32_t track, Kind kind, std::initializer_list<std::int64_t> values) {
  const Clock::time_point now = Clock::now();
  record(Phase::kInstant, track, kind, now, now, {values.begin(), values.size()});
}

void Tracer::slice(std::uint32_t track, std::string_view name, Clock::time_point begin, Clock::time_point end,
                   Arguments arguments) {
  record(Phase::kSlice, track, name, begin, end, arguments);
}

void Tracer::instant(std::uint32_t track, std::string_view name, Arguments arguments) {
  const Clock::time_point now = Clock::now();
  record(Phase::kInstant, track, name, now, now, arguments);
}

void Tracer::counter(std::string_view name, std::int64_t value) {
  const Clock::time_point now = Clock::now();
  record(Phase::kCounter, 0, name, now, now, {{"value", value}});
}

void Tracer::record(Phase phase, std::uint32_t track, std::string_view name, Clock::time_point begin,
                    Clock::time_point end, Arguments arguments) {
  std::vector<std::string_view> names;
  std::vector<std::int64_t> values;
  for (const auto& [key, value] : arguments) {
    names.push_back(key);
    values.push_back(value);
  }
  record(phase, track, kind(name, names), begin, end, values);
}

void Tracer::record(Phase phase, std::uint32_t track, Kind kind, Clock::time_point begin,
                    Clock::time_point end, std::span<const std::int64_t> values) {
  const std::size_t words = kFixedWords + values.size();
  Log& log = logs_[track % kLogs];
  const std::lock_guard lock(log.mutex);
  if (log.pieces.empty() || log.pieces.back().size - log.pieces.back().used < words) {
    const std::size_t size = std::max(kPieceWords, words);
    log.pieces.push_back({std::make_unique_for_overwrite<std::uint64_t[]>(size), size, 0});
  }
  Piece& piece = log.pieces.back();
  std::uint64_t* const to = piece.words.get() + piece.used;
  to[0] = pack(values.size(), static_cast<std::uint32_t>(phase));
  to[1] = pack(track, static_cast<std::uint32_t>(kind));
  to[2] = static_cast<std::uint64_t>(std::chrono::nanoseconds(begin - start_).count());
  to[3] = static_cast<std::uint64_t>(std::chrono::nanoseconds(end - begin).count());
  std::ranges::copy(values, to + kFixedWords);
  piece.used += words;
}

std::vector<Tracer::Event> Tracer::events() const {
  std::vector<Event> all;
  for (Log& log : logs_) {
    const std::lock_guard lock(log.mutex);
    for (const Piece& piece : log.pieces) {
      for (std::size_t at = 0; at < piece.used;) {
        const std::uint64_t* const from = piece.words.get() + at;
        const std::size_t values = high(from[0]);
        all.push_back({static_cast<Phase>(low(from[0])),
                       high(from[1]),
                       low(from[1]),
                       microseconds(from[2]),
                       microseconds(from[3]),
                       {from + kFixedWords, from + kFixedWords + values}});
        at += kFixedWords + values;
      }
    }
  }
  return all;
}

std::string Tracer::to_json() const {
  // Read the events before the names: every kind that they use then has its name.
  const std::vector<Event> all = events();
  const std::lock_guard lock(mutex_);
  std::string out = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
  const auto append = std::back_inserter(out);
  const char* separator = "\n";
  for (std::size_t i = 0; i < tracks_.size(); ++i) {
    fmt::format_to(
        append, "{}{{\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}}",
        separator, i, json_text(tracks_[i]));
    separator = ",\n";
  }
  // The JSON text of each kind, formatted once: for each event, of which there may be millions, only numbers are
  // formatted.
  std::vector<Names> texts;
  texts.reserve(names_.size());
  for (const Names* const names : names_) {
    Names& text = texts.emplace_back(json_text(names->name), names->arguments);
    std::ranges::transform(text.arguments, text.arguments.begin(), json_text);
  }
  std::map<std::int64_t, std::vector<const Event*>> flows;
  for (const Event& event : all) {
    const Names& names = *names_[event.kind];
    const Names& text = texts[event.kind];
    constexpr const char* kPhases[] = {"X", "i", "C"};
    fmt::format_to(append, "{}{{\"ph\":\"{}\",\"pid\":1,\"tid\":{},\"name\":{},\"ts\":{:.3f}", separator,
                   kPhases[static_cast<unsigned>(event.phase)], event.track, text.name, event.timestamp_us);
    if (event.phase == Phase::kSlice) fmt::format_to(append, ",\"dur\":{:.3f}", event.duration_us);
    if (event.phase == Phase::kInstant) out += ",\"s\":\"t\"";
    const std::size_t count = std::min(names.arguments.size(), event.values.size());
    for (std::size_t i = 0; i < count; ++i) {
      if (names.arguments[i] == kFlow) flows[event.values[i]].push_back(&event);
      fmt::format_to(append, "{}{}:{}", i == 0 ? ",\"args\":{" : ",", text.arguments[i], event.values[i]);
    }
    out += count == 0 ? "}" : "}}";
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
