// SPDX-License-Identifier: Apache-2.0
// The names and meanings are those of "ELF for the Arm 64-bit Architecture", "Relocation types"; those of the fields
// are in the Arm Architecture Reference Manual, with each instruction.
#include <elf.h>

#include <array>
#include <cstring>

#include "codegen/cached/relocations.h"

namespace dhpvm::codegen {
namespace {

constexpr std::uint64_t page_of(std::uint64_t address) { return address & ~std::uint64_t{0xfff}; }
constexpr std::uint64_t in_page(std::uint64_t address) { return address & 0xfff; }

// Whether a signed number of so many bits can hold it.
constexpr bool fits(std::uint64_t value, unsigned bits) {
  const auto limit = std::int64_t{1} << (bits - 1);
  const auto number = static_cast<std::int64_t>(value);
  return number >= -limit && number < limit;
}

std::uint32_t load(const std::byte* bytes) {
  std::uint32_t instruction = 0;
  std::memcpy(&instruction, bytes, sizeof instruction);
  return instruction;
}

// Writes `value` into a field of the instruction.
void put(std::byte* bytes, std::uint64_t value, unsigned lowest_bit, unsigned bits) {
  const std::uint32_t mask = ((std::uint32_t{1} << bits) - 1) << lowest_bit;
  const std::uint32_t changed =
      (load(bytes) & ~mask) | ((static_cast<std::uint32_t>(value) << lowest_bit) & mask);
  std::memcpy(bytes, &changed, sizeof changed);
}

// ADRP: the distance between pages, in two fields.
Fixed put_page(std::byte* bytes, std::uint64_t place, std::uint64_t target) {
  const std::uint64_t distance = page_of(target) - page_of(place);
  if (!fits(distance, 33)) return Fixed::kTooFar;
  put(bytes, distance >> 12, 29, 2);
  put(bytes, distance >> 14, 5, 19);
  return Fixed::kDone;
}

// ADD, and loads and stores of 1 << `shift` bytes: the rest of the address, in units of that size.
Fixed put_rest(std::byte* bytes, std::uint64_t target, unsigned shift) {
  if ((target & ((std::uint64_t{1} << shift) - 1)) != 0) return Fixed::kMisaligned;
  put(bytes, in_page(target) >> shift, 10, 12);
  return Fixed::kDone;
}

// B and BL.
Fixed put_branch(std::byte* bytes, const Fixup& fixup) {
  std::uint64_t distance = fixup.symbol + fixup.addend - fixup.place;
  if (!fits(distance, 28) && fixup.stub != 0) distance = fixup.stub + fixup.addend - fixup.place;
  if ((distance & 3) != 0) return Fixed::kMisaligned;
  if (!fits(distance, 28)) return Fixed::kTooFar;
  put(bytes, distance >> 2, 0, 26);
  return Fixed::kDone;
}

// adrp x16, slot; ldr x16, [x16, slot]; br x16; brk 0. Calls may change x16: the procedure call standard gives it to
// linkers as a scratch register.
void write_stub(std::byte* stub, std::uint64_t place, std::uint64_t slot) {
  constexpr std::array<std::uint32_t, 4> kCode = {0x90000010, 0xf9400210, 0xd61f0200, 0xd4200000};
  std::memcpy(stub, kCode.data(), sizeof kCode);
  static_cast<void>(put_page(stub, place, slot));
  static_cast<void>(put_rest(stub + 4, slot, 3));
}

std::size_t width(std::uint32_t type) {
  switch (type) {
    case R_AARCH64_ABS64:
    case R_AARCH64_PREL64: return 8;
    case R_AARCH64_PREL32:
    case R_AARCH64_ADR_PREL_PG_HI21:
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC:
    case R_AARCH64_LDST16_ABS_LO12_NC:
    case R_AARCH64_LDST32_ABS_LO12_NC:
    case R_AARCH64_LDST64_ABS_LO12_NC:
    case R_AARCH64_LDST128_ABS_LO12_NC:
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26:
    case R_AARCH64_ADR_GOT_PAGE:
    case R_AARCH64_LD64_GOT_LO12_NC: return 4;
    default: return 0;
  }
}

bool takes_slot(std::uint32_t type) {
  return type == R_AARCH64_ADR_GOT_PAGE || type == R_AARCH64_LD64_GOT_LO12_NC;
}

Fixed fix(std::byte* bytes, const Fixup& fixup) {
  const std::uint64_t target = fixup.symbol + fixup.addend;
  const std::uint64_t distance = target - fixup.place;
  switch (fixup.type) {
    case R_AARCH64_ABS64: std::memcpy(bytes, &target, 8); return Fixed::kDone;
    case R_AARCH64_PREL64: std::memcpy(bytes, &distance, 8); return Fixed::kDone;
    case R_AARCH64_PREL32:
      if (!fits(distance, 32)) return Fixed::kTooFar;
      std::memcpy(bytes, &distance, 4);
      return Fixed::kDone;
    case R_AARCH64_ADR_PREL_PG_HI21: return put_page(bytes, fixup.place, target);
    case R_AARCH64_ADD_ABS_LO12_NC:
    case R_AARCH64_LDST8_ABS_LO12_NC: return put_rest(bytes, target, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC: return put_rest(bytes, target, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC: return put_rest(bytes, target, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC: return put_rest(bytes, target, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC: return put_rest(bytes, target, 4);
    case R_AARCH64_CALL26:
    case R_AARCH64_JUMP26: return put_branch(bytes, fixup);
    // Every symbol has its own slot.
    case R_AARCH64_ADR_GOT_PAGE:
      return fixup.addend != 0 ? Fixed::kUnknown : put_page(bytes, fixup.place, fixup.slot);
    case R_AARCH64_LD64_GOT_LO12_NC:
      return fixup.addend != 0 ? Fixed::kUnknown : put_rest(bytes, fixup.slot, 3);
    default: return Fixed::kUnknown;
  }
}

constexpr Architecture kAarch64 = {
    .machine = EM_AARCH64,
    .stub_bytes = 16,
    .write_stub = write_stub,
    .width = width,
    .takes_slot = takes_slot,
    .fix = fix,
};

}  // namespace

const Architecture& aarch64() { return kAarch64; }

}  // namespace dhpvm::codegen
