// SPDX-License-Identifier: Apache-2.0
// Integer and floating-point arithmetic, comparisons, conversions. No fast-math flags, no contraction: the
// bits are the interpreter's.
#include <llvm/IR/Intrinsics.h>

#include "codegen/lower/lowering.h"

namespace dhpvm::codegen {

using bytecode::Op;
using llvm::Intrinsic::ID;

namespace {

// The immediate operand of an instruction's last position.
std::int64_t immediate(const Instruction& i) { return static_cast<std::int16_t>(i.c); }

}  // namespace

// The divisor is not 0. The processor traps for the most negative value / -1, so that -1 is treated apart. A divisor that the
// program states is neither, mostly; then nothing is checked, and the instruction cannot trap.
void Lowering::divide(const Instruction& i, bool wide, bool is_signed, bool remainder) {
  const SlotType type = wide ? SlotType::kI64 : SlotType::kI32;
  Value* const left = get(i.b, type);
  const auto divided_by = [&](Value* divisor) {
    if (is_signed) return remainder ? b_.CreateSRem(left, divisor) : b_.CreateSDiv(left, divisor);
    return remainder ? b_.CreateURem(left, divisor) : b_.CreateUDiv(left, divisor);
  };
  llvm::Type* const llvm_int = llvm_type(type);
  if (const std::optional<std::uint64_t> stated = stated_.bits(i.c)) {
    auto* const divisor = llvm::cast<llvm::ConstantInt>(
        wide ? b_.getInt64(*stated) : b_.getInt32(static_cast<std::uint32_t>(*stated)));
    if (!divisor->isZero() && !(is_signed && divisor->isMinusOne())) {
      set(i.a, divided_by(divisor));
      return;
    }
  }
  Value* const right = get(i.c, type);
  guard(b_.CreateICmpNE(right, llvm::ConstantInt::get(llvm_int, 0)), i, TrapKind::kDivisionByZero);
  if (!is_signed) {
    set(i.a, divided_by(right));
    return;
  }
  Value* const is_minus_one = b_.CreateICmpEQ(right, llvm::ConstantInt::getSigned(llvm_int, -1));
  Value* const result = divided_by(b_.CreateSelect(is_minus_one, llvm::ConstantInt::get(llvm_int, 1), right));
  // Any value modulo 1 is 0, as it is modulo -1.
  set(i.a, remainder ? result : b_.CreateSelect(is_minus_one, b_.CreateNeg(left), result));
}

bool Lowering::lower_integer(const Instruction& i) {
  const auto x32 = [&] { return get_i32(i.b); };
  const auto y32 = [&] { return get_i32(i.c); };
  const auto x64 = [&] { return get_i64(i.b); };
  const auto y64 = [&] { return get_i64(i.c); };
  const auto k32 = [&] { return b_.getInt32(static_cast<std::uint32_t>(immediate(i))); };
  const auto k64 = [&] { return b_.getInt64(static_cast<std::uint64_t>(immediate(i))); };
  const auto unary = [&](ID id, Value* value, bool flag) {
    set(i.a, b_.CreateBinaryIntrinsic(id, value, b_.getInt1(flag)));
  };
  const auto binary = [&](ID id, Value* left, Value* right) {
    set(i.a, b_.CreateBinaryIntrinsic(id, left, right));
  };
  const auto boolean = [&](Value* value) { set(i.a, b_.CreateZExt(value, b_.getInt32Ty())); };
  // Shift counts are taken modulo the width; the count is always 32 bits.
  const auto count32 = [&] { return b_.CreateAnd(y32(), b_.getInt32(31)); };
  const auto count64 = [&] { return b_.CreateZExt(b_.CreateAnd(y32(), b_.getInt32(63)), b_.getInt64Ty()); };
  const auto fixed32 = [&] { return b_.getInt32(static_cast<std::uint32_t>(immediate(i)) & 31); };
  const auto fixed64 = [&] { return b_.getInt64(static_cast<std::uint64_t>(immediate(i)) & 63); };
  switch (i.op) {
    case Op::kAddI32: set(i.a, b_.CreateAdd(x32(), y32())); return true;
    case Op::kAddI64: set(i.a, b_.CreateAdd(x64(), y64())); return true;
    case Op::kSubI32: set(i.a, b_.CreateSub(x32(), y32())); return true;
    case Op::kSubI64: set(i.a, b_.CreateSub(x64(), y64())); return true;
    case Op::kMulI32: set(i.a, b_.CreateMul(x32(), y32())); return true;
    case Op::kMulI64: set(i.a, b_.CreateMul(x64(), y64())); return true;
    case Op::kAddImmI32: set(i.a, b_.CreateAdd(x32(), k32())); return true;
    case Op::kAddImmI64: set(i.a, b_.CreateAdd(x64(), k64())); return true;
    case Op::kMulImmI32: set(i.a, b_.CreateMul(x32(), k32())); return true;
    case Op::kMulImmI64: set(i.a, b_.CreateMul(x64(), k64())); return true;
    case Op::kDivI32: divide(i, false, true, false); return true;
    case Op::kDivI64: divide(i, true, true, false); return true;
    case Op::kDivU32: divide(i, false, false, false); return true;
    case Op::kDivU64: divide(i, true, false, false); return true;
    case Op::kRemI32: divide(i, false, true, true); return true;
    case Op::kRemI64: divide(i, true, true, true); return true;
    case Op::kRemU32: divide(i, false, false, true); return true;
    case Op::kRemU64: divide(i, true, false, true); return true;
    case Op::kNegI32: set(i.a, b_.CreateNeg(x32())); return true;
    case Op::kNegI64: set(i.a, b_.CreateNeg(x64())); return true;
    case Op::kAndI64: set(i.a, b_.CreateAnd(x64(), y64())); return true;
    case Op::kOrI64: set(i.a, b_.CreateOr(x64(), y64())); return true;
    case Op::kXorI64: set(i.a, b_.CreateXor(x64(), y64())); return true;
    case Op::kNotI32: set(i.a, b_.CreateNot(x32())); return true;
    case Op::kNotI64: set(i.a, b_.CreateNot(x64())); return true;
    case Op::kNotBool: boolean(b_.CreateICmpEQ(x32(), b_.getInt32(0))); return true;
    case Op::kShlI32: set(i.a, b_.CreateShl(x32(), count32())); return true;
    case Op::kShlI64: set(i.a, b_.CreateShl(x64(), count64())); return true;
    case Op::kShrI32: set(i.a, b_.CreateAShr(x32(), count32())); return true;
    case Op::kShrI64: set(i.a, b_.CreateAShr(x64(), count64())); return true;
    case Op::kShrU32: set(i.a, b_.CreateLShr(x32(), count32())); return true;
    case Op::kShrU64: set(i.a, b_.CreateLShr(x64(), count64())); return true;
    case Op::kShlImmI32: set(i.a, b_.CreateShl(x32(), fixed32())); return true;
    case Op::kShlImmI64: set(i.a, b_.CreateShl(x64(), fixed64())); return true;
    case Op::kShrImmI32: set(i.a, b_.CreateAShr(x32(), fixed32())); return true;
    case Op::kShrImmI64: set(i.a, b_.CreateAShr(x64(), fixed64())); return true;
    case Op::kShrImmU32: set(i.a, b_.CreateLShr(x32(), fixed32())); return true;
    case Op::kShrImmU64: set(i.a, b_.CreateLShr(x64(), fixed64())); return true;
    case Op::kAndImmI64: set(i.a, b_.CreateAnd(x64(), k64())); return true;
    case Op::kMinI32: binary(llvm::Intrinsic::smin, x32(), y32()); return true;
    case Op::kMinI64: binary(llvm::Intrinsic::smin, x64(), y64()); return true;
    case Op::kMinU32: binary(llvm::Intrinsic::umin, x32(), y32()); return true;
    case Op::kMinU64: binary(llvm::Intrinsic::umin, x64(), y64()); return true;
    case Op::kMaxI32: binary(llvm::Intrinsic::smax, x32(), y32()); return true;
    case Op::kMaxI64: binary(llvm::Intrinsic::smax, x64(), y64()); return true;
    case Op::kMaxU32: binary(llvm::Intrinsic::umax, x32(), y32()); return true;
    case Op::kMaxU64: binary(llvm::Intrinsic::umax, x64(), y64()); return true;
    case Op::kMulHighU64: {
      llvm::Type* const wide = b_.getInt128Ty();
      Value* const product = b_.CreateMul(b_.CreateZExt(x64(), wide), b_.CreateZExt(y64(), wide));
      set(i.a, b_.CreateTrunc(b_.CreateLShr(product, 64), b_.getInt64Ty()));
      return true;
    }
    case Op::kPopcountI32: set(i.a, b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x32())); return true;
    case Op::kPopcountI64: set(i.a, b_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x64())); return true;
    case Op::kClzI32: unary(llvm::Intrinsic::ctlz, x32(), false); return true;
    case Op::kClzI64: unary(llvm::Intrinsic::ctlz, x64(), false); return true;
    case Op::kCtzI32: unary(llvm::Intrinsic::cttz, x32(), false); return true;
    case Op::kCtzI64: unary(llvm::Intrinsic::cttz, x64(), false); return true;
    case Op::kEqI32: boolean(b_.CreateICmpEQ(x32(), y32())); return true;
    case Op::kEqI64: boolean(b_.CreateICmpEQ(x64(), y64())); return true;
    case Op::kNeI32: boolean(b_.CreateICmpNE(x32(), y32())); return true;
    case Op::kNeI64: boolean(b_.CreateICmpNE(x64(), y64())); return true;
    case Op::kLtI32: boolean(b_.CreateICmpSLT(x32(), y32())); return true;
    case Op::kLtI64: boolean(b_.CreateICmpSLT(x64(), y64())); return true;
    case Op::kLtU32: boolean(b_.CreateICmpULT(x32(), y32())); return true;
    case Op::kLtU64: boolean(b_.CreateICmpULT(x64(), y64())); return true;
    case Op::kLeI32: boolean(b_.CreateICmpSLE(x32(), y32())); return true;
    case Op::kLeI64: boolean(b_.CreateICmpSLE(x64(), y64())); return true;
    case Op::kLeU32: boolean(b_.CreateICmpULE(x32(), y32())); return true;
    case Op::kLeU64: boolean(b_.CreateICmpULE(x64(), y64())); return true;
    case Op::kMoveP: {
      const SlotType type = current_type(i.b);
      Value* const value = get(i.b, type);
      set(i.a, value);
      // A copied constant may still be read as anything.
      if (type == SlotType::kBits) types_[i.a] = SlotType::kBits;
      return true;
    }
    case Op::kImm: set_bits(i.a, static_cast<std::uint64_t>(std::int64_t{i.bc})); return true;
    case Op::kConst: set_bits(i.a, i.x); return true;
    default: return false;
  }
}

