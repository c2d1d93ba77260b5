// SPDX-License-Identifier: Apache-2.0
// Trace events for `--trace=out.json`: the Chrome trace-event format, readable by Perfetto.
//
// A Tracer is handed down by pointer; null means "off" and costs one test. Events are collected in memory as
// a few numbers each, and become text once, at the end, so that tracing neither blocks nor reorders what it
// watches.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "dhpvm/result.h"

namespace dhpvm {

// Thread-safe.
class Tracer {
 public:
  using Clock = std::chrono::steady_clock;
  // Shown under an event when it is selected. Events with the same value of `flow` are joined by arrows, from
  // the earliest to the latest.
  using Arguments = std::initializer_list<std::pair<std::string_view, std::int64_t>>;
  // The part that many events share: their name, and the names of their arguments.
  enum class Kind : std::uint32_t {};

  Tracer() : start_(Clock::now()) {}

  // A row of the picture, such as "interpreter", "gc", "cuda:0 upload". Returns its id.
  std::uint32_t add_track(std::string name);
  // The same names give the same kind.
  Kind kind(std::string_view name, std::span<const std::string_view> arguments = {});

  // A slice on `track` from `begin` to `end`, with the values of the kind's arguments.
  void slice(std::uint32_t track, Kind kind, Clock::time_point begin, Clock::time_point end,
             std::initializer_list<std::int64_t> values = {});
  // An event without duration, now.
  void instant(std::uint32_t track, Kind kind, std::initializer_list<std::int64_t> values = {});
  // The same for events that are rare enough to pass their names each time.
  void slice(std::uint32_t track, std::string_view name, Clock::time_point begin, Clock::time_point end,
             Arguments arguments = {});
  void instant(std::uint32_t track, std::string_view name, Arguments arguments = {});
  // The value of a counter now, drawn as a graph.
  void counter(std::string_view name, std::int64_t value);

  // All events so far, as one JSON document.
  std::string to_json() const;

 private:
  enum class Phase : std::uint8_t { kSlice, kInstant, kCounter };
  // Memory for events: a few words for each, with their values. Pieces never move and are never cleared: either would
  // touch the memory twice.
  struct Piece {
    std::unique_ptr<std::uint64_t[]> words;
    std::size_t size;
    std::size_t used;
  };
  struct alignas(64) Log {
    std::mutex mutex;
    std::vector<Piece> pieces;
  };
  struct Names {
    std::string name;
    std::vector<std::string> arguments;
    bool operator<(const Names& other) const {
      return std::tie(name, arguments) < std::tie(other.name, other.arguments);
    }
  };
  struct Event {
    Phase phase;
    std::uint32_t track;
    std::uint32_t kind;
    double timestamp_us;
    double duration_us;
    std::vector<std::int64_t> values;
  };

  void record(Phase phase, std::uint32_t track, Kind kind, Clock::time_point begin, Clock::time_point end,
              std::span<const std::int64_t> values);
  void record(Phase phase, std::uint32_t track, std::string_view name, Clock::time_point begin,
              Clock::time_point end, Arguments arguments);
  // The events of a track, in the order in which they were added.
  std::vector<Event> events() const;

  // The tracks share this many logs. A log is mostly used by one thread, so that threads seldom wait for each other.
  static constexpr std::size_t kLogs = 16;

  const Clock::time_point start_;
  mutable std::mutex mutex_;  // for tracks and kinds
  std::vector<std::string> tracks_;
  std::map<Names, Kind> kinds_;
  std::vector<const Names*> names_;  // by kind
  mutable std::array<Log, kLogs> logs_;
};

}  // namespace dhpvm
