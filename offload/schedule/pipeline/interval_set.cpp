// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/interval_set.h"

#include <algorithm>

namespace dhpvm::offload {

Interval hull(const Interval& a, const Interval& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return {std::min(a.begin, b.begin), std::max(a.end, b.end)};
}

void IntervalSet::add(const Interval& interval) {
  if (interval.empty()) return;
  // Merge all intervals that the new one overlaps or touches.
  const auto first = std::ranges::lower_bound(intervals_, interval.begin, {}, &Interval::end);
  auto last = first;
  Interval joined = interval;
  for (; last != intervals_.end() && last->begin <= interval.end; ++last) joined = hull(joined, *last);
  intervals_.insert(intervals_.erase(first, last), joined);
}

void IntervalSet::remove(const Interval& interval) {
  if (interval.empty()) return;
  const auto first = std::ranges::upper_bound(intervals_, interval.begin, {}, &Interval::end);
  auto last = first;
  std::vector<Interval> left;
  for (; last != intervals_.end() && last->begin < interval.end; ++last) {
    if (last->begin < interval.begin) left.push_back({last->begin, interval.begin});
    if (last->end > interval.end) left.push_back({interval.end, last->end});
  }
  intervals_.insert(intervals_.erase(first, last), left.begin(), left.end());
}

bool IntervalSet::contains(const Interval& interval) const {
  return interval.empty() || missing(interval).empty();
}

std::vector<Interval> IntervalSet::missing(const Interval& interval) const {
  std::vector<Interval> result;
  std::uint64_t begin = interval.begin;
  for (const Interval& present : common(interval)) {
    if (begin < present.begin) result.push_back({begin, present.begin});
    begin = present.end;
  }
  if (begin < interval.end) result.push_back({begin, interval.end});
  return result;
}

std::vector<Interval> IntervalSet::common(const Interval& interval) const {
  std::vector<Interval> result;
  for (auto it = std::ranges::upper_bound(intervals_, interval.begin, {}, &Interval::end);
       it != intervals_.end() && it->begin < interval.end; ++it) {
    const Interval part{std::max(it->begin, interval.begin), std::min(it->end, interval.end)};
    if (!part.empty()) result.push_back(part);
  }
  return result;
}

}  // namespace dhpvm::offload
