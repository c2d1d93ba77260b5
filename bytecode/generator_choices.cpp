// SPDX-License-Identifier: Apache-2.0
// The tables of instructions to choose from.
#include "bytecode/decode.h"
#include "bytecode/generator_internal.h"

namespace dhpvm::bytecode::testing {

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
    // Other code makes constants and moves.
    if (!decode.is_plain || row.a != Operand::kPd || decode.ref_reads != 0 || !row.kind || !row.result)
      continue;
    if (!approximate_math && row.has(kApproximate)) continue;
    const Pool from = pool_of(*row.kind);
    all.push_back({op, pool_of(*row.result), from, row.family == Family::kShift ? Pool::kI32 : from, from});
  }
  return all;
}

std::vector<Computation> conditions() {
  std::vector<Computation> all;
  for (std::uint16_t i = 0; i < kOpCount; ++i) {
    const OpInfo& row = info(static_cast<Op>(i));
    if (row.family != Family::kJumpIf && row.family != Family::kJumpCompare) continue;
    const Pool type = pool_of(*row.kind);
    all.push_back({static_cast<Op>(i), type, type, type, type});
  }
  return all;
}

Op access_op(Family family, Kind kind) {
  Op found = Op::kNop;
  for (std::uint16_t i = 0; i < kOpCount; ++i) {
    const DecodeRow& row = kDecode[i];
    if (row.family != family) continue;
    if (row.kind == kind) return static_cast<Op>(i);
    const bool accepts = (row.kinds >> static_cast<unsigned>(kind) & 1) != 0;
    if (accepts && found == Op::kNop) found = static_cast<Op>(i);
  }
  return found;
}

std::vector<Op> atomic_ops(Kind kind, Order order) {
  std::vector<Op> all;
  for (std::uint16_t i = 0; i < kOpCount; ++i) {
    const DecodeRow& row = kDecode[i];
    const bool accepts = (row.kinds >> static_cast<unsigned>(kind) & 1) != 0;
    const bool commutes = row.operation != Operation::kExchange && row.operation != Operation::kCas;
    if (row.family == Family::kAtomic && accepts && commutes == (order == Order::kAny))
      all.push_back(static_cast<Op>(i));
  }
  return all;
}

}  // namespace dhpvm::bytecode::testing
