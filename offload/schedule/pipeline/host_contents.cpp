// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/pipeline/host_contents.h"

#include <algorithm>

namespace dhpvm::offload {
namespace {

// More arrivals than chunks in flight: some have arrived, and have only to be recorded.
constexpr std::size_t kManyArrivals = 128;

}  // namespace

void HostContents::set_present(const Interval& bytes) {
  cut_arrivals(bytes);
  present_.add(bytes);
}

void HostContents::set_absent(const Interval& bytes) {
  cut_arrivals(bytes);
  present_.remove(bytes);
}

void HostContents::set_arriving(const Interval& bytes, Timelines& from, const Positions& positions) {
  if (bytes.empty()) return;
  set_absent(bytes);
  // Other devices may be in use by other threads.
  if (arrivals_.size() >= kManyArrivals)
    settle_those([&](const Arrival& arrival) { return arrival.from == &from; });
  arrivals_.push_back({bytes, &from, positions});
}

void HostContents::settle() {
  settle_those([](const Arrival&) { return true; });
}

template <typename Which>
void HostContents::settle_those(Which&& which) {
  std::erase_if(arrivals_, [&](const Arrival& arrival) {
    if (!which(arrival)) return false;
    const Fate fate = arrival.from->fate_of(arrival.positions);
    if (fate == Fate::kDone) present_.add(arrival.bytes);
    return fate != Fate::kUnderWay;
  });
}

void HostContents::give_up(const Timelines& from) {
  const auto is_from = [&](const Arrival& arrival) { return arrival.from == &from; };
  settle_those(is_from);
  std::erase_if(arrivals_, is_from);
}

std::vector<Interval> HostContents::absent(const Interval& bytes) const {
  IntervalSet known = present_;
  for (const Arrival& arrival : arrivals_) known.add(arrival.bytes);
  return known.missing(bytes);
}

void HostContents::cut_arrivals(const Interval& bytes) {
  if (bytes.empty()) return;
  std::vector<Arrival> rests;
  std::erase_if(arrivals_, [&](const Arrival& arrival) {
    if (arrival.bytes.end <= bytes.begin || bytes.end <= arrival.bytes.begin) return false;
    const Interval before{arrival.bytes.begin, std::max(arrival.bytes.begin, bytes.begin)};
    const Interval behind{std::min(arrival.bytes.end, bytes.end), arrival.bytes.end};
    for (const Interval& rest : {before, behind}) {
      if (!rest.empty()) rests.push_back({rest, arrival.from, arrival.positions});
    }
    return true;
  });
  arrivals_.insert(arrivals_.end(), rests.begin(), rests.end());
}

}  // namespace dhpvm::offload
