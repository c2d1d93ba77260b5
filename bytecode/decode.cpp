// SPDX-License-Identifier: Apache-2.0
#include "bytecode/decode.h"

#include <string_view>

#include "bytecode/isa_table.h"

namespace dhpvm::bytecode {
namespace {

constexpr bool starts_with(std::string_view text, std::string_view head) {
  return text.substr(0, head.size()) == head;
}

constexpr std::uint16_t set_of(std::initializer_list<Kind> kinds) {
  std::uint16_t set = 0;
  for (const Kind kind : kinds) set = static_cast<std::uint16_t>(set | 1u << static_cast<unsigned>(kind));
  return set;
}

// The element kinds behind a mnemonic's last part. A load of less than 32 bits must know how to extend; all
// other accesses only care for the width and the bank.
constexpr std::uint16_t kinds_of(std::string_view mnemonic, bool extends) {
  const std::string_view suffix = mnemonic.substr(mnemonic.rfind('.') + 1);
  if (suffix == "i8") return extends ? set_of({Kind::kI8}) : set_of({Kind::kI8, Kind::kU8, Kind::kBool});
  if (suffix == "u8")
    return extends ? set_of({Kind::kU8, Kind::kBool}) : set_of({Kind::kI8, Kind::kU8, Kind::kBool});
  if (suffix == "i16") return extends ? set_of({Kind::kI16}) : set_of({Kind::kI16, Kind::kU16});
  if (suffix == "u16") return extends ? set_of({Kind::kU16}) : set_of({Kind::kI16, Kind::kU16});
  if (suffix == "i32" || suffix == "u32") return set_of({Kind::kI32, Kind::kU32});
  if (suffix == "i64" || suffix == "u64") return set_of({Kind::kI64, Kind::kU64});
  if (suffix == "f32") return set_of({Kind::kF32});
  if (suffix == "f64") return set_of({Kind::kF64});
  if (suffix == "ref") return set_of({Kind::kRef});
  return 0;
}

constexpr Rule rule_of(Op op, std::string_view mnemonic) {
  switch (op) {
    case Op::kReturn: return Rule::kReturn;
    case Op::kReturnP: return Rule::kReturnP;
    case Op::kReturnR: return Rule::kReturnR;
    case Op::kTrap: return Rule::kTrap;
    case Op::kTrapMessage: return Rule::kTrapMessage;
    case Op::kCall: return Rule::kCall;
    case Op::kCallNative: return Rule::kCallNative;
    case Op::kCallInterface: return Rule::kCallInterface;
    case Op::kParallelFor: return Rule::kParallelFor;
    case Op::kMoveR: return Rule::kMoveR;
    case Op::kNull: return Rule::kNull;
    case Op::kConstString: return Rule::kConstString;
    case Op::kArrayLength: return Rule::kArrayLength;
    case Op::kArrayDim: return Rule::kArrayDim;
    case Op::kIndex2:
    case Op::kIndex3: return Rule::kIndex;
    case Op::kNewArray: return Rule::kNewArray;
    case Op::kArrayCopy: return Rule::kArrayCopy;
    case Op::kArrayClose: return Rule::kArrayClose;
    case Op::kNew: return Rule::kNew;
    case Op::kUpcast: return Rule::kUpcast;
    case Op::kCast: return Rule::kCast;
    case Op::kIsType: return Rule::kIsType;
    case Op::kNewWeak: return Rule::kNewWeak;
    case Op::kGetWeak: return Rule::kGetWeak;
    case Op::kStringLength:
    case Op::kStringByte: return Rule::kString;
    case Op::kStringConcat: return Rule::kStringConcat;
    case Op::kStringEq:
    case Op::kStringCompare: return Rule::kStringPair;
    default: break;
  }
  if (starts_with(mnemonic, "load.field.")) return Rule::kLoadField;
  if (starts_with(mnemonic, "store.field.")) return Rule::kStoreField;
  if (starts_with(mnemonic, "load.")) return Rule::kLoad;
  if (starts_with(mnemonic, "store.")) return Rule::kStore;
  if (starts_with(mnemonic, "local.")) return Rule::kLocal;
  if (starts_with(mnemonic, "atomic.")) return Rule::kAtomic;
  if (starts_with(mnemonic, "get.")) return Rule::kGetField;
  if (starts_with(mnemonic, "put.")) return Rule::kPutField;
  return Rule::kPlain;
}

constexpr std::uint8_t positions(const OpInfo& row, Operand kind) {
  return static_cast<std::uint8_t>((row.a == kind ? kInA : 0) | (row.b == kind ? kInB : 0) |
                                   (row.c == kind ? kInC : 0));
}

constexpr DecodeRow make_row(Op op, const OpInfo& info) {
  DecodeRow row{info.a, info.b, info.c, info.x};
  row.words = static_cast<std::uint8_t>(info.words());
  row.flags = info.flags;
  row.rule = rule_of(op, info.mnemonic);
  const bool x0 = info.x == Operand::kP || info.x == Operand::kPP;
  row.reads = static_cast<std::uint8_t>(positions(info, Operand::kPs) | positions(info, Operand::kPm) |
                                        (x0 ? kInX0 : 0) | (info.x == Operand::kPP ? kInX1 : 0));
  row.writes = static_cast<std::uint8_t>(positions(info, Operand::kPd) | positions(info, Operand::kPm));
  row.ref_reads = positions(info, Operand::kRs);
  row.ref_writes = positions(info, Operand::kRd);
  const bool extends = row.rule == Rule::kLoad || row.rule == Rule::kLoadField ||
                       row.rule == Rule::kGetField || starts_with(info.mnemonic, "local.load.");
  row.kinds = kinds_of(info.mnemonic, extends);
  // A 32-bit operand fills c as well; as an immediate it takes any value.
  if (row.b == Operand::kImm32 || row.b == Operand::kOff32 || row.b == Operand::kString)
    row.c = Operand::kImm;
  return row;
}

constexpr auto make_table() {
  std::array<DecodeRow, kOpCount> table{};
  for (std::uint16_t op = 0; op < kOpCount; ++op) table[op] = make_row(static_cast<Op>(op), kInfo[op]);
  return table;
}

// What the passes over code take for granted: an opcode that breaks it must not compile.
constexpr bool is_sound(const std::array<DecodeRow, kOpCount>& table) {
  for (const DecodeRow& row : table) {
    if ((row.writes | row.ref_writes) > kInA) return false;
    if (row.rule == Rule::kPlain && row.ref_writes != 0) return false;
  }
  return true;
}
static_assert(is_sound(make_table()));

}  // namespace

constexpr std::array<DecodeRow, kOpCount> kDecode = make_table();

}  // namespace dhpvm::bytecode
