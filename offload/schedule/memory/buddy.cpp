// SPDX-License-Identifier: Apache-2.0
#include "offload/schedule/memory/buddy.h"

#include <algorithm>

namespace dhpvm::offload {

void Buddy::insert(std::size_t block, unsigned order) {
  const std::size_t bit = bit_of(block, order);
  bits_[bit / 64] |= std::uint64_t{1} << bit % 64;
  ++counts_[order];
  free_orders_ |= 1u << order;
  free_units_ += std::size_t{1} << order;
}

void Buddy::remove(std::size_t block, unsigned order) {
  const std::size_t bit = bit_of(block, order);
  bits_[bit / 64] &= ~(std::uint64_t{1} << bit % 64);
  if (--counts_[order] == 0) free_orders_ &= ~(1u << order);
  free_units_ -= std::size_t{1} << order;
}

// The lowest free block of this order; there must be one. Taking the lowest gathers free space at the high end.
std::size_t Buddy::first_free(unsigned order) const {
  const std::size_t begin = bit_of(0, order);
  std::size_t word = begin / 64;
  std::uint64_t bits = bits_[word] & (~std::uint64_t{0} << begin % 64);
  while (bits == 0) bits = bits_[++word];
  return word * 64 + static_cast<std::size_t>(std::countr_zero(bits)) - begin;
}

std::optional<std::size_t> Buddy::take(std::size_t count) {
  const unsigned order = order_of(count);
  const std::uint32_t candidates = free_orders_ >> order << order;
  if (candidates == 0) return std::nullopt;
  const auto found = static_cast<unsigned>(std::countr_zero(candidates));
  const std::size_t block = first_free(found);
  remove(block, found);
  const std::size_t first = block << found;
  const std::size_t rest = (std::size_t{1} << found) - count;
  if (rest != 0) give(first + count, rest);
  return first;
}

// Returns the range as the largest aligned blocks that it consists of.
void Buddy::give(std::size_t first, std::size_t count) {
  while (count != 0) {
    const auto alignment = first == 0 ? kOrders - 1 : static_cast<unsigned>(std::countr_zero(first));
    const unsigned order = std::min(alignment, static_cast<unsigned>(std::bit_width(count)) - 1);
    give_block(first >> order, order);
    first += std::size_t{1} << order;
    count -= std::size_t{1} << order;
  }
}

void Buddy::give_block(std::size_t block, unsigned order) {
  while (order < kOrders - 1 && is_free(block ^ 1, order)) {
    remove(block ^ 1, order);
    block >>= 1;
    ++order;
  }
  insert(block, order);
}

}  // namespace dhpvm::offload
