// SPDX-License-Identifier: Apache-2.0
#include "bytecode/decode.h"

#include "bytecode/isa_table.h"

namespace dhpvm::bytecode {
namespace {

constexpr std::uint16_t bit_of(Kind kind) {
  return static_cast<std::uint16_t>(1u << static_cast<unsigned>(kind));
}

// The element kinds that an access of `kind` accepts: those of its width and bank. A load of less than 32 bits extends
// and needs the same signedness; `any_number` lets updates that replace an element's bits take floats as integers.
constexpr std::uint16_t kinds_of(Kind kind, bool extends, bool any_number) {
  std::uint16_t set = 0;
  for (unsigned i = 0; i <= static_cast<unsigned>(Kind::kRef); ++i) {
    const Kind other = static_cast<Kind>(i);
    const bool same_bank =
        (any_number || is_float(kind) == is_float(other)) && (kind == Kind::kRef) == (other == Kind::kRef);
    const bool same_sign = !extends || size_of(kind) >= 4 || is_signed(kind) == is_signed(other);
    if (same_bank && same_sign && size_of(kind) == size_of(other))
      set = static_cast<std::uint16_t>(set | bit_of(other));
  }
  return set;
}

constexpr bool accesses_memory(Memory memory) {
  switch (memory) {
    case Memory::kReadsElement:
    case Memory::kWritesElement:
    case Memory::kUpdatesElement:
    case Memory::kReadsLocal:
    case Memory::kWritesLocal:
    case Memory::kReadsObject:
    case Memory::kWritesObject: return true;
    default: return false;
  }
}

constexpr bool reads(Memory memory) {
  return memory == Memory::kReadsElement || memory == Memory::kReadsLocal || memory == Memory::kReadsObject;
}

constexpr std::uint8_t positions(const OpInfo& row, Operand kind) {
  return static_cast<std::uint8_t>((row.a == kind ? kInA : 0) | (row.b == kind ? kInB : 0) |
                                   (row.c == kind ? kInC : 0));
}

constexpr DecodeRow make_row(const OpInfo& info) {
  DecodeRow row;
  row.a = info.a;
  row.b = info.b;
  row.c = info.c;
  row.x = info.x;
  row.words = static_cast<std::uint8_t>(info.words());
  row.flags = info.flags;
  row.family = info.family;
  row.operation = info.operation;
  row.memory = info.memory();
  row.is_plain = verified_by(info.family) == Verified::kPlain;
  row.kind = info.kind;
  row.result = info.result;
  const bool x0 = info.x == Operand::kP || info.x == Operand::kPP;
  row.reads = static_cast<std::uint8_t>(positions(info, Operand::kPs) | positions(info, Operand::kPm) |
                                        (x0 ? kInX0 : 0) | (info.x == Operand::kPP ? kInX1 : 0));
  row.writes = static_cast<std::uint8_t>(positions(info, Operand::kPd) | positions(info, Operand::kPm));
  row.ref_reads = positions(info, Operand::kRs);
  row.ref_writes = positions(info, Operand::kRd);
  const bool replaces_bits = info.operation == Operation::kExchange || info.operation == Operation::kCas;
  if (info.kind && accesses_memory(row.memory))
    row.kinds = kinds_of(*info.kind, reads(row.memory), replaces_bits);
  // A 32-bit operand fills c as well; as an immediate it takes any value.
  if (row.b == Operand::kImm32 || row.b == Operand::kOff32 || row.b == Operand::kString)
    row.c = Operand::kImm;
  return row;
}

constexpr auto make_table() {
  std::array<DecodeRow, kOpCount> table{};
  for (std::uint16_t op = 0; op < kOpCount; ++op) table[op] = make_row(kInfo[op]);
  return table;
}

// The passes over code take this for granted: a row of isa.def that breaks it must not compile.
constexpr bool is_sound(const DecodeRow& row) {
  if ((row.writes | row.ref_writes) > kInA) return false;
  if (row.is_plain && row.ref_writes != 0) return false;
  // The row gives the kind of every primitive result except those of constants and copies.
  const bool any_kind = row.family == Family::kConstant || row.family == Family::kMoveP;
  if (row.result.has_value() != (row.writes != 0 && !any_kind)) return false;
  // Exactly the instructions that allocate or call may collect.
  const bool may_collect = row.memory == Memory::kAllocates || row.memory == Memory::kAnything;
  if (((row.flags & kCollects) != 0) != may_collect) return false;
  const bool names_no_kind = row.family == Family::kLocalZero || row.family == Family::kGetWeak;
  return !accesses_memory(row.memory) || names_no_kind || row.kinds != 0;
}

constexpr bool is_sound(const std::array<DecodeRow, kOpCount>& table) {
  for (const DecodeRow& row : table) {
    if (!is_sound(row)) return false;
  }
  return true;
}
static_assert(is_sound(make_table()));

}  // namespace

constexpr std::array<DecodeRow, kOpCount> kDecode = make_table();

}  // namespace dhpvm::bytecode
