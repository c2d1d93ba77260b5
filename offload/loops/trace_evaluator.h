// SPDX-License-Identifier: Apache-2.0
// For tests: runs one iteration of a kernel and reports every access that it makes. Operations that the footprint
// analysis does not follow (elements of arrays, floating-point numbers, bit counting) give random values here:
// the analysis must be right for all of them.
#pragma once

#include <array>
#include <bit>
#include <functional>
#include <random>
#include <span>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/registers.h"
#include "codegen/kernel_abi.h"
#include "offload/loops/footprint.h"
#include "offload/loops/liveness.h"

namespace dhpvm::offload::testing {

using bytecode::Family;
using bytecode::get;
using bytecode::Op;
using bytecode::put;
using bytecode::Word;

class TraceEvaluator {
 public:
  struct Event {
    std::uint32_t chain;
    std::uint32_t pc;
    std::array<std::int64_t, 3> index;
  };
  using Report = std::function<void(const Event&)>;

  TraceEvaluator(const bytecode::Module& module, const Footprint& footprint,
                 std::span<const codegen::KernelArray> arrays, std::mt19937_64& random, Report report)
      : module_(module),
        footprint_(footprint),
        arrays_(arrays),
        random_(random),
        report_(std::move(report)) {}

  // Returns early, with false, when the iteration traps, or goes on for too long.
  bool run(const bytecode::KernelRecord& kernel, std::span<const std::int64_t> index,
           std::span<const std::uint64_t> scalars) {
    std::vector<std::uint64_t> p;
    for (const std::int64_t i : index) p.push_back(static_cast<std::uint64_t>(i));
    p.insert(p.end(), scalars.begin(), scalars.end());
    for (std::size_t i = 0; i < kernel.reductions.size(); ++i) p.push_back(any());
    std::vector<std::uint32_t> r;
    for (std::uint32_t i = 0; i < arrays_.size(); ++i) r.push_back(i);
    steps_ = 20'000;
    return call(kernel.function, 0, p, r);
  }