bool Lowering::lower_float(const Instruction& i) {
  const bool wide = result_type(i.op) == SlotType::kF64;
  const SlotType type = wide ? SlotType::kF64 : SlotType::kF32;
  const auto x = [&] { return get(i.b, type); };
  const auto y = [&] { return get(i.c, type); };
  const auto intrinsic = [&](ID id) { set(i.a, b_.CreateUnaryIntrinsic(id, x())); };
  // A function of glibc's, by the name of its f64 form.
  const auto call = [&](llvm::StringRef name, std::initializer_list<Value*> arguments) {
    const std::vector<Value*> values(arguments);
    const std::vector<llvm::Type*> types(values.size(), llvm_type(type));
    llvm::Module& module = *b_.GetInsertBlock()->getModule();
    llvm::FunctionCallee function = module.getOrInsertFunction(
        wide ? name.str() : (name + "f").str(), llvm::FunctionType::get(llvm_type(type), types, false));
    auto* const declared = llvm::cast<llvm::Function>(function.getCallee());
    declared->setDoesNotThrow();
    declared->setWillReturn();
    // errno is nobody's business here.
    declared->setDoesNotAccessMemory();
    set(i.a, b_.CreateCall(function, values));
  };
  // As in the interpreter: `smaller` decides, and is false for NaN.
  const auto choose = [&](bool minimum) {
    Value* const left = x();
    Value* const right = y();
    Value* const takes_right = minimum ? b_.CreateFCmpOLT(right, left) : b_.CreateFCmpOGT(right, left);
    set(i.a, b_.CreateSelect(takes_right, right, left));
  };
  const auto compare = [&](llvm::CmpInst::Predicate predicate, SlotType operands) {
    Value* const outcome = b_.CreateFCmp(predicate, get(i.b, operands), get(i.c, operands));
    set(i.a, b_.CreateZExt(outcome, b_.getInt32Ty()));
  };
#define DHPVM_BOTH(name) \
  case Op::k##name##F32: \
  case Op::k##name##F64
  // clang-format off: a table
  switch (i.op) {
    DHPVM_BOTH(Add): set(i.a, b_.CreateFAdd(x(), y())); return true;
    DHPVM_BOTH(Sub): set(i.a, b_.CreateFSub(x(), y())); return true;
    DHPVM_BOTH(Mul): set(i.a, b_.CreateFMul(x(), y())); return true;
    DHPVM_BOTH(Div): set(i.a, b_.CreateFDiv(x(), y())); return true;
    DHPVM_BOTH(Rem): call("fmod", {x(), y()}); return true;
    DHPVM_BOTH(Neg): set(i.a, b_.CreateFNeg(x())); return true;
    DHPVM_BOTH(Min): choose(true); return true;
    DHPVM_BOTH(Max): choose(false); return true;
    DHPVM_BOTH(Abs): intrinsic(llvm::Intrinsic::fabs); return true;
    DHPVM_BOTH(Sqrt): intrinsic(llvm::Intrinsic::sqrt); return true;
    DHPVM_BOTH(Floor): intrinsic(llvm::Intrinsic::floor); return true;
    DHPVM_BOTH(Ceil): intrinsic(llvm::Intrinsic::ceil); return true;
    DHPVM_BOTH(Trunc): intrinsic(llvm::Intrinsic::trunc); return true;
    DHPVM_BOTH(Round): intrinsic(llvm::Intrinsic::round); return true;
    DHPVM_BOTH(Fma):
      set(i.a, b_.CreateIntrinsic(llvm::Intrinsic::fma, {llvm_type(type)}, {x(), y(), get(i.x0(), type)}));
      return true;
    DHPVM_BOTH(Exp): call("exp", {x()}); return true;
    DHPVM_BOTH(Exp2): call("exp2", {x()}); return true;
    DHPVM_BOTH(Expm1): call("expm1", {x()}); return true;
    DHPVM_BOTH(Log): call("log", {x()}); return true;
    DHPVM_BOTH(Log2): call("log2", {x()}); return true;
    DHPVM_BOTH(Log10): call("log10", {x()}); return true;
    DHPVM_BOTH(Log1p): call("log1p", {x()}); return true;
    DHPVM_BOTH(Sin): call("sin", {x()}); return true;
    DHPVM_BOTH(Cos): call("cos", {x()}); return true;
    DHPVM_BOTH(Tan): call("tan", {x()}); return true;
    DHPVM_BOTH(Asin): call("asin", {x()}); return true;
    DHPVM_BOTH(Acos): call("acos", {x()}); return true;
    DHPVM_BOTH(Atan): call("atan", {x()}); return true;
    DHPVM_BOTH(Sinh): call("sinh", {x()}); return true;
    DHPVM_BOTH(Cosh): call("cosh", {x()}); return true;
    DHPVM_BOTH(Tanh): call("tanh", {x()}); return true;
    DHPVM_BOTH(Cbrt): call("cbrt", {x()}); return true;
    DHPVM_BOTH(Erf): call("erf", {x()}); return true;
    DHPVM_BOTH(Pow): call("pow", {x(), y()}); return true;
    DHPVM_BOTH(Atan2): call("atan2", {x(), y()}); return true;
    DHPVM_BOTH(Hypot): call("hypot", {x(), y()}); return true;
    case Op::kEqF32: compare(llvm::CmpInst::FCMP_OEQ, SlotType::kF32); return true;
    case Op::kEqF64: compare(llvm::CmpInst::FCMP_OEQ, SlotType::kF64); return true;
    case Op::kNeF32: compare(llvm::CmpInst::FCMP_UNE, SlotType::kF32); return true;
    case Op::kNeF64: compare(llvm::CmpInst::FCMP_UNE, SlotType::kF64); return true;
    case Op::kLtF32: compare(llvm::CmpInst::FCMP_OLT, SlotType::kF32); return true;
    case Op::kLtF64: compare(llvm::CmpInst::FCMP_OLT, SlotType::kF64); return true;
    case Op::kLeF32: compare(llvm::CmpInst::FCMP_OLE, SlotType::kF32); return true;
    case Op::kLeF64: compare(llvm::CmpInst::FCMP_OLE, SlotType::kF64); return true;
    default: return false;
  }
    // clang-format on
#undef DHPVM_BOTH
}

