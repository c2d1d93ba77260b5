// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/intrinsics.h"

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using bytecode::Op;
using hir::Binary;
using hir::ExprKind;

namespace {

struct FloatIntrinsic {
  std::string_view name;
  Op single;
  Op twice;
};

constexpr FloatIntrinsic kFloatIntrinsics[] = {
    {"sqrt", Op::kSqrtF32, Op::kSqrtF64},    {"floor", Op::kFloorF32, Op::kFloorF64},
    {"ceil", Op::kCeilF32, Op::kCeilF64},    {"trunc", Op::kTruncF32, Op::kTruncF64},
    {"round", Op::kRoundF32, Op::kRoundF64}, {"fma", Op::kFmaF32, Op::kFmaF64},
    {"exp", Op::kExpF32, Op::kExpF64},       {"exp2", Op::kExp2F32, Op::kExp2F64},
    {"expm1", Op::kExpm1F32, Op::kExpm1F64}, {"log", Op::kLogF32, Op::kLogF64},
    {"log2", Op::kLog2F32, Op::kLog2F64},    {"log10", Op::kLog10F32, Op::kLog10F64},
    {"log1p", Op::kLog1pF32, Op::kLog1pF64}, {"sin", Op::kSinF32, Op::kSinF64},
    {"cos", Op::kCosF32, Op::kCosF64},       {"tan", Op::kTanF32, Op::kTanF64},
    {"asin", Op::kAsinF32, Op::kAsinF64},    {"acos", Op::kAcosF32, Op::kAcosF64},
    {"atan", Op::kAtanF32, Op::kAtanF64},    {"sinh", Op::kSinhF32, Op::kSinhF64},
    {"cosh", Op::kCoshF32, Op::kCoshF64},    {"tanh", Op::kTanhF32, Op::kTanhF64},
    {"cbrt", Op::kCbrtF32, Op::kCbrtF64},    {"erf", Op::kErfF32, Op::kErfF64},
    {"pow", Op::kPowF32, Op::kPowF64},       {"atan2", Op::kAtan2F32, Op::kAtan2F64},
    {"hypot", Op::kHypotF32, Op::kHypotF64}, {"abs", Op::kAbsF32, Op::kAbsF64}};

struct BitIntrinsic {
  std::string_view name;
  Op narrow;
  Op wide;
};

constexpr BitIntrinsic kBitIntrinsics[] = {{"popcount", Op::kPopcountI32, Op::kPopcountI64},
                                           {"clz", Op::kClzI32, Op::kClzI64},
                                           {"ctz", Op::kCtzI32, Op::kCtzI64}};

// kNop: the machine has no such update for this element type.
struct AtomicIntrinsic {
  std::string_view name;
  Op i32, u32, i64, u64, f32, f64;
};

constexpr AtomicIntrinsic kAtomicIntrinsics[] = {
    // Adding nothing reads.
    {"load", Op::kAtomicAddI32, Op::kAtomicAddI32, Op::kAtomicAddI64, Op::kAtomicAddI64, Op::kAtomicAddF32,
     Op::kAtomicAddF64},
    {"store", Op::kAtomicExchangeI32, Op::kAtomicExchangeI32, Op::kAtomicExchangeI64, Op::kAtomicExchangeI64,
     Op::kNop, Op::kNop},
    {"add", Op::kAtomicAddI32, Op::kAtomicAddI32, Op::kAtomicAddI64, Op::kAtomicAddI64, Op::kAtomicAddF32,
     Op::kAtomicAddF64},
    {"min", Op::kAtomicMinI32, Op::kAtomicMinU32, Op::kAtomicMinI64, Op::kAtomicMinU64, Op::kNop, Op::kNop},
    {"max", Op::kAtomicMaxI32, Op::kAtomicMaxU32, Op::kAtomicMaxI64, Op::kAtomicMaxU64, Op::kNop, Op::kNop},
    {"and_", Op::kAtomicAndI32, Op::kAtomicAndI32, Op::kAtomicAndI64, Op::kAtomicAndI64, Op::kNop, Op::kNop},
    {"or_", Op::kAtomicOrI32, Op::kAtomicOrI32, Op::kAtomicOrI64, Op::kAtomicOrI64, Op::kNop, Op::kNop},
    {"xor", Op::kAtomicXorI32, Op::kAtomicXorI32, Op::kAtomicXorI64, Op::kAtomicXorI64, Op::kNop, Op::kNop},
    {"exchange", Op::kAtomicExchangeI32, Op::kAtomicExchangeI32, Op::kAtomicExchangeI64,
     Op::kAtomicExchangeI64, Op::kNop, Op::kNop},
    {"compare_exchange", Op::kAtomicCasI32, Op::kAtomicCasI32, Op::kAtomicCasI64, Op::kAtomicCasI64, Op::kNop,
     Op::kNop}};

}  // namespace

