// SPDX-License-Identifier: Apache-2.0
#include "offload/ptx/meter.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <span>

namespace dhpvm::ptx {
namespace {

// The unit in which a GPU's caches access memory, since compute capability 3.
constexpr std::uint64_t kSector = 32;
// Shared memory gives a word of each bank at a time; word n lies in bank n mod 32.
constexpr std::uint64_t kWord = 4;
constexpr std::uint64_t kBanks = 32;

std::uint64_t quotient_up(std::uint64_t value, std::uint64_t divisor) {
  return (value + divisor - 1) / divisor;
}

// Calls `visit` with the number of each different unit of `size` bytes that the sorted accesses touch.
template <typename Visit>
void each_unit(auto accesses, std::uint64_t size, Visit visit) {
  std::uint64_t next = 0;
  for (const auto& access : accesses) {
    for (std::uint64_t unit = std::max(access.address / size, next); unit * size < access.end; ++unit) {
      visit(unit);
      next = unit + 1;
    }
  }
}

}  // namespace

std::string text_of(const Counts& counts) {
  return fmt::format(
      "{} of {} threads work, {} of {} lanes are active; global memory: {} transactions, {} needed; shared "
      "memory: {} passes, {} needed",
      counts.working, counts.launched, counts.active, counts.issued, counts.transactions,
      counts.fewest_transactions, counts.passes, counts.fewest_passes);
}

Meter::Meter(const Extent& block) : threads_(block.count()), worked_(quotient_up(block.count(), kWarpSize)) {}

void Meter::add(Space space, std::uint32_t thread, std::uint64_t address, std::size_t bytes) {
  if (space == Space::kGlobal) worked_[thread / kWarpSize] |= LaneMask{1} << thread % kWarpSize;
  space_ = space;
  accesses_[pending_++] = {address, address + bytes};
}

void Meter::end_operation(unsigned active) {
  counts_.issued += kWarpSize;
  counts_.active += active;
  if (pending_ == 0) return;
  std::sort(accesses_.begin(), accesses_.begin() + pending_);
  if (space_ == Space::kShared) {
    count_passes();
  } else {
    count_transactions();
  }
  pending_ = 0;
}

void Meter::count_transactions() {
  const std::span accesses(accesses_.data(), pending_);
  std::uint64_t bytes = 0;
  each_unit(accesses, kSector, [&](std::uint64_t /*sector*/) { ++counts_.transactions; });
  each_unit(accesses, 1, [&](std::uint64_t /*byte*/) { ++bytes; });
  counts_.fewest_transactions += quotient_up(bytes, kSector);
}

void Meter::count_passes() {
  std::array<std::uint64_t, kBanks> of_bank{};
  std::uint64_t words = 0;
  each_unit(std::span(accesses_.data(), pending_), kWord, [&](std::uint64_t word) {
    ++of_bank[word % kBanks];
    ++words;
  });
  counts_.passes += std::ranges::max(of_bank);
  counts_.fewest_passes += quotient_up(words, kBanks);
}

void Meter::end_block() {
  counts_.launched += threads_;
  for (LaneMask& warp : worked_) {
    counts_.working += static_cast<unsigned>(std::popcount(warp));
    warp = 0;
  }
}

}  // namespace dhpvm::ptx
