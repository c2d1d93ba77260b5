// SPDX-License-Identifier: Apache-2.0
// Which units of a chunk are free: a buddy allocator whose bookkeeping lies outside the memory it manages.
//
// Free units are never written: a device that still writes to memory that it should have released may corrupt data, but
// never the allocator.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace dhpvm::offload {

class Buddy {
 public:
  static constexpr unsigned kOrders = 11;
  static constexpr std::size_t kUnits = std::size_t{1} << (kOrders - 1);

  Buddy() { insert(0, kOrders - 1); }

  // The first of `count` contiguous units (1 to kUnits), aligned to the next power of two. The units between `count`
  // and the power of two stay free.
  std::optional<std::size_t> take(std::size_t count);
  // Gives back what take(count) returned.
  void give(std::size_t first, std::size_t count);

  // Whether take(count) would succeed, from one word: bit i is set if a block of 2^i units is free.
  std::uint32_t free_orders() const { return free_orders_; }
  static unsigned order_of(std::size_t count) { return static_cast<unsigned>(std::bit_width(count - 1)); }
  std::size_t free_units() const { return free_units_; }

 private:
  // Block i of order o covers units [i << o, (i + 1) << o). Its bit lies at kUnits * 2 - (kUnits * 2 >>
  // o) + i.
  static constexpr std::size_t bit_of(std::size_t block, unsigned order) {
    return 2 * kUnits - (2 * kUnits >> order) + block;
  }
  bool is_free(std::size_t block, unsigned order) const {
    const std::size_t bit = bit_of(block, order);
    return (bits_[bit / 64] >> bit % 64 & 1) != 0;
  }
  void insert(std::size_t block, unsigned order);
  void remove(std::size_t block, unsigned order);
  std::size_t first_free(unsigned order) const;
  void give_block(std::size_t block, unsigned order);

  std::array<std::uint64_t, 2 * kUnits / 64> bits_{};
  std::array<std::uint16_t, kOrders> counts_{};
  std::uint32_t free_orders_ = 0;
  std::size_t free_units_ = 0;
};

}  // namespace dhpvm::offload
