// SPDX-License-Identifier: Apache-2.0
// The sizes that all parts of the collector share.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace dhpvm::gc {

// Objects are multiples of a granule long and start on one. One mark byte per granule costs an eighth of the heap;
// granules of 16 bytes would cost half of that, and round most objects up by 8 bytes (docs/decisions/0079).
constexpr std::size_t kGranule = 8;

// The unit of sweeping and of growth. 64 KiB lets a freshly zeroed block stay in the second-level cache.
constexpr std::size_t kBlockSize = 64 * 1024;
constexpr std::size_t kGranulesPerBlock = kBlockSize / kGranule;

// The unit in which memory goes back to the system.
constexpr std::size_t kPageSize = 4096;
constexpr std::size_t kPagesPerBlock = kBlockSize / kPageSize;

// Larger objects would fragment blocks too much: they live on their own in the large-object space.
constexpr std::size_t kLargeThreshold = 8 * 1024;

// Objects up to this size share blocks. Larger, "medium" ones have blocks of their size class: in a mixed block they
// would skip, and so waste, most holes, and a heap that never moves objects would grow without end.
constexpr std::size_t kMediumThreshold = 256;

// Class 0 holds small objects, class i medium ones of (128 << i, 256 << i] bytes.
constexpr unsigned kSizeClasses = 6;
constexpr unsigned size_class_of(std::size_t size) {
  return size <= kMediumThreshold ? 0 : static_cast<unsigned>(std::bit_width((size - 1) / kMediumThreshold));
}
static_assert(size_class_of(kMediumThreshold + 1) == 1 && size_class_of(kLargeThreshold) == kSizeClasses - 1);

// Bytes of reference-array elements that one card of a large array covers (128 slots).
constexpr std::size_t kCardSize = 1024;

constexpr std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace dhpvm::gc
