// SPDX-License-Identifier: Apache-2.0
// Which bytes of an array the host's memory has. Each byte is absent, arriving at a position of a device's timelines,
// or present. Only present bytes may be read. Bytes that were arriving from a device that has failed are absent.
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
  // An operation that brings these bytes has been submitted; it is done at `positions` of `from`.
  void set_arriving(const Interval& bytes, Timelines& from, const Positions& positions);

  // Records the outcome of arrivals since the last call. The functions below know only recorded ones.
  void settle();
  // Contents that are still arriving from `from` never will.
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
