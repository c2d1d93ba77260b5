// SPDX-License-Identifier: Apache-2.0
#include "gc/heap_limits.h"

#include <algorithm>

namespace dhpvm::gc {

// When the next full collection is due: as soon as what minor collections keep alive, much of which may be
// dead by now, and a nursery exceed the live threshold; or when the heap needs a block and its footprint,
// holes and all, would exceed the footprint threshold. The nursery never dominates the footprint: it may have a quarter
// of the live bytes, and less where half of the heap is holes, so that both stay within twice the live bytes.
void HeapLimits::set(HeapSize size) {
  live_after_full_ = size.live;
  const std::size_t holes = size.footprint - std::min(size.footprint, live_after_full_);
  nursery_room_ = std::clamp((live_after_full_ - std::min(holes, live_after_full_)) / 2, live_after_full_ / 8,
                             live_after_full_ / 4);
  limit_ = std::max(options_.limit_bytes, std::min(limit_, limit_for_holes(size)));
  live_threshold_ = live_after_full_ + growth_.bytes(live_after_full_);
  footprint_threshold_ = live_threshold_;
  if (limit_ != 0) footprint_threshold_ = std::min(footprint_threshold_, limit_);
  allow_more(size);
}

void HeapLimits::collected(std::size_t live_before, Growth::Clock::time_point begin,
                           Growth::Clock::time_point end) {
  growth_.collected(grown(live_before), begin, end);
}

void HeapLimits::raise(HeapSize size) {
  if (options_.limit_bytes == 0) return set(size);
  const std::size_t most = options_.fragmented_limit_bytes != 0
                               ? options_.fragmented_limit_bytes
                               : options_.limit_bytes * 2 + options_.limit_bytes / 4;
  limit_ = std::max(options_.limit_bytes, std::min(limit_for_holes(size), most));
  set(size);
}

// A fragmented heap may occupy more than the threshold after a full collection. It must be able to grow a little all
// the same; otherwise it would collect for every block.
void HeapLimits::allow_more(HeapSize size) {
  footprint_threshold_ =
      std::max(footprint_threshold_, size.footprint + std::max(size.nursery, live_after_full_ / 8));
  if (limit_ != 0) footprint_threshold_ = std::min(footprint_threshold_, limit_);
}

// While a minor collection runs in parts, allocations of the program do not count here: otherwise the part in which the
// heap becomes too large would have to be the last one, however much is left to mark.
bool HeapLimits::may_grow(HeapSize size, std::size_t bytes, bool is_marking) const {
  std::size_t threshold = footprint_threshold_ + (is_marking ? size.nursery : 0);
  if (limit_ != 0) threshold = std::min(threshold, limit_);
  return size.footprint + bytes <= threshold;
}

// With this limit, holes are at most half of a full heap.
std::size_t HeapLimits::limit_for_holes(HeapSize size) const {
  return 2 * (size.footprint - size.live) + options_.limit_bytes / 64;
}

}  // namespace dhpvm::gc
