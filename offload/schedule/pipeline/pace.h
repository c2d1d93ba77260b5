// SPDX-License-Identifier: Apache-2.0
// Limits the part of a loop that a device gets at a time. Most devices cannot interrupt a kernel, and deferred loops
// must not be interrupted in the middle of a chunk, so a request to stop a program waits for the launches in flight.
// These are kept short, by the measured times of the loop's launches.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "offload/loops/loop.h"

namespace dhpvm::offload {

// Used by one thread, except record().
class Pace {
 public:
  // `units`: the iterations that the device does in the time of one.
  explicit Pace(std::uint32_t units) : units_(units) {}

  // The most iterations that the next launch of `loop` should have: `units` at first, and more once their time is
  // known. At least 1.
  std::uint64_t most_iterations(const Loop& loop);
  // The expected time of a launch, in seconds; if it is not known, that of everything that may be in flight.
  double expected_seconds(const Loop& loop) const;

  // A chunk of `loop` was launched.
  void launched(const Loop& loop) { ++loops_[loop.label].launched; }
  // A launch is in flight until this position of the launch queue, for so many seconds.
  void add_under_way(std::uint64_t position, double seconds);
  // The position that has to be reached before the next launch; nothing if there is room for it now. `done`: the
  // position that has been reached.
  std::optional<std::uint64_t> wait_before_next(std::uint64_t done);

  // A launch was measured. May be called from any thread, with launches of a label in order.
  void record(std::uint64_t label, std::uint64_t iterations, double seconds);

 private:
  // The launches of a loop whose iterations should take equally long.
  struct Rate {
    std::uint64_t recorded = 0;
    std::uint64_t ignored = 0;  // the first measurements, which are of executions with other arguments
    double iterations = 0;      // of the launch that says most about the rate; 0: none has been measured
    double seconds = 0;
  };
  struct Known {
    std::uint64_t launched = 0;
    std::vector<std::uint64_t> arguments;  // of the last execution: scalars and sizes of arrays
    std::uint64_t trial = 0;               // iterations of the first launch with these arguments
  };
  void start_again(std::uint64_t label, Known& known, double growth);

  const std::uint64_t units_;
  std::map<std::uint64_t, Known> loops_;  // by label
  struct UnderWay {
    std::uint64_t position;
    double seconds;
  };
  std::deque<UnderWay> under_way_;
  double under_way_seconds_ = 0;
  mutable std::mutex mutex_;  // guards rates_
  std::map<std::uint64_t, Rate> rates_;
};

}  // namespace dhpvm::offload
