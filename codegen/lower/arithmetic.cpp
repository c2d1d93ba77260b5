// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/arithmetic.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <initializer_list>
#include <vector>

#include "bytecode/isa_table.h"

namespace dhpvm::codegen {
namespace {

using bytecode::Family;
using bytecode::Kind;
using bytecode::Op;
using bytecode::Operand;
using bytecode::Operation;
using llvm::CmpInst;
using llvm::Value;
using llvm::Intrinsic::ID;

llvm::Type* register_type(llvm::IRBuilder<>& b, Kind kind) {
  switch (slot_type(kind)) {
    case SlotType::kI64: return b.getInt64Ty();
    case SlotType::kF32: return b.getFloatTy();
    case SlotType::kF64: return b.getDoubleTy();
    default: return b.getInt32Ty();
  }
}

// One instruction with its operands, from which the rows below compute its result.
class Computation {
 public:
  Computation(llvm::IRBuilder<>& builder, const Instruction& instruction, ReadRegister read)
      : b(builder), i_(instruction), read_(read) {}

  Kind kind() const { return *i_.row->kind; }
  Kind result() const { return *i_.row->result; }
  llvm::Type* type() const { return register_type(b, kind()); }
  Value* as(std::uint32_t reg, Kind kind) const { return read_(reg, slot_type(kind)); }
  Value* x() const { return as(i_.b, kind()); }
  Value* y() const { return i_.row->c == Operand::kImm ? immediate(b, kind(), i_.c) : as(i_.c, kind()); }
  Value* z() const { return as(i_.x0(), kind()); }
  Value* unary(ID id) const { return b.CreateUnaryIntrinsic(id, x()); }
  Value* binary(ID id) const {
    Value* const left = x();
    return b.CreateBinaryIntrinsic(id, left, y());
  }
  // Counts zero bits; gives the width for 0.
  Value* zeros(ID id) const { return b.CreateBinaryIntrinsic(id, x(), b.getInt1(false)); }
  Value* extended(Value* value, llvm::Type* to) const {
    return is_signed(kind()) ? b.CreateSExt(value, to) : b.CreateZExt(value, to);
  }
  Value* boolean(Value* value) const { return b.CreateZExt(value, b.getInt32Ty()); }

  // Calls a function of glibc by the name of its f64 form.
  Value* call(llvm::StringRef name, std::initializer_list<Value*> arguments) const {
    const std::vector<Value*> values(arguments);
    const std::vector<llvm::Type*> types(values.size(), type());
    llvm::Module& module = *b.GetInsertBlock()->getModule();
    llvm::FunctionCallee function =
        module.getOrInsertFunction(kind() == Kind::kF64 ? name.str() : (name + "f").str(),
                                   llvm::FunctionType::get(type(), types, false));
    auto* const declared = llvm::cast<llvm::Function>(function.getCallee());
    declared->setDoesNotThrow();
    declared->setWillReturn();
    // errno is not read.
    declared->setDoesNotAccessMemory();
    llvm::CallInst* const made = b.CreateCall(function, values);
    // LLVM would fold calls with constant arguments by its own libm, whose results for large angles differ from ours.
    if (kind() == Kind::kF64 && (name == "sin" || name == "cos" || name == "tan")) {
      made->addFnAttr(llvm::Attribute::NoBuiltin);
    }
    return made;
  }

  // As in the interpreter: the comparison decides, and is false for NaN.
  Value* choose(CmpInst::Predicate takes_right) const {
    Value* const left = x();
    Value* const right = y();
    return b.CreateSelect(b.CreateFCmp(takes_right, right, left), right, left);
  }

  // A shift's count is taken modulo the width; its register is always an i32.
  Value* count() const {
    const std::uint32_t mask = 8 * size_of(kind()) - 1;
    if (i_.row->c == Operand::kImm) return llvm::ConstantInt::get(type(), i_.c & mask);
    return b.CreateZExt(b.CreateAnd(as(i_.c, Kind::kI32), b.getInt32(mask)), type());
  }

