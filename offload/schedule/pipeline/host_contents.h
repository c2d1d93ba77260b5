// SPDX-License-Identifier: Apache-2.0
// Which bytes of an array the host's memory has. Each byte is absent, arriving at a position of a device's
// timelines, or present. Only what is present may be read; what was arriving from a device that failed before
// is absent.
#pragma once

#include <cstdint>
#include <vector>

#include "offload/schedule/pipeline/interval_set.h"
#include "offload/schedule/pipeline/positions.h"

namespace dhpvm::offload {

class HostContents {
 public:
  // All `bytes` are present.
  explicit HostContents(const Interval& bytes) : present_(bytes) {}

  void set_present(const Interval& bytes);
  void set_absent(const Interval& bytes);
  // An operation that brings them has been submitted, and is done at `positions` of `from`.
  void set_arriving(const Interval& bytes, Timelines& from, const Positions& positions);

  // Notes the outcome of arrivals since. Everything below knows only what has been noted.
  void settle();
  // Contents that are still arriving from there never will.
  void give_up(const Timelines& from);

  bool is_present(const Interval& bytes) const { return present_.contains(bytes); }
  // The parts of `bytes` that are neither present nor arriving, ascending.
  std::vector<Interval> absent(const Interval& bytes) const;

 private:
  struct Arrival {
    Interval bytes;
    Timelines* from;
    Positions positions;
  };
  template <typename Which>
  void settle_those(Which&& which);
  void cut_arrivals(const Interval& bytes);

  IntervalSet present_;
  std::vector<Arrival> arrivals_;  // overlap neither each other nor what is present
};

}  // namespace dhpvm::offload
