// SPDX-License-Identifier: Apache-2.0
// The decisions behind a random program, for tests and fuzzers. They are taken from the given bytes while these last,
// then from a generator (splitmix64) seeded with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

namespace dhpvm {

class Decisions {
 public:
  explicit Decisions(std::span<const std::byte> bytes);
  explicit Decisions(std::uint64_t seed) : state_(seed) {}

  std::uint32_t below(std::uint32_t bound);  // 0 to bound - 1; bound is at least 1
  bool one_in(std::uint32_t n) { return below(n) == 0; }
  std::uint64_t bits();
  template <typename T>
  const T& pick(const std::vector<T>& from) {
    return from[below(static_cast<std::uint32_t>(from.size()))];
  }
  template <typename T>
  T pick(std::initializer_list<T> from) {
    return from.begin()[below(static_cast<std::uint32_t>(from.size()))];
  }

 private:
  std::span<const std::byte> bytes_;
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

}  // namespace dhpvm
