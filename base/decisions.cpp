// SPDX-License-Identifier: Apache-2.0
#include "base/decisions.h"

namespace dhpvm {

Decisions::Decisions(std::span<const std::byte> bytes) : bytes_(bytes) {
  for (const std::byte byte : bytes) state_ = (state_ ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
}

std::uint32_t Decisions::below(std::uint32_t bound) {
  if (bytes_.empty() || bound > 256) return static_cast<std::uint32_t>(bits() % bound);
  const auto byte = static_cast<std::uint32_t>(bytes_.front());
  bytes_ = bytes_.subspan(1);
  return byte % bound;
}

std::uint64_t Decisions::bits() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace dhpvm