hir::Expr* IntrinsicCalls::machine_op(Op op, const Type* type, const std::vector<E>& arguments, Range range) {
  E made = make(ExprKind::kIntrinsic, type, range, arguments);
  made->op = op;
  return made;
}

hir::Expr* IntrinsicCalls::intrinsic(const FunctionInstance& instance, const std::vector<E>& arguments,
                                     Range range) {
  const ast::Function& declaration = *instance.symbol->declaration;
  const std::string_view name = declaration.name.text;
  if (instance.symbol->module->name == "array") {
    if (E made = array_intrinsic(name, arguments, instance, range); made != nullptr) return made;
  }
  const Type* type = arguments.empty() ? nullptr : arguments[0]->type;
  if (type != nullptr && type->is_number() && (name == "min" || name == "max")) {
    return binary(name == "min" ? Binary::kMin : Binary::kMax, arguments[0], arguments[1], range);
  }
  if (type != nullptr && type->is_integer() && name == "abs") return integer_abs(arguments[0], range);
  for (const FloatIntrinsic& known : kFloatIntrinsics) {
    if (known.name != name) continue;
    if (type->is(TypeKind::kF32)) return machine_op(known.single, type, arguments, range);
    if (type->is(TypeKind::kF64)) return machine_op(known.twice, type, arguments, range);
    Diagnostic& diagnostic = error(range, "'math.{}' takes f32 or f64, not '{}'", name, type->name);
    if (type->is_integer()) diagnostic.help("convert: `x as f64`");
    return wrong(range);
  }
  for (const BitIntrinsic& known : kBitIntrinsics) {
    if (known.name != name) continue;
    switch (type->kind) {
      case TypeKind::kI32:
      case TypeKind::kU32: return machine_op(known.narrow, type, arguments, range);
      case TypeKind::kI64:
      case TypeKind::kU64: return machine_op(known.wide, type, arguments, range);
      default: break;
    }
    error(range, "'math.{}' takes i32, u32, i64 or u64, not '{}'", name, type->name)
        .help("convert with `as`");
    return wrong(range);
  }
  if (name == "mul_high") return machine_op(Op::kMulHighU64, instance.result, arguments, range);
  if (name == "bits" || name == "from_bits" || name == "bits_f32" || name == "from_bits_f32") {
    return make(ExprKind::kBitCast, instance.result, range, arguments);
  }
  if (name == "min" || name == "max" || name == "abs") {
    error(range, "'math.{}' takes numbers, not '{}'", name, type->name);
  } else {
    error(declaration.name.range, "the machine has no intrinsic '{}'", name);
  }
  return wrong(range);
}

hir::Expr* IntrinsicCalls::integer_abs(E value, Range range) {
  const Type* type = value->type;
  if (type->is_unsigned_integer()) return value;
  std::vector<hir::Stmt*> before;
  value = stable(value, before);
  E negative = binary(Binary::kLt, value, integer(0, type, range), range);
  E negated = make(ExprKind::kUnary, type, range, {value});
  negated->unary = hir::Unary::kNegate;
  return in_block(std::move(before), make(ExprKind::kConditional, type, range, {negative, negated, value}),
                  range);
}

