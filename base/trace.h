// SPDX-License-Identifier: Apache-2.0
// Trace events for `--trace=out.json`: the Chrome trace-event format, readable by Perfetto.
//
// A Tracer is handed down by pointer; null means "off" and costs one test. Events are collected in memory
// and written once at the end, so that tracing neither blocks nor reorders what it watches.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dhpvm/result.h"

namespace dhpvm {

// Thread-safe.
class Tracer {
 public:
  using Clock = std::chrono::steady_clock;
  // Shown under an event when it is selected.
  using Arguments = std::vector<std::pair<std::string, std::int64_t>>;

  Tracer() : start_(Clock::now()) {}

  // A row of the picture, such as "interpreter", "gc", "cuda:0 upload". Returns its id.
  std::uint32_t add_track(std::string name);

  // A slice on `track` from `begin` to `end`.
  void slice(std::uint32_t track, std::string_view name, Clock::time_point begin, Clock::time_point end,
             Arguments arguments = {});
  // A point in time.
  void instant(std::uint32_t track, std::string_view name, Arguments arguments = {});
  // The value of a counter now, drawn as a graph.
  void counter(std::string_view name, std::int64_t value);

  // All events so far, as one JSON document.
  std::string to_json() const;

 private:
  struct Event {
    char phase;
    std::uint32_t track;
    std::string name;
    double timestamp_us;
    double duration_us;
    Arguments arguments;
  };
  double microseconds(Clock::time_point t) const {
    return std::chrono::duration<double, std::micro>(t - start_).count();
  }

  const Clock::time_point start_;
  mutable std::mutex mutex_;
  std::vector<std::string> tracks_;
  std::vector<Event> events_;
};

}  // namespace dhpvm
