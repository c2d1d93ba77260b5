// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/intrinsics.h"

#include <algorithm>

#include "compiler/check/body_parts.h"

namespace dhpvm::compiler {

using bytecode::Op;
using hir::Binary;
using hir::ExprKind;
using hir::StmtKind;

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

// kNop: the instruction set has no such update for this element type. Exchanges and compare-exchanges of floats use
// their bits; minimum and maximum of floats are loops of compare-exchanges.
struct AtomicIntrinsic {
  std::string_view name;
  Op i32, u32, i64, u64, f32, f64;

  Op op_for(const Type& type) const {
    switch (type.kind) {
      case TypeKind::kI32: return i32;
      case TypeKind::kU32: return u32;
      case TypeKind::kI64: return i64;
      case TypeKind::kU64: return u64;
      case TypeKind::kF32: return f32;
      case TypeKind::kF64: return f64;
      default: return Op::kNop;
    }
  }
};

constexpr AtomicIntrinsic kAtomicIntrinsics[] = {
    // Adding 0 reads.
    {"load", Op::kAtomicAddI32, Op::kAtomicAddI32, Op::kAtomicAddI64, Op::kAtomicAddI64, Op::kAtomicAddF32,
     Op::kAtomicAddF64},
    {"store", Op::kAtomicExchangeI32, Op::kAtomicExchangeI32, Op::kAtomicExchangeI64, Op::kAtomicExchangeI64,
     Op::kAtomicExchangeI32, Op::kAtomicExchangeI64},
    {"add", Op::kAtomicAddI32, Op::kAtomicAddI32, Op::kAtomicAddI64, Op::kAtomicAddI64, Op::kAtomicAddF32,
     Op::kAtomicAddF64},
    {"min", Op::kAtomicMinI32, Op::kAtomicMinU32, Op::kAtomicMinI64, Op::kAtomicMinU64, Op::kAtomicCasI32,
     Op::kAtomicCasI64},
    {"max", Op::kAtomicMaxI32, Op::kAtomicMaxU32, Op::kAtomicMaxI64, Op::kAtomicMaxU64, Op::kAtomicCasI32,
     Op::kAtomicCasI64},
    {"and_", Op::kAtomicAndI32, Op::kAtomicAndI32, Op::kAtomicAndI64, Op::kAtomicAndI64, Op::kNop, Op::kNop},
    {"or_", Op::kAtomicOrI32, Op::kAtomicOrI32, Op::kAtomicOrI64, Op::kAtomicOrI64, Op::kNop, Op::kNop},
    {"xor", Op::kAtomicXorI32, Op::kAtomicXorI32, Op::kAtomicXorI64, Op::kAtomicXorI64, Op::kNop, Op::kNop},
    {"exchange", Op::kAtomicExchangeI32, Op::kAtomicExchangeI32, Op::kAtomicExchangeI64,
     Op::kAtomicExchangeI64, Op::kAtomicExchangeI32, Op::kAtomicExchangeI64},
    {"compare_exchange", Op::kAtomicCasI32, Op::kAtomicCasI32, Op::kAtomicCasI64, Op::kAtomicCasI64,
     Op::kAtomicCasI32, Op::kAtomicCasI64}};

// The updated element or its field; null for any other place.
hir::Expr* element_of(hir::Expr* place) {
  while (place->kind == ExprKind::kField && place->operands[0]->type->is(TypeKind::kStruct))
    place = place->operands[0];
  return place->kind == ExprKind::kIndex ? place : nullptr;
}

// Updates of floats by operations on their bits.
class FloatUpdates : public BodyPart {
 public:
  FloatUpdates(BodyParts& parts, const Type* type, Op op, Range range)
      : BodyPart(parts),
        type_(type),
        bits_(basic(type->is(TypeKind::kF32) ? TypeKind::kU32 : TypeKind::kU64)),
        op_(op),
        range_(range) {}

  // Exchange or compare-exchange.
  E replace(E place, const std::vector<E>& values) {
    std::vector<E> operands = {place};
    for (E value : values) operands.push_back(bits(value));
    return number(update(std::move(operands)));
  }