  Value* upper_half_of_product() const {
    llvm::Type* const wide = b.getIntNTy(16 * size_of(kind()));
    Value* const left = extended(x(), wide);
    Value* const product = b.CreateMul(left, extended(y(), wide));
    return b.CreateTrunc(b.CreateLShr(product, 8 * size_of(kind())), type());
  }

  llvm::IRBuilder<>& b;

 private:
  const Instruction& i_;
  ReadRegister read_;
};

struct Row {
  Operation operation;
  Value* (*make)(const Computation& c);
};

// Whether every instruction of the family has exactly one row.
template <std::size_t kRows>
consteval bool covers(const Row (&rows)[kRows], Family family) {
  return std::ranges::all_of(bytecode::kInfo, [&](const bytecode::OpInfo& op) {
    return op.family != family || std::ranges::count(rows, op.operation, &Row::operation) == 1;
  });
}

// clang-format off: tables
constexpr Row kIntegers[] = {
    {Operation::kAdd, [](const Computation& c) { Value* const x = c.x(); return c.b.CreateAdd(x, c.y()); }},
    {Operation::kSub, [](const Computation& c) { Value* const x = c.x(); return c.b.CreateSub(x, c.y()); }},
    {Operation::kMul, [](const Computation& c) { Value* const x = c.x(); return c.b.CreateMul(x, c.y()); }},
    {Operation::kNeg, [](const Computation& c) { return c.b.CreateNeg(c.x()); }},
    {Operation::kAnd, [](const Computation& c) { Value* const x = c.x(); return c.b.CreateAnd(x, c.y()); }},
    {Operation::kOr, [](const Computation& c) { Value* const x = c.x(); return c.b.CreateOr(x, c.y()); }},
    {Operation::kXor, [](const Computation& c) { Value* const x = c.x(); return c.b.CreateXor(x, c.y()); }},
    {Operation::kNot, [](const Computation& c) {
       return c.kind() == Kind::kBool ? c.boolean(c.b.CreateICmpEQ(c.x(), c.b.getInt32(0))) : c.b.CreateNot(c.x());
     }},
    {Operation::kMin, [](const Computation& c) {
       return c.binary(is_signed(c.kind()) ? llvm::Intrinsic::smin : llvm::Intrinsic::umin);
     }},
    {Operation::kMax, [](const Computation& c) {
       return c.binary(is_signed(c.kind()) ? llvm::Intrinsic::smax : llvm::Intrinsic::umax);
     }},
    {Operation::kMulHigh, [](const Computation& c) { return c.upper_half_of_product(); }},
    {Operation::kPopcount, [](const Computation& c) { return c.unary(llvm::Intrinsic::ctpop); }},
    {Operation::kClz, [](const Computation& c) { return c.zeros(llvm::Intrinsic::ctlz); }},
    {Operation::kCtz, [](const Computation& c) { return c.zeros(llvm::Intrinsic::cttz); }},
};
static_assert(covers(kIntegers, Family::kInteger), "an instruction on integers has no lowering");

constexpr Row kShifts[] = {
    {Operation::kShl, [](const Computation& c) { Value* const x = c.x(); return c.b.CreateShl(x, c.count()); }},
    {Operation::kShr, [](const Computation& c) {
       Value* const x = c.x();
       return is_signed(c.kind()) ? c.b.CreateAShr(x, c.count()) : c.b.CreateLShr(x, c.count());
     }},
};
static_assert(covers(kShifts, Family::kShift), "a shift has no lowering");

constexpr Row kFloats[] = {
    {Operation::kAdd, [](const Computation& c) { Value* const x = c.x(); return c.b.CreateFAdd(x, c.y()); }},
    {Operation::kSub, [](const Computation& c) { Value* const x = c.x(); return c.b.CreateFSub(x, c.y()); }},
    {Operation::kMul, [](const Computation& c) { Value* const x = c.x(); return c.b.CreateFMul(x, c.y()); }},
    {Operation::kDiv, [](const Computation& c) { Value* const x = c.x(); return c.b.CreateFDiv(x, c.y()); }},
    {Operation::kRem, [](const Computation& c) { return c.call("fmod", {c.x(), c.y()}); }},
    {Operation::kNeg, [](const Computation& c) { return c.b.CreateFNeg(c.x()); }},
    {Operation::kMin, [](const Computation& c) { return c.choose(CmpInst::FCMP_OLT); }},
    {Operation::kMax, [](const Computation& c) { return c.choose(CmpInst::FCMP_OGT); }},
    {Operation::kAbs, [](const Computation& c) { return c.unary(llvm::Intrinsic::fabs); }},
    {Operation::kSqrt, [](const Computation& c) { return c.unary(llvm::Intrinsic::sqrt); }},
    {Operation::kFloor, [](const Computation& c) { return c.unary(llvm::Intrinsic::floor); }},
    {Operation::kCeil, [](const Computation& c) { return c.unary(llvm::Intrinsic::ceil); }},
    {Operation::kTrunc, [](const Computation& c) { return c.unary(llvm::Intrinsic::trunc); }},
    {Operation::kRound, [](const Computation& c) { return c.unary(llvm::Intrinsic::round); }},
    {Operation::kFma, [](const Computation& c) -> Value* {
       Value* const x = c.x();
       Value* const y = c.y();
       return c.b.CreateIntrinsic(llvm::Intrinsic::fma, {c.type()}, {x, y, c.z()});
     }},
    {Operation::kExp, [](const Computation& c) { return c.call("exp", {c.x()}); }},
    {Operation::kExp2, [](const Computation& c) { return c.call("exp2", {c.x()}); }},
    {Operation::kExpm1, [](const Computation& c) { return c.call("expm1", {c.x()}); }},
    {Operation::kLog, [](const Computation& c) { return c.call("log", {c.x()}); }},
    {Operation::kLog2, [](const Computation& c) { return c.call("log2", {c.x()}); }},
    {Operation::kLog10, [](const Computation& c) { return c.call("log10", {c.x()}); }},
    {Operation::kLog1p, [](const Computation& c) { return c.call("log1p", {c.x()}); }},
    {Operation::kSin, [](const Computation& c) { return c.call("sin", {c.x()}); }},
    {Operation::kCos, [](const Computation& c) { return c.call("cos", {c.x()}); }},
    {Operation::kTan, [](const Computation& c) { return c.call("tan", {c.x()}); }},
    {Operation::kAsin, [](const Computation& c) { return c.call("asin", {c.x()}); }},
    {Operation::kAcos, [](const Computation& c) { return c.call("acos", {c.x()}); }},
    {Operation::kAtan, [](const Computation& c) { return c.call("atan", {c.x()}); }},
    {Operation::kSinh, [](const Computation& c) { return c.call("sinh", {c.x()}); }},
    {Operation::kCosh, [](const Computation& c) { return c.call("cosh", {c.x()}); }},
    {Operation::kTanh, [](const Computation& c) { return c.call("tanh", {c.x()}); }},
    {Operation::kCbrt, [](const Computation& c) { return c.call("cbrt", {c.x()}); }},
    {Operation::kErf, [](const Computation& c) { return c.call("erf", {c.x()}); }},
    {Operation::kPow, [](const Computation& c) { return c.call("pow", {c.x(), c.y()}); }},
    {Operation::kAtan2, [](const Computation& c) { return c.call("atan2", {c.x(), c.y()}); }},
    {Operation::kHypot, [](const Computation& c) { return c.call("hypot", {c.x(), c.y()}); }},
};
static_assert(covers(kFloats, Family::kFloat), "an instruction on floating-point numbers has no lowering");
// clang-format on

template <std::size_t kRows>
Value* by_row(const Row (&rows)[kRows], Operation operation, const Computation& computation) {
  return std::ranges::find(rows, operation, &Row::operation)->make(computation);
}

// LLVM's predicate for a relation. NaN satisfies only Ne and the negated relations.
constexpr CmpInst::Predicate predicate_of(Operation relation, Kind kind) {
  if (is_float(kind)) {
    switch (relation) {
      case Operation::kEq: return CmpInst::FCMP_OEQ;
      case Operation::kNe: return CmpInst::FCMP_UNE;
      case Operation::kLt: return CmpInst::FCMP_OLT;
      case Operation::kLe: return CmpInst::FCMP_OLE;
      case Operation::kGt: return CmpInst::FCMP_OGT;
      case Operation::kGe: return CmpInst::FCMP_OGE;
      case Operation::kNotLt: return CmpInst::FCMP_UGE;
      case Operation::kNotLe: return CmpInst::FCMP_UGT;
      default: return CmpInst::BAD_FCMP_PREDICATE;
    }
  }
  switch (relation) {
    case Operation::kEq: return CmpInst::ICMP_EQ;
    case Operation::kNe: return CmpInst::ICMP_NE;
    case Operation::kLt: return is_signed(kind) ? CmpInst::ICMP_SLT : CmpInst::ICMP_ULT;
    case Operation::kLe: return is_signed(kind) ? CmpInst::ICMP_SLE : CmpInst::ICMP_ULE;
    case Operation::kGt: return is_signed(kind) ? CmpInst::ICMP_SGT : CmpInst::ICMP_UGT;
    case Operation::kGe: return is_signed(kind) ? CmpInst::ICMP_SGE : CmpInst::ICMP_UGE;
    default: return CmpInst::BAD_ICMP_PREDICATE;
  }
}

static_assert(std::ranges::all_of(bytecode::kInfo,
                                  [](const bytecode::OpInfo& op) {
                                    if (op.family != Family::kCompare && op.family != Family::kJumpCompare)
                                      return true;
                                    const CmpInst::Predicate predicate = predicate_of(op.operation, *op.kind);
                                    return predicate != CmpInst::BAD_FCMP_PREDICATE &&
                                           predicate != CmpInst::BAD_ICMP_PREDICATE;
                                  }),
              "a comparison has no lowering");

Value* convert(const Computation& c) {
  const Kind from = c.kind();
  const Kind to = c.result();
  llvm::Type* const type = register_type(c.b, to);
  Value* const value = c.x();
  if (is_float(from) && is_float(to)) return c.b.CreateFPCast(value, type);
  if (is_float(from)) {  // truncating, saturating, 0 for NaN
    const ID id = is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return c.b.CreateIntrinsic(id, {type, c.type()}, {value});
  }
  if (is_float(to)) return is_signed(from) ? c.b.CreateSIToFP(value, type) : c.b.CreateUIToFP(value, type);
  if (size_of(from) < 4) return c.extended(c.b.CreateTrunc(value, c.b.getIntNTy(8 * size_of(from))), type);
  return size_of(from) < size_of(to) ? c.extended(value, type) : c.b.CreateTrunc(value, type);
}

}  // namespace

Value* immediate(llvm::IRBuilder<>& builder, Kind kind, std::uint16_t operand) {
  auto* const type = llvm::cast<llvm::IntegerType>(register_type(builder, kind));
  return llvm::ConstantInt::getSigned(type, static_cast<std::int16_t>(operand));
}

Value* compute(llvm::IRBuilder<>& builder, const Instruction& instruction, ReadRegister read) {
  const Computation c(builder, instruction, read);
  const Operation operation = instruction.row->operation;
  switch (instruction.row->family) {
    case Family::kInteger: return by_row(kIntegers, operation, c);
    case Family::kShift: return by_row(kShifts, operation, c);
    case Family::kFloat: return by_row(kFloats, operation, c);
    case Family::kCompare: {
      Value* const left = c.x();
      return c.boolean(builder.CreateCmp(predicate_of(operation, c.kind()), left, c.y()));
    }
    default: return convert(c);
  }
}

Value* condition_of(llvm::IRBuilder<>& builder, const Instruction& instruction, ReadRegister read) {
  const Kind kind = *instruction.row->kind;
  Value* const left = read(instruction.a, slot_type(kind));
  Value* const right = instruction.row->b == Operand::kImm ? immediate(builder, kind, instruction.b)
                                                           : read(instruction.b, slot_type(kind));
  return builder.CreateCmp(predicate_of(instruction.row->operation, kind), left, right);
}

}  // namespace dhpvm::codegen
