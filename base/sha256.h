// SPDX-License-Identifier: Apache-2.0
// The hash SHA-256 (FIPS 180-4).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dhpvm {

class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  // The hash of all that was added; nothing may be added afterwards.
  std::array<std::uint8_t, 32> finish();

 private:
  std::array<std::uint32_t, 8> state_;
  std::array<unsigned char, 64> block_ = {};
  std::uint64_t size_ = 0;  // in bytes
};

}  // namespace dhpvm