  // Assigns `value` while it compares so with the element: this is how math.min and math.max work. A compare-exchange
  // of zeros reads, since it changes nothing.
  E replace_if(Binary compares, E place, E value) {
    Body all;
    place = evaluated(place, all);
    value = stable(value, all);
    E zero = integer(0, bits_, range_);
    hir::Local* const old = keep(number(update({place, zero, zero})), all);
    Body turn;
    hir::Local* const seen = keep(update({place, bits(read(old, range_)), bits(value)}), turn);
    hir::Stmt* const done = analysis_.make(StmtKind::kIf, range_);
    done->value = binary(Binary::kEq, read(seen, range_), bits(read(old, range_)), range_);
    done->body = {analysis_.make(StmtKind::kBreak, range_)};
    turn.push_back(done);
    turn.push_back(assign(read(old, range_), number(read(seen, range_)), range_));
    hir::Stmt* const again = analysis_.make(StmtKind::kWhile, range_);
    again->value = binary(compares, value, read(old, range_), range_);
    again->body = std::move(turn);
    all.push_back(again);
    return in_block(std::move(all), read(old, range_), range_);
  }

 private:
  E update(std::vector<E> operands) {
    E made = make(ExprKind::kAtomic, bits_, range_, std::move(operands));
    made->op = op_;
    return made;
  }
  E bits(E value) { return make(ExprKind::kBitCast, bits_, range_, {value}); }
  E number(E value) { return make(ExprKind::kBitCast, type_, range_, {value}); }

  // The place with its array and its indices evaluated once.
  E evaluated(E place, Body& before) {
    E made = make(place->kind, place->type, range_, place->operands);
    made->index = place->index;
    for (E& operand : made->operands)
      operand = place->kind == ExprKind::kField ? evaluated(operand, before) : stable(operand, before);
    return made;
  }

  const Type* type_;
  const Type* bits_;
  Op op_;
  Range range_;
};

// Whether it is an `i64` that is written as a number in this text, and not by the name of a constant.
bool is_integer_literal(const hir::Expr& argument, std::string_view text) {
  return argument.kind == ExprKind::kInt && argument.type->is(TypeKind::kI64) &&
         text.find_first_not_of("-0123456789_") == std::string_view::npos;
}

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
    const auto is_literal = [&](const hir::Expr* argument) {
      return is_integer_literal(*argument,
                                analysis_.diagnostics().sources().text(analysis_.range_of(argument)));
    };
    if (std::ranges::all_of(arguments, is_literal)) {
      std::vector<E> floats;
      for (E argument : arguments) {
        floats.push_back(make(ExprKind::kFloat, basic(TypeKind::kF64), analysis_.range_of(argument)));
        floats.back()->number = static_cast<double>(static_cast<std::int64_t>(argument->integer));
      }
      return machine_op(known.twice, basic(TypeKind::kF64), floats, range);
    }
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
  E updated = parts_.conversions.value(place);
  if (updated->type->is(TypeKind::kError)) return updated;
  const hir::Expr* const element = element_of(updated);
  if (element == nullptr) {
    error(place.range, "an atomic update needs an element of an array, or a field of one")
        .help("write `{}`, or `a[i].field`", usage);
    return wrong(call.range);
  }
  if (parts_.kernel_captures.refuses_write(*element->operands[0], place.range)) return wrong(call.range);
  const Type* type = updated->type;
  const auto* const known = std::ranges::find(kAtomicIntrinsics, name, &AtomicIntrinsic::name);
  const Op op = known->op_for(*type);
  if (op == Op::kNop) {
    const bool is_bitwise = known->f64 == Op::kNop;
    error(place.range, "'atomic.{}' does not work on '{}'", name, type->name)
        .help("use elements of i32, u32, i64{}", is_bitwise ? " or u64" : ", u64, f32 or f64");
    return wrong(call.range);
  }
  std::vector<E> values;
  for (std::size_t i = 1; i < count; ++i) {
    values.push_back(parts_.conversions.value_as(*call.arguments[i].value, type));
    if (values.back()->type->is(TypeKind::kError)) return values.back();
  }
  if (loads) values.push_back(neutral(type, call.range));
  E made = nullptr;
  if (type->is_float() && !loads && name != "add") {
    FloatUpdates floats(parts_, type, op, call.range);
    if (name == "min" || name == "max")
      return floats.replace_if(name == "min" ? Binary::kLt : Binary::kGt, updated, values[0]);
    made = floats.replace(updated, values);
  } else {
    made = make(ExprKind::kAtomic, type, call.range, {updated});
    made->op = op;
    made->operands.insert(made->operands.end(), values.begin(), values.end());
  }
  if (name != "store") return made;
  E stored = make(ExprKind::kBlock, basic(TypeKind::kVoid), call.range);
  stored->statements.push_back(evaluate(made));
  return stored;
}

// The number that addition leaves unchanged: 0, or -0.0, since -0.0 + 0.0 is 0.0.
hir::Expr* IntrinsicCalls::neutral(const Type* type, Range range) {
  if (!type->is_float()) return integer(0, type, range);
  E made = make(ExprKind::kFloat, type, range);
  made->number = -0.0;
  return made;
}

}  // namespace dhpvm::compiler
