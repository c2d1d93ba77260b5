// SPDX-License-Identifier: Apache-2.0
// Pauses by duration: 16 buckets per power of two, so a percentile is off by at most 6 %.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace dhpvm::gc {

class PauseHistogram {
 public:
  void add(std::uint64_t nanoseconds);

  std::uint64_t count() const { return count_; }
  std::uint64_t total_ns() const { return total_ns_; }
  std::uint64_t max_ns() const { return max_ns_; }
  // The duration that `fraction` (0 to 1) of the pauses do not exceed; 0 without pauses.
  // Never above max_ns().
  std::uint64_t percentile_ns(double fraction) const;

 private:
  static constexpr unsigned kSubBuckets = 16;
  static constexpr unsigned kBuckets = kSubBuckets * 40;  // up to 2^43 ns, over two hours
  static std::size_t bucket_of(std::uint64_t nanoseconds);
  static std::uint64_t upper_bound(std::size_t bucket);

  std::array<std::uint32_t, kBuckets> buckets_{};
  std::uint64_t count_ = 0;
  std::uint64_t total_ns_ = 0;
  std::uint64_t max_ns_ = 0;
};

}  // namespace dhpvm::gc
