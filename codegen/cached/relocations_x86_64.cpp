// SPDX-License-Identifier: Apache-2.0
// The names and meanings are those of the System V ABI for x86-64, "Relocation Types".
#include <elf.h>

#include <array>
#include <cstring>
#include <limits>

#include "codegen/cached/relocations.h"

namespace dhpvm::codegen {
namespace {

// jmp *slot(%rip), padded
void write_stub(std::byte* stub, std::uint64_t place, std::uint64_t slot) {
  std::array<unsigned char, 8> code = {0xff, 0x25, 0, 0, 0, 0, 0xcc, 0xcc};
  const auto distance = static_cast<std::int32_t>(slot - (place + 6));
  std::memcpy(code.data() + 2, &distance, sizeof distance);
  std::memcpy(stub, code.data(), code.size());
}

std::size_t width(std::uint32_t type) {
  switch (type) {
    case R_X86_64_64:
    case R_X86_64_PC64: return 8;
    case R_X86_64_PC32:
    case R_X86_64_PLT32:
    case R_X86_64_GOTPCREL:
    case R_X86_64_GOTPCRELX:
    case R_X86_64_REX_GOTPCRELX: return 4;
    default: return 0;
  }
}

bool takes_slot(std::uint32_t type) {
  return type == R_X86_64_GOTPCREL || type == R_X86_64_GOTPCRELX || type == R_X86_64_REX_GOTPCRELX;
}

Fixed fix(std::byte* bytes, const Fixup& fixup) {
  const std::size_t size = width(fixup.type);
  if (size == 0) return Fixed::kUnknown;
  const auto reaches = [](std::uint64_t distance) {
    const auto to = static_cast<std::int64_t>(distance);
    return to >= std::numeric_limits<std::int32_t>::min() && to <= std::numeric_limits<std::int32_t>::max();
  };
  std::uint64_t value = fixup.symbol + fixup.addend;
  if (fixup.type != R_X86_64_64) {
    value -= fixup.place;
    if (takes_slot(fixup.type)) value = fixup.slot + fixup.addend - fixup.place;
    if (fixup.type == R_X86_64_PLT32 && fixup.stub != 0 && !reaches(value))
      value = fixup.stub + fixup.addend - fixup.place;
  }
  if (size == 4 && !reaches(value)) return Fixed::kTooFar;
  std::memcpy(bytes, &value, size);
  return Fixed::kDone;
}

constexpr Architecture kX86_64 = {
    .machine = EM_X86_64,
    .stub_bytes = 8,
    .write_stub = write_stub,
    .width = width,
    .takes_slot = takes_slot,
    .fix = fix,
};

}  // namespace

const Architecture& x86_64() { return kX86_64; }

}  // namespace dhpvm::codegen
