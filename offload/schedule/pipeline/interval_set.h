// SPDX-License-Identifier: Apache-2.0
// Sets of bytes or elements of an array, as intervals: which parts of a copy are current.
#pragma once

#include <cstdint>
#include <vector>

namespace dhpvm::offload {

// Half open; empty if end <= begin.
struct Interval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool empty() const { return end <= begin; }
  std::uint64_t size() const { return empty() ? 0 : end - begin; }
  bool operator==(const Interval&) const = default;
};

// The smallest interval that holds both.
Interval hull(const Interval& a, const Interval& b);

// Expects few intervals, as in arrays that are worked on from front to back.
class IntervalSet {
 public:
  IntervalSet() = default;
  explicit IntervalSet(const Interval& whole) { add(whole); }

  void add(const Interval& interval);
  void remove(const Interval& interval);
  void clear() { intervals_.clear(); }
  bool contains(const Interval& interval) const;
  // The parts of `interval` that are not in the set, ascending.
  std::vector<Interval> missing(const Interval& interval) const;
  // The parts of `interval` that are in the set, ascending.
  std::vector<Interval> common(const Interval& interval) const;
  bool empty() const { return intervals_.empty(); }
  const std::vector<Interval>& intervals() const { return intervals_; }

 private:
  std::vector<Interval> intervals_;  // ascending, neither empty nor touching each other
};

}  // namespace dhpvm::offload