hir::Expr* IntrinsicCalls::array_intrinsic(std::string_view name, const std::vector<E>& arguments,
                                           const FunctionInstance& instance, Range range) {
  const Type* nothing = basic(TypeKind::kVoid);
  if (name == "copy") {
    // The declaration's order: dst, at, src, from, n.
    return make(ExprKind::kArrayCopy, nothing, range, arguments);
  }
  if (name == "unset") return make(ExprKind::kNewArray, instance.result, range, arguments);
  if (name == "clear") {
    E element = make(ExprKind::kIndex, arguments[0]->type->element, range, {arguments[0], arguments[1]});
    E made = make(ExprKind::kBlock, nothing, range);
    made->statements.push_back(assign(element, make(ExprKind::kZero, element->type, range), range));
    return made;
  }
  return nullptr;
}

hir::Expr* IntrinsicCalls::atomic_call(const FunctionSymbol& symbol, const ast::Expr& call) {
  const std::string_view name = symbol.name();
  const bool swaps = name == "compare_exchange";
  const bool loads = name == "load";
  const std::string usage = "atomic." + std::string(name) +
                            (swaps   ? "(a[i], expected, desired)"
                             : loads ? "(a[i])"
                                     : "(a[i], value)");
  const std::size_t count = swaps ? 3 : loads ? 1 : 2;
  if (!parts_.argument_matching.expect_arguments(call, count, count, usage)) return wrong(call.range);
  const ast::Expr& place = *call.arguments[0].value;
  E element = parts_.conversions.value(place);
  if (element->type->is(TypeKind::kError)) return element;
  if (element->kind != ExprKind::kIndex) {
    error(place.range, "an atomic update needs an element of an array").help("write `{}`", usage);
    return wrong(call.range);
  }
  if (parts_.kernel_captures.refuses_write(*element->operands[0], place.range)) return wrong(call.range);
  const Type* type = element->type;
  Op op = Op::kNop;
  for (const AtomicIntrinsic& known : kAtomicIntrinsics) {
    if (known.name != name) continue;
    switch (type->kind) {
      case TypeKind::kI32: op = known.i32; break;
      case TypeKind::kU32: op = known.u32; break;
      case TypeKind::kI64: op = known.i64; break;
      case TypeKind::kU64: op = known.u64; break;
      case TypeKind::kF32: op = known.f32; break;
      case TypeKind::kF64: op = known.f64; break;
      default: break;
    }
  }
  if (op == Op::kNop) {
    error(place.range, "'atomic.{}' does not work on '{}'", name, type->name)
        .help("{}", name == "add" || loads ? "use elements of i32, u32, i64, u64, f32 or f64"
                                           : "use elements of i32, u32, i64 or u64");
    return wrong(call.range);
  }
  E made = make(ExprKind::kAtomic, type, call.range, element->operands);
  made->op = op;
  for (std::size_t i = 1; i < count; ++i) {
    E operand = parts_.conversions.value_as(*call.arguments[i].value, type);
    if (operand->type->is(TypeKind::kError)) return operand;
    made->operands.push_back(operand);
  }
  if (loads) made->operands.push_back(neutral(type, call.range));
  if (name != "store") return made;
  E stored = make(ExprKind::kBlock, basic(TypeKind::kVoid), call.range);
  stored->statements.push_back(evaluate(made));
  return stored;
}

// Changes no number that it is added to: 0, or -0.0, since -0.0 + 0.0 is 0.0.
hir::Expr* IntrinsicCalls::neutral(const Type* type, Range range) {
  if (!type->is_float()) return integer(0, type, range);
  E made = make(ExprKind::kFloat, type, range);
  made->number = -0.0;
  return made;
}

}  // namespace dhpvm::compiler