 private:
  std::uint64_t any() {
    const std::uint64_t bits = random_();
    if (bits % 4 == 0) return random_();
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits >> 8) % 20 - 4);
  }

  // False when it trapped. `p` and `r` hold the arguments, then the results.
  bool call(std::uint32_t id, std::uint32_t chain, std::vector<std::uint64_t>& p,
            std::vector<std::uint32_t>& r) {
    const bytecode::Function& function = module_.functions[id];
    p.resize(function.primitive_registers);
    r.resize(function.reference_registers);
    const Word* const code = module_.code.data() + function.code_offset;
    for (std::uint32_t pc = 0;;) {
      if (--steps_ < 0) return false;
      const Word word = code[pc];
      const auto& row = bytecode::kDecode[bytecode::op_of(word)];
      const Op op = static_cast<Op>(bytecode::op_of(word));
      const Word x = row.words == 2 ? code[pc + 1] : 0;
      const std::uint16_t a = bytecode::a_of(word);
      const std::uint16_t b = bytecode::b_of(word);
      const std::uint16_t c = bytecode::c_of(word);
      const std::uint32_t target = branch_target(word, pc);
      const auto report = [&](std::uint64_t i, std::uint64_t j = 0, std::uint64_t k = 0) {
        report_({chain,
                 function.code_offset + pc,
                 {static_cast<std::int64_t>(i), static_cast<std::int64_t>(j), static_cast<std::int64_t>(k)}});
      };
      switch (row.family) {
        case Family::kReturnP: p[0] = p[a]; return true;
        case Family::kReturn:
        case Family::kReturnR: return true;
        case Family::kTrap: return false;
        case Family::kCall:
          if (!enter(word, footprint_.callee(chain, function.code_offset + pc), p, r)) return false;
          break;
        case Family::kMoveR: r[a] = r[b]; break;
        case Family::kArrayLength:
          report(0);
          p[a] = put(arrays_[r[b]].shape.length);
          break;
        case Family::kArrayDim:
          report(0);
          p[a] = put(arrays_[r[b]].shape.dims[c]);
          break;
        case Family::kIndex: {
          const auto& dims = arrays_[r[b]].shape.dims;
          const bool three = row.x == bytecode::Operand::kPP;
          const std::uint64_t j = p[bytecode::x0_of(x)];
          const std::uint64_t k = three ? p[bytecode::x1_of(x)] : 0;
          report(p[c], j, k);
          std::uint64_t at = p[c] * static_cast<std::uint64_t>(dims[1]) + j;
          if (three) at = at * static_cast<std::uint64_t>(dims[2]) + k;
          p[a] = at;
          break;
        }
        case Family::kStore:
        case Family::kStoreField: report(p[b]); break;
        case Family::kLoad:
        case Family::kLoadField:
        case Family::kAtomic:
          report(p[c]);
          p[a] = loaded(*row.kind);
          break;
        case Family::kLocalLoad:
          report(p[c]);
          p[a] = loaded(*row.kind);
          break;
        case Family::kLocalStore: report(p[b]); break;
        case Family::kLocalZero: break;
        default:
          if (op == Op::kConst) {
            p[a] = x;
          } else if (target != bytecode::kNoIndex) {
            if (taken(op, word, p)) {
              pc = target;
              continue;
            }
          } else if (row.writes != 0 && !compute(op, word, p)) {
            return false;
          }
      }
      pc += row.words;
    }
  }

  // A call: the function gets windows of its own, and leaves its results where they began.
  bool enter(Word word, std::uint32_t chain, std::vector<std::uint64_t>& p, std::vector<std::uint32_t>& r) {
    const std::uint16_t a = bytecode::a_of(word);
    const std::uint16_t callee = bytecode::c_of(word);
    std::vector<std::uint64_t> arguments(p.begin() + a, p.end());
    std::vector<std::uint32_t> references(r.begin() + bytecode::b_of(word), r.end());
    arguments.resize(count_primitives(module_.functions[callee].signature.parameters));
    if (!call(callee, chain, arguments, references)) return false;
    const std::uint32_t results = count_primitives(module_.functions[callee].signature.results);
    std::copy_n(arguments.begin(), results, p.begin() + a);
    return true;
  }

  std::uint64_t loaded(bytecode::Kind kind) {
    const std::uint64_t value = any();
    switch (kind) {
      case bytecode::Kind::kI8: return put(static_cast<std::int8_t>(value));
      case bytecode::Kind::kU8: return put(static_cast<std::uint8_t>(value));
      case bytecode::Kind::kI16: return put(static_cast<std::int16_t>(value));
      case bytecode::Kind::kU16: return put(static_cast<std::uint16_t>(value));
      case bytecode::Kind::kI32:
      case bytecode::Kind::kU32: return put(static_cast<std::uint32_t>(value));
      default: return value;
    }
  }

  // Random for floating-point numbers.
  bool compare(const bytecode::DecodeRow& row, std::uint64_t x, std::uint64_t y) {
    const auto by = [&]<typename T>(T l, T h) {
      switch (row.operation) {
        case bytecode::Operation::kEq: return l == h;
        case bytecode::Operation::kNe: return l != h;
        case bytecode::Operation::kLt: return l < h;
        case bytecode::Operation::kLe: return l <= h;
        case bytecode::Operation::kGt: return l > h;
        default: return l >= h;
      }
    };
    switch (*row.kind) {
      case bytecode::Kind::kI32: return by(get<std::int32_t>(x), get<std::int32_t>(y));
      case bytecode::Kind::kI64: return by(get<std::int64_t>(x), get<std::int64_t>(y));
      case bytecode::Kind::kU32: return by(get<std::uint32_t>(x), get<std::uint32_t>(y));
      case bytecode::Kind::kU64: return by(x, y);
      default: return random_() % 2 == 0;
    }
  }

  bool taken(Op op, Word word, std::vector<std::uint64_t>& p) {
    const std::uint16_t a = bytecode::a_of(word);
    const std::uint16_t b = bytecode::b_of(word);
    switch (op) {
      case Op::kJump:
      case Op::kLoop: return true;
      case Op::kJumpIf: return get<std::int32_t>(p[a]) != 0;
      case Op::kJumpIfNot: return get<std::int32_t>(p[a]) == 0;
      case Op::kForI32:
        p[a] = put(get<std::uint32_t>(p[a]) + 1);
        return get<std::int32_t>(p[a]) < get<std::int32_t>(p[b]);
      case Op::kForI64: ++p[a]; return get<std::int64_t>(p[a]) < get<std::int64_t>(p[b]);
      default: break;
    }
    const bytecode::DecodeRow& row = bytecode::kDecode[bytecode::op_of(word)];
    const bool immediate = row.b == bytecode::Operand::kImm;
    return compare(row, p[a], immediate ? static_cast<std::uint64_t>(static_cast<std::int16_t>(b)) : p[b]);
  }

  // The operands of an instruction on primitive registers, in every reading of their bits, and the place of its result.
  struct Operands {
    Operands(Word word, std::vector<std::uint64_t>& p)
        : out(p[bytecode::a_of(word)]),
          y(bytecode::b_of(word) < p.size() ? p[bytecode::b_of(word)] : 0),
          z(bytecode::c_of(word) < p.size() ? p[bytecode::c_of(word)] : 0),
          imm(static_cast<std::uint64_t>(static_cast<std::int16_t>(bytecode::c_of(word)))) {}

    std::uint64_t& out;
    std::uint64_t y, z, imm;
    std::uint32_t y32 = static_cast<std::uint32_t>(y);
    std::uint32_t z32 = static_cast<std::uint32_t>(z);
    std::int64_t ys = static_cast<std::int64_t>(y);
    std::int64_t zs = static_cast<std::int64_t>(z);
    std::int32_t ys32 = static_cast<std::int32_t>(y);
    std::int32_t zs32 = static_cast<std::int32_t>(z);
  };

  // P[a] of an instruction on primitive registers; false when it traps.
  bool compute(Op op, Word word, std::vector<std::uint64_t>& p) {
    const Operands in(word, p);
    switch (op) {
      case Op::kMoveP: in.out = in.y; return true;
      case Op::kImm: in.out = put(static_cast<std::int64_t>(bytecode::bc_of(word))); return true;
      case Op::kAddI32: in.out = put(in.y32 + in.z32); return true;
      case Op::kAddI64: in.out = in.y + in.z; return true;
      case Op::kSubI32: in.out = put(in.y32 - in.z32); return true;
      case Op::kSubI64: in.out = in.y - in.z; return true;
      case Op::kMulI32: in.out = put(in.y32 * in.z32); return true;
      case Op::kMulI64: in.out = in.y * in.z; return true;
      case Op::kAddImmI32: in.out = put(in.y32 + static_cast<std::uint32_t>(in.imm)); return true;
      case Op::kAddImmI64: in.out = in.y + in.imm; return true;
      case Op::kMulImmI32: in.out = put(in.y32 * static_cast<std::uint32_t>(in.imm)); return true;
      case Op::kMulImmI64: in.out = in.y * in.imm; return true;
      case Op::kNegI32: in.out = put(0 - in.y32); return true;
      case Op::kNegI64: in.out = 0 - in.y; return true;
      case Op::kNotI32: in.out = put(~in.y32); return true;
      case Op::kNotI64: in.out = ~in.y; return true;
      case Op::kNotBool: in.out = in.ys32 == 0 ? 1 : 0; return true;
      case Op::kMinI32: in.out = put(std::min(in.ys32, in.zs32)); return true;
      case Op::kMinI64: in.out = put(std::min(in.ys, in.zs)); return true;
      case Op::kMinU32: in.out = put(std::min(in.y32, in.z32)); return true;
      case Op::kMinU64: in.out = std::min(in.y, in.z); return true;
      case Op::kMaxU64: in.out = std::max(in.y, in.z); return true;
      case Op::kMaxI32: in.out = put(std::max(in.ys32, in.zs32)); return true;
      case Op::kMaxI64: in.out = put(std::max(in.ys, in.zs)); return true;
      case Op::kMaxU32: in.out = put(std::max(in.y32, in.z32)); return true;
      default: return divide(op, word, in);
    }
  }

  bool divide(Op op, Word word, const Operands& in) {
    switch (op) {
      case Op::kDivI32:
        if (in.zs32 != 0) in.out = in.zs32 == -1 ? put(0 - in.y32) : put(in.ys32 / in.zs32);
        return in.zs32 != 0;
      case Op::kDivI64:
        if (in.zs != 0) in.out = in.zs == -1 ? 0 - in.y : put(in.ys / in.zs);
        return in.zs != 0;
      case Op::kRemI32:
        if (in.zs32 != 0) in.out = in.zs32 == -1 ? 0 : put(in.ys32 % in.zs32);
        return in.zs32 != 0;
      case Op::kRemI64:
        if (in.zs != 0) in.out = in.zs == -1 ? 0 : put(in.ys % in.zs);
        return in.zs != 0;
      case Op::kDivU32:
        if (in.z32 != 0) in.out = put(in.y32 / in.z32);
        return in.z32 != 0;
      case Op::kDivU64:
        if (in.z != 0) in.out = in.y / in.z;
        return in.z != 0;
      case Op::kRemU32:
        if (in.z32 != 0) in.out = put(in.y32 % in.z32);
        return in.z32 != 0;
      case Op::kRemU64:
        if (in.z != 0) in.out = in.y % in.z;
        return in.z != 0;
      default: compute_bits(op, word, in); return true;
    }
  }

  void compute_bits(Op op, Word word, const Operands& in) {
    switch (op) {
      case Op::kAndImmI64: in.out = in.y & in.imm; return;
      case Op::kAndI64: in.out = in.y & in.z; return;
      case Op::kShlImmI32: in.out = put(in.y32 << (in.imm & 31)); return;
      case Op::kShlImmI64: in.out = in.y << (in.imm & 63); return;
      case Op::kShrImmI32: in.out = put(in.ys32 >> (in.imm & 31)); return;
      case Op::kShrImmI64: in.out = put(in.ys >> (in.imm & 63)); return;
      case Op::kShrImmU32: in.out = put(in.y32 >> (in.imm & 31)); return;
      case Op::kShrImmU64: in.out = in.y >> (in.imm & 63); return;
      case Op::kShlI32: in.out = put(in.y32 << (in.z & 31)); return;
      case Op::kShlI64: in.out = in.y << (in.z & 63); return;
      case Op::kShrI32: in.out = put(in.ys32 >> (in.z & 31)); return;
      case Op::kShrI64: in.out = put(in.ys >> (in.z & 63)); return;
      case Op::kSignExtend8: in.out = put(static_cast<std::int8_t>(in.y)); return;
      case Op::kZeroExtend8: in.out = put(static_cast<std::uint8_t>(in.y)); return;
      case Op::kSignExtend16: in.out = put(static_cast<std::int16_t>(in.y)); return;
      case Op::kZeroExtend16: in.out = put(static_cast<std::uint16_t>(in.y)); return;
      case Op::kI32ToI64: in.out = put(static_cast<std::int64_t>(in.ys32)); return;
      case Op::kU32ToU64: in.out = in.y32; return;
      case Op::kI64ToI32: in.out = in.y32; return;
      default: break;
    }
    const bytecode::DecodeRow& row = bytecode::kDecode[bytecode::op_of(word)];
    in.out = row.family == Family::kCompare ? (compare(row, in.y, in.z) ? 1 : 0) : any();
  }

  const bytecode::Module& module_;
  const Footprint& footprint_;
  std::span<const codegen::KernelArray> arrays_;
  std::mt19937_64& random_;
  Report report_;
  int steps_ = 0;
};

}  // namespace dhpvm::offload::testing
