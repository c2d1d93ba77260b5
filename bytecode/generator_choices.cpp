// SPDX-License-Identifier: Apache-2.0
// Decisions, and the tables of instructions to decide between.
#include <string_view>

#include "bytecode/decode.h"
#include "bytecode/generator_internal.h"

namespace dhpvm::bytecode::testing {
namespace {

bool pool_of_suffix(std::string_view name, Pool& pool) {
  if (name == "i32" || name == "u32") return pool = Pool::kI32, true;
  if (name == "i64" || name == "u64") return pool = Pool::kI64, true;
  if (name == "f32") return pool = Pool::kF32, true;
  if (name == "f64") return pool = Pool::kF64, true;
  if (name == "bool") return pool = Pool::kBool, true;
  return false;
}

std::string_view last_part(std::string_view mnemonic) { return mnemonic.substr(mnemonic.rfind('.') + 1); }

}  // namespace

Choices::Choices(std::span<const std::byte> bytes) : bytes_(bytes), state_(0x9e3779b97f4a7c15) {
  for (const std::byte b : bytes) state_ = (state_ ^ static_cast<std::uint64_t>(b)) * 0x100000001b3;
}

std::uint64_t Choices::bits() {
  state_ += 0x9e3779b97f4a7c15;
  std::uint64_t z = state_;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

std::uint32_t Choices::below(std::uint32_t bound) {
  if (!bytes_.empty() && bound <= 256) {
    const auto byte = static_cast<std::uint32_t>(bytes_.front());
    bytes_ = bytes_.subspan(1);
    return byte % bound;
  }
  return static_cast<std::uint32_t>(bits() % bound);
}

Pool pool_of(Kind kind) {
  switch (kind) {
    case Kind::kBool: return Pool::kBool;
    case Kind::kI64:
    case Kind::kU64: return Pool::kI64;
    case Kind::kF32: return Pool::kF32;
    case Kind::kF64: return Pool::kF64;
    default: return Pool::kI32;
  }
}

std::vector<Computation> computations(bool approximate_math) {
  std::vector<Computation> all;
  for (std::uint16_t i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    const OpInfo& row = info(op);
    const DecodeRow& decode = kDecode[i];
    if (decode.rule != Rule::kPlain || row.a != Operand::kPd || decode.ref_reads != 0) continue;
    if (!approximate_math && is_approximate(op)) continue;
    const std::string_view name = row.mnemonic;
    Pool type;
    if (!pool_of_suffix(last_part(name), type)) continue;  // constants and moves, handled apart
    Computation c{op, type, type, type, type};
    const std::string_view head = name.substr(0, name.find('.'));
    Pool from;
    if (head == "eq" || head == "ne" || head == "lt" || head == "le") c.a = Pool::kBool;
    if (name.find(".to.") != std::string_view::npos && pool_of_suffix(head, from)) c.b = from;
    if (head == "shl" || head == "shr") c.c = Pool::kI32;
    all.push_back(c);
  }
  return all;
}

std::vector<Computation> conditions() {
  std::vector<Computation> all = {{Op::kJumpIf, Pool::kBool, Pool::kBool, Pool::kBool, Pool::kBool},
                                  {Op::kJumpIfNot, Pool::kBool, Pool::kBool, Pool::kBool, Pool::kBool}};
  for (std::uint16_t i = 0; i < kOpCount; ++i) {
    const OpInfo& row = info(static_cast<Op>(i));
    Pool type;
    if (row.c != Operand::kOff || (row.flags & kBackEdge) != 0 ||
        !pool_of_suffix(last_part(row.mnemonic), type))
      continue;
    all.push_back({static_cast<Op>(i), type, type, type, type});
  }
  return all;
}

Op access_op(Access family, Kind kind) {
  // Within each family the rows stand in this order: i8 u8 i16 u16 i32 i64 f32 f64 ref.
  constexpr std::uint16_t kPosition[] = {1, 0, 1, 2, 3, 4, 4, 5, 5, 6, 7, 8};
  constexpr Op kFirst[] = {Op::kLoadI8,     Op::kStoreI8,    Op::kLoadFieldI8, Op::kStoreFieldI8,
                           Op::kGetFieldI8, Op::kPutFieldI8, Op::kLocalLoadI8, Op::kLocalStoreI8};
  return static_cast<Op>(static_cast<std::uint16_t>(kFirst[static_cast<std::size_t>(family)]) +
                         kPosition[static_cast<std::size_t>(kind)]);
}

}  // namespace dhpvm::bytecode::testing
