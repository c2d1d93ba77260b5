// SPDX-License-Identifier: Apache-2.0
#include "gc/pause_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace dhpvm::gc {

// Values below 16 have a bucket each; above, the top five bits of the value select the bucket.
std::size_t PauseHistogram::bucket_of(std::uint64_t nanoseconds) {
  if (nanoseconds < kSubBuckets) return nanoseconds;
  const unsigned exponent = static_cast<unsigned>(std::bit_width(nanoseconds)) - 5;
  const std::size_t bucket = exponent * kSubBuckets + (nanoseconds >> exponent);
  return std::min<std::size_t>(bucket, kBuckets - 1);
}

std::uint64_t PauseHistogram::upper_bound(std::size_t bucket) {
  if (bucket < kSubBuckets * 2) return bucket;
  const std::size_t exponent = bucket / kSubBuckets - 1;
  return ((bucket % kSubBuckets + kSubBuckets + 1) << exponent) - 1;
}

void PauseHistogram::add(std::uint64_t nanoseconds) {
  ++buckets_[bucket_of(nanoseconds)];
  ++count_;
  total_ns_ += nanoseconds;
  max_ns_ = std::max(max_ns_, nanoseconds);
}

std::uint64_t PauseHistogram::percentile_ns(double fraction) const {
  if (count_ == 0) return 0;
  const auto rank = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen >= std::max<std::uint64_t>(rank, 1)) return std::min(upper_bound(bucket), max_ns_);
  }
  return max_ns_;
}

}  // namespace dhpvm::gc
