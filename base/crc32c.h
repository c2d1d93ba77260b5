// SPDX-License-Identifier: Apache-2.0
// CRC-32C (Castagnoli), the checksum of module sections and of frames on the wire.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace dhpvm {

// The CRC-32C of `bytes`, continuing from `crc` (0 for a fresh start). Polynomial 0x1EDC6F41, reflected,
// as in RFC 3720 section B.4. Uses the SSE 4.2 instruction where the processor has it.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);

}  // namespace dhpvm
