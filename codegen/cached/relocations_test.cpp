// SPDX-License-Identifier: Apache-2.0
// An assembler encodes the comments as the expected instructions.
#include "codegen/cached/relocations.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>

namespace dhpvm::codegen {
namespace {

constexpr std::uint64_t kPlace = 0x7f0012345678;
constexpr std::uint64_t kMiB = std::uint64_t{1} << 20, kGiB = std::uint64_t{1} << 30;

std::uint32_t fixed(const Architecture& architecture, std::uint32_t before, const Fixup& fixup) {
  EXPECT_EQ(architecture.width(fixup.type), sizeof before);
  EXPECT_EQ(architecture.fix(reinterpret_cast<std::byte*>(&before), fixup), Fixed::kDone);
  return before;
}

std::uint64_t fixed_wide(const Architecture& architecture, const Fixup& fixup) {
  std::uint64_t value = ~std::uint64_t{0};
  EXPECT_EQ(architecture.width(fixup.type), sizeof value);
  EXPECT_EQ(architecture.fix(reinterpret_cast<std::byte*>(&value), fixup), Fixed::kDone);
  return value;
}

// A refused relocation changes nothing.
Fixed refused(const Architecture& architecture, const Fixup& fixup) {
  std::uint64_t value = 0x5555555555555555;
  const Fixed result = architecture.fix(reinterpret_cast<std::byte*>(&value), fixup);
  EXPECT_EQ(value, 0x5555555555555555U);
  return result;
}

TEST(RelocationsOfX86_64, PutAddressesAndDistances) {
  const Architecture& x86 = x86_64();
  EXPECT_EQ(fixed_wide(x86, {.type = R_X86_64_64, .symbol = 0x123456789abc, .addend = 4}), 0x123456789ac0U);
  const Fixup wide = {.type = R_X86_64_PC64, .place = kPlace, .symbol = 0x1000, .addend = 1};
  EXPECT_EQ(fixed_wide(x86, wide), 0x1001 - kPlace);
  constexpr std::uint32_t kTypes[] = {R_X86_64_PC32, R_X86_64_PLT32};
  for (const std::uint32_t type : kTypes) {
    Fixup near = {.type = type, .place = kPlace, .symbol = kPlace + 0x1000, .addend = std::uint64_t(-4)};
    EXPECT_EQ(fixed(x86, 0, near), 0xffcU);
    near.symbol = kPlace - 0x1000;
    EXPECT_EQ(fixed(x86, 0, near), 0xffffeffcU);
    near.symbol = kPlace + 2 * kGiB + 3;
    EXPECT_EQ(fixed(x86, 0, near), 0x7fffffffU);
    ++near.symbol;
    EXPECT_EQ(refused(x86, near), Fixed::kTooFar);
  }
}

TEST(RelocationsOfX86_64, UseSlotsAndStubs) {
  const Architecture& x86 = x86_64();
  constexpr std::uint32_t kTypes[] = {R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX, R_X86_64_REX_GOTPCRELX};
  for (const std::uint32_t type : kTypes) {
    EXPECT_TRUE(x86.takes_slot(type));
    const Fixup fixup = {.type = type, .place = kPlace, .addend = std::uint64_t(-4), .slot = kPlace + 0x20};
    EXPECT_EQ(fixed(x86, 0, fixup), 0x1cU);
  }
  Fixup call = {.type = R_X86_64_PLT32,
                .place = kPlace,
                .symbol = kPlace + 3 * kGiB,
                .addend = std::uint64_t(-4),
                .stub = kPlace + 0x100};
  EXPECT_EQ(fixed(x86, 0, call), 0xfcU);
  call.symbol = kPlace + 0x10;
  EXPECT_EQ(fixed(x86, 0, call), 0xcU);
  std::array<unsigned char, 8> stub = {};
  ASSERT_EQ(x86.stub_bytes, stub.size());
  x86.write_stub(reinterpret_cast<std::byte*>(stub.data()), kPlace, kPlace + 0x1006);
  EXPECT_EQ(stub, (std::array<unsigned char, 8>{0xff, 0x25, 0, 0x10, 0, 0, 0xcc, 0xcc}));
}

TEST(RelocationsOfAarch64, PutAddressesAndDistances) {
  const Architecture& arm = aarch64();
  EXPECT_EQ(fixed_wide(arm, {.type = R_AARCH64_ABS64, .symbol = 0x123456789abc, .addend = 4}),
            0x123456789ac0U);
  const Fixup wide = {.type = R_AARCH64_PREL64, .place = kPlace, .symbol = 0x1000, .addend = 1};
  EXPECT_EQ(fixed_wide(arm, wide), 0x1001 - kPlace);
  Fixup near = {.type = R_AARCH64_PREL32, .place = kPlace, .symbol = kPlace - 0x1000, .addend = 8};
  EXPECT_EQ(fixed(arm, 0xabababab, near), 0xfffff008U);
  near.symbol = kPlace + 2 * kGiB - 9;
  EXPECT_EQ(fixed(arm, 0, near), 0x7fffffffU);
  ++near.symbol;
  EXPECT_EQ(refused(arm, near), Fixed::kTooFar);
}

TEST(RelocationsOfAarch64, PutPages) {
  const Architecture& arm = aarch64();
  Fixup page = {.type = R_AARCH64_ADR_PREL_PG_HI21, .place = kPlace, .symbol = kPlace + 0x12345000};
  EXPECT_EQ(fixed(arm, 0x90000000, page), 0xb0091a20U);  // adrp x0, .+0x12345000
  page.symbol = (kPlace & ~std::uint64_t{0xfff}) - 1;
  EXPECT_EQ(fixed(arm, 0x90000003, page), 0xf0ffffe3U);  // adrp x3, .-0x1000
  EXPECT_EQ(fixed(arm, 0xf0ffffe3, page), 0xf0ffffe3U);  // whatever was there
  page.symbol = (kPlace & ~std::uint64_t{0xfff}) + 4 * kGiB - 1;
  EXPECT_EQ(fixed(arm, 0x90000001, page), 0xf07fffe1U);  // adrp x1, .+0xfffff000
  ++page.symbol;
  EXPECT_EQ(refused(arm, page), Fixed::kTooFar);
  page.symbol = (kPlace & ~std::uint64_t{0xfff}) - 4 * kGiB;
  EXPECT_EQ(fixed(arm, 0x90000002, page), 0x90800002U);  // adrp x2, .-0x100000000
  --page.symbol;
  EXPECT_EQ(refused(arm, page), Fixed::kTooFar);
}

TEST(RelocationsOfAarch64, PutPlacesInPages) {
  struct Case {
    std::uint32_t type, before, after, low;
  };
  const Case cases[] = {
      {R_AARCH64_ADD_ABS_LO12_NC, 0x91000000, 0x912af000, 0xabc},      // add x0, x0, #0xabc
      {R_AARCH64_LDST8_ABS_LO12_NC, 0x39400001, 0x396af401, 0xabd},    // ldrb w1, [x0, #0xabd]
      {R_AARCH64_LDST16_ABS_LO12_NC, 0x79400001, 0x79557801, 0xabc},   // ldrh w1, [x0, #0xabc]
      {R_AARCH64_LDST32_ABS_LO12_NC, 0xb9400001, 0xb94abc01, 0xabc},   // ldr w1, [x0, #0xabc]
      {R_AARCH64_LDST64_ABS_LO12_NC, 0xf9400001, 0xf9455c01, 0xab8},   // ldr x1, [x0, #0xab8]
      {R_AARCH64_LDST64_ABS_LO12_NC, 0xfd0000a2, 0xfd0004a2, 0x8},     // str d2, [x5, #8]
      {R_AARCH64_LDST128_ABS_LO12_NC, 0x3dc00001, 0x3dc2ac01, 0xab0},  // ldr q1, [x0, #0xab0]
  };
  for (const Case& c : cases) {
    const Fixup fixup = {.type = c.type, .place = kPlace, .symbol = 0x7f9999999000, .addend = c.low};
    EXPECT_EQ(fixed(aarch64(), c.before, fixup), c.after) << c.type;
  }
  constexpr std::uint32_t kTypes[] = {R_AARCH64_LDST16_ABS_LO12_NC, R_AARCH64_LDST32_ABS_LO12_NC,
                                      R_AARCH64_LDST64_ABS_LO12_NC, R_AARCH64_LDST128_ABS_LO12_NC};
  for (const std::uint32_t type : kTypes)
    EXPECT_EQ(refused(aarch64(), {.type = type, .symbol = 0x1001}), Fixed::kMisaligned) << type;
}

TEST(RelocationsOfAarch64, ReachFunctionsFarAwayThroughStubs) {
  const Architecture& arm = aarch64();
  Fixup call = {.type = R_AARCH64_CALL26, .place = kPlace, .symbol = kPlace + 0x1234};
  EXPECT_EQ(fixed(arm, 0x94000000, call), 0x9400048dU);  // bl .+0x1234
  call.symbol = kPlace - 4;
  EXPECT_EQ(fixed(arm, 0x94000000, call), 0x97ffffffU);  // bl .-4
  call.type = R_AARCH64_JUMP26;
  call.symbol = kPlace + 128 * kMiB - 4;
  EXPECT_EQ(fixed(arm, 0x14000000, call), 0x15ffffffU);  // b .+0x7fffffc
  call.symbol = kPlace + 128 * kMiB;
  EXPECT_EQ(refused(arm, call), Fixed::kTooFar);
  call.stub = kPlace + 0x1234;
  EXPECT_EQ(fixed(arm, 0x14000000, call), 0x1400048dU);  // b .+0x1234
  call.symbol = kPlace - 128 * kMiB;
  EXPECT_EQ(fixed(arm, 0x14000000, call), 0x16000000U);  // b .-0x8000000
  call.symbol += 2;
  EXPECT_EQ(refused(arm, call), Fixed::kMisaligned);

  std::array<std::uint32_t, 4> stub = {};
  ASSERT_EQ(arm.stub_bytes, sizeof stub);
  arm.write_stub(reinterpret_cast<std::byte*>(stub.data()), 0x10000, 0x15678);
  // adrp x16, .+0x5000; ldr x16, [x16, #0x678]; br x16; brk #0
  EXPECT_EQ(stub, (std::array<std::uint32_t, 4>{0xb0000030, 0xf9433e10, 0xd61f0200, 0xd4200000}));
}

TEST(RelocationsOfAarch64, ReadSlots) {
  const Architecture& arm = aarch64();
  Fixup slot = {.type = R_AARCH64_ADR_GOT_PAGE, .place = kPlace, .slot = kPlace + 0x12345000};
  EXPECT_TRUE(arm.takes_slot(slot.type));
  EXPECT_EQ(fixed(arm, 0x90000000, slot), 0xb0091a20U);
  slot.addend = 8;
  EXPECT_EQ(refused(arm, slot), Fixed::kUnknown);
  slot = {.type = R_AARCH64_LD64_GOT_LO12_NC, .slot = 0x7f9999999ab8};
  EXPECT_TRUE(arm.takes_slot(slot.type));
  EXPECT_EQ(fixed(arm, 0xf9400001, slot), 0xf9455c01U);
}

// Kinds that other compilers emit, and a number that means nothing.
TEST(Relocations, OfOtherKindsAreRefused) {
  constexpr std::uint32_t kOfX86[] = {R_X86_64_NONE, R_X86_64_32, R_X86_64_32S, R_X86_64_TPOFF32, 0xffffffff};
  for (const std::uint32_t type : kOfX86) {
    EXPECT_EQ(x86_64().width(type), 0U) << type;
    EXPECT_EQ(refused(x86_64(), {.type = type}), Fixed::kUnknown) << type;
  }
  constexpr std::uint32_t kOfArm[] = {R_AARCH64_NONE, R_AARCH64_MOVW_UABS_G0, R_AARCH64_TLSDESC_CALL,
                                      0xffffffff};
  for (const std::uint32_t type : kOfArm) {
    EXPECT_EQ(aarch64().width(type), 0U) << type;
    EXPECT_EQ(refused(aarch64(), {.type = type}), Fixed::kUnknown) << type;
  }
}

}  // namespace
}  // namespace dhpvm::codegen