bool Lowering::lower_conversion(const Instruction& i) {
  llvm::Type* const i32 = b_.getInt32Ty();
  llvm::Type* const i64 = b_.getInt64Ty();
  llvm::Type* const f32 = b_.getFloatTy();
  llvm::Type* const f64 = b_.getDoubleTy();
  const auto extend = [&](unsigned bits, bool is_signed) {
    Value* const narrow = b_.CreateTrunc(get_i32(i.b), b_.getIntNTy(bits));
    set(i.a, is_signed ? b_.CreateSExt(narrow, i32) : b_.CreateZExt(narrow, i32));
  };
  // Towards zero, saturating, 0 for NaN.
  const auto to_integer = [&](bool is_signed, llvm::Type* to, SlotType from) {
    const ID id = is_signed ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    set(i.a, b_.CreateIntrinsic(id, {to, llvm_type(from)}, {get(i.b, from)}));
  };
  switch (i.op) {
    case Op::kSignExtend8: extend(8, true); return true;
    case Op::kZeroExtend8: extend(8, false); return true;
    case Op::kSignExtend16: extend(16, true); return true;
    case Op::kZeroExtend16: extend(16, false); return true;
    case Op::kI32ToI64: set(i.a, b_.CreateSExt(get_i32(i.b), i64)); return true;
    case Op::kU32ToU64: set(i.a, b_.CreateZExt(get_i32(i.b), i64)); return true;
    case Op::kI64ToI32: set(i.a, b_.CreateTrunc(get_i64(i.b), i32)); return true;
    case Op::kI32ToF32: set(i.a, b_.CreateSIToFP(get_i32(i.b), f32)); return true;
    case Op::kI32ToF64: set(i.a, b_.CreateSIToFP(get_i32(i.b), f64)); return true;
    case Op::kI64ToF32: set(i.a, b_.CreateSIToFP(get_i64(i.b), f32)); return true;
    case Op::kI64ToF64: set(i.a, b_.CreateSIToFP(get_i64(i.b), f64)); return true;
    case Op::kU32ToF32: set(i.a, b_.CreateUIToFP(get_i32(i.b), f32)); return true;
    case Op::kU32ToF64: set(i.a, b_.CreateUIToFP(get_i32(i.b), f64)); return true;
    case Op::kU64ToF32: set(i.a, b_.CreateUIToFP(get_i64(i.b), f32)); return true;
    case Op::kU64ToF64: set(i.a, b_.CreateUIToFP(get_i64(i.b), f64)); return true;
    case Op::kF32ToI32: to_integer(true, i32, SlotType::kF32); return true;
    case Op::kF32ToI64: to_integer(true, i64, SlotType::kF32); return true;
    case Op::kF32ToU32: to_integer(false, i32, SlotType::kF32); return true;
    case Op::kF32ToU64: to_integer(false, i64, SlotType::kF32); return true;
    case Op::kF64ToI32: to_integer(true, i32, SlotType::kF64); return true;
    case Op::kF64ToI64: to_integer(true, i64, SlotType::kF64); return true;
    case Op::kF64ToU32: to_integer(false, i32, SlotType::kF64); return true;
    case Op::kF64ToU64: to_integer(false, i64, SlotType::kF64); return true;
    case Op::kF32ToF64: set(i.a, b_.CreateFPExt(get_f32(i.b), f64)); return true;
    case Op::kF64ToF32: set(i.a, b_.CreateFPTrunc(get_f64(i.b), f32)); return true;
    default: return false;
  }
}

}  // namespace dhpvm::codegen
