// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/expr.h"

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;

namespace {

// Conversions that leave the register unchanged. Registers of unsigned types and bool hold the number in all 64 bits;
// those of signed types up to 32 bits in the low 32, with arbitrary upper bits.
bool same_register(const Type* to, const Type* from) {
  if (to == from) return true;
  const bool wide_from = from->is(TypeKind::kI64) || from->is(TypeKind::kU64);
  const bool zero_extended = from->is(TypeKind::kBool) || from->is_unsigned_integer();
  switch (to->kind) {
    case TypeKind::kI64:
    case TypeKind::kU64: return wide_from || zero_extended;
    case TypeKind::kU32: return zero_extended && !wide_from;
    case TypeKind::kI32: return from->is(TypeKind::kBool) || (from->is_integer() && !wide_from);
    // A smaller type into one that contains all its numbers.
    case TypeKind::kI16:
      return from->is(TypeKind::kBool) || from->is(TypeKind::kU8) || from->is(TypeKind::kI8);
    case TypeKind::kU16: return from->is(TypeKind::kBool) || from->is(TypeKind::kU8);
    case TypeKind::kI8:
    case TypeKind::kU8: return from->is(TypeKind::kBool);
    default: return false;
  }
}

bool converts_in_place(const hir::Expr& e) {
  const Type* from = e.operands[0]->type;
  // Bits are unchanged, except that integers are extended.
  if (e.kind == ExprKind::kBitCast &&
      (e.type->is_float() || (from->is_float() && !e.type->is(TypeKind::kU32))))
    return true;
  return same_register(e.type, from);
}

}  // namespace

std::optional<std::span<const Register>> ExpressionLowering::in_place(const Expr& e) {
  switch (e.kind) {
    case ExprKind::kLocal: {
      const LocalSlot& local = parts_.locals.slot(*e.local);
      if (local.kind != LocalSlot::Kind::kRegisters || state_.facts.assigned_in_expression.contains(e.local))
        return std::nullopt;
      return std::span<const Register>(local.registers);
    }
    case ExprKind::kField: {
      const Expr& whole = *e.operands[0];
      if (!whole.type->is(TypeKind::kStruct)) return std::nullopt;
      const auto registers = in_place(whole);
      if (!registers) return std::nullopt;
      const LeafRange range = types_.field(whole.type, e.index);
      return registers->subspan(range.first, range.count);
    }
    case ExprKind::kUnwrap: {
      const auto registers = in_place(*e.operands[0]);
      if (!registers || e.operands[0]->type->is_reference()) return registers;
      return registers->subspan(1);
    }
    case ExprKind::kWrap: return e.type->is_reference() ? in_place(*e.operands[0]) : std::nullopt;
    case ExprKind::kConvert:
    case ExprKind::kBitCast: return converts_in_place(e) ? in_place(*e.operands[0]) : std::nullopt;
    default: return std::nullopt;
  }
}

Register ExpressionLowering::scalar(const Expr& e) {
  if (const auto value = constant_of(e)) return constant(*value);
  if (const auto registers = in_place(e)) return (*registers)[0];
  if (e.kind == ExprKind::kCheckNonNull && e.type->is_reference()) {
    const Register value = scalar(*e.operands[0]);
    At at(*this, e.position);
    code_.emit(Op::kNullCheck, value);
    return value;
  }
  const Register to = allocate(leaves(e.type)[0]);
  into(e, to);
  return to;
}

Values ExpressionLowering::values(const Expr& e) {
  const Leaves& types = leaves(e.type);
  if (types.size() == 1) return {scalar(e)};
  if (const auto registers = in_place(e)) return {registers->begin(), registers->end()};
  Values result = allocate(e.type);
  into(e, Target{result});
  return result;
}

void ExpressionLowering::zero(const Leaves& types, std::span<const Register> to) {
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (types[i].is_ref()) {
      code_.emit(Op::kNull, to[i]);
    } else {
      code_.load(to[i], 0);
    }
  }
}

// Every case for one leaf writes non-fresh registers only after its operands are read; StatementLowering::assign lists
// the exceptions.
void ExpressionLowering::into(const Expr& e, Target target) {
  if (!code_.reachable()) return;
  Scope scope(*this);
  At at(*this, e.position);
  if (const auto value = constant_of(e)) return code_.load(target.registers[0], *value);
  if (const auto registers = in_place(e)) return move(leaves(e.type), target.registers, *registers);
  compute(e, target);
}

void ExpressionLowering::compute(const Expr& e, Target target) {
  switch (e.kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat: return;  // constants: into() loads them
    case ExprKind::kString: return code_.load_string(target.registers[0], module_.builder().string(e.text));
    case ExprKind::kNull:
    case ExprKind::kZero: return zero(leaves(e.type), target.registers);
    case ExprKind::kLocal:
    case ExprKind::kField:
    case ExprKind::kIndex:
    case ExprKind::kFixedIndex: return parts_.places.load(parts_.places.resolve(e), target.registers);
    case ExprKind::kUnary: return parts_.arithmetics.unary(e, target.registers[0]);
    case ExprKind::kBinary: return parts_.arithmetics.binary(e, target.registers[0]);
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kIsNull: return truth(e, target);
    case ExprKind::kConditional: return conditional(e, target);
    case ExprKind::kBlock: return block(e, target);
    case ExprKind::kConvert:
    case ExprKind::kBitCast: return conversion(e, target);
    case ExprKind::kWrap:
    case ExprKind::kUnwrap:
    case ExprKind::kCheckNonNull: return nullable(e, target);
    case ExprKind::kUpcast:
    case ExprKind::kCast:
    case ExprKind::kCastOrNull:
    case ExprKind::kIsType: return parts_.objects.cast(e, target);
    case ExprKind::kArrayLength:
      return code_.emit(Op::kArrayLength, target.registers[0], scalar(*e.operands[0]));
    case ExprKind::kArrayDim:
      return code_.emit(Op::kArrayDim, target.registers[0], scalar(*e.operands[0]), e.index);
    case ExprKind::kStringLength:
    case ExprKind::kStringByte:
    case ExprKind::kStringCompare:
    case ExprKind::kStringConcat: return string(e, target);
    case ExprKind::kCall:
    case ExprKind::kCallNative:
    case ExprKind::kCallInterface:
    case ExprKind::kCallClosure: return parts_.calls.call(e, target);
    case ExprKind::kIntrinsic: return intrinsic(e, target);
    case ExprKind::kAtomic: return parts_.arrays.atomic(e, target);
    case ExprKind::kNew: return parts_.objects.new_object(e, target);
    case ExprKind::kMakeStruct: return make_struct(e, target);
    case ExprKind::kNewArray: return parts_.arrays.new_array(e, target);
    case ExprKind::kArrayLiteral: return parts_.arrays.array_literal(e, target);
    case ExprKind::kClosure:
    case ExprKind::kFunctionValue: return parts_.objects.make_closure(e, target);
    case ExprKind::kNewWeak:
      return code_.emit(Op::kNewWeak, target.registers[0], scalar(*e.operands[0]), 0,
                        types_.reference(e.type));
    case ExprKind::kGetWeak: return code_.emit(Op::kGetWeak, target.registers[0], scalar(*e.operands[0]));
    case ExprKind::kArrayCopy: return parts_.arrays.array_copy(e);
    case ExprKind::kArrayClose: return code_.emit(Op::kArrayClose, scalar(*e.operands[0]));
  }
}

void ExpressionLowering::conversion(const Expr& e, Target target) {
  const Expr& operand = *e.operands[0];
  if (converts_in_place(e)) return into(operand, target);
  if (e.kind == ExprKind::kBitCast && operand.type->is_float())  // f32 to u32
    return code_.emit(Op::kU32ToU64, target.registers[0], scalar(operand));
  return parts_.arithmetics.convert(e.type, operand.type, target.registers[0], scalar(operand));
}

void ExpressionLowering::make_struct(const Expr& e, Target target) {
  std::size_t first = 0;
  for (const Expr* field : e.operands) {
    const std::size_t count = leaves(field->type).size();
    into(*field, Target{target.registers.subspan(first, count), target.fresh});
    first += count;
  }
}

void ExpressionLowering::effect(const Expr& e) {
  Scope scope(*this);
  switch (e.kind) {
    case ExprKind::kCall:
    case ExprKind::kCallNative:
    case ExprKind::kCallInterface:
    case ExprKind::kCallClosure: {
      At at(*this, e.position);
      return parts_.calls.call(e, Target{});  // its results stay in the window, unused
    }
    default: into(e, Target{allocate(e.type)});
  }
}

void ExpressionLowering::conditional(const Expr& e, Target target) {
  const LabelId otherwise = code_.new_label();
  const LabelId end = code_.new_label();
  parts_.conditions.branch_if(*e.operands[0], false, otherwise);
  into(*e.operands[1], target);
  code_.jump(end);
  code_.bind(otherwise);
  into(*e.operands[2], target);
  code_.bind(end);
}

void ExpressionLowering::block(const Expr& e, Target target) {
  parts_.statements.statements(e.statements);
  if (!e.operands.empty()) into(*e.operands[0], target);
}

// A condition as a value.
void ExpressionLowering::truth(const Expr& e, Target target) {
  const Register to = target.registers[0];
  if (e.kind == ExprKind::kIsNull && e.operands[0]->type->is_reference())
    return code_.emit(Op::kIsNull, to, scalar(*e.operands[0]));
  if (e.kind == ExprKind::kIsNull) return code_.emit(Op::kNotBool, to, values(*e.operands[0])[0]);
  const LabelId end = code_.new_label();
  if (target.fresh && e.kind != ExprKind::kBinary) {
    // The first operand decides, or the result is that of the second.
    into(*e.operands[0], to);
    code_.branch(e.kind == ExprKind::kAnd ? Op::kJumpIfNot : Op::kJumpIf, to, end);
    into(*e.operands[1], to);
    return code_.bind(end);
  }
  const LabelId when_false = code_.new_label();
  parts_.conditions.branch_if(e, false, when_false);
  code_.load(to, 1);
  code_.jump(end);
  code_.bind(when_false);
  code_.load(to, 0);
  code_.bind(end);
}

void ExpressionLowering::string(const Expr& e, Target target) {
  const Register to = target.registers[0];
  if (e.kind == ExprKind::kStringConcat) return parts_.texts.join(e.operands, to, target.fresh);
  const Register first = scalar(*e.operands[0]);
  switch (e.kind) {
    case ExprKind::kStringByte: return code_.emit(Op::kStringByte, to, first, scalar(*e.operands[1]));
    case ExprKind::kStringCompare: return code_.emit(Op::kStringCompare, to, first, scalar(*e.operands[1]));
    default: return code_.emit(Op::kStringLength, to, first);
  }
}

void ExpressionLowering::intrinsic(const Expr& e, Target target) {
  std::uint32_t registers[4] = {};
  for (std::size_t i = 0; i < e.operands.size() && i < 4; ++i) registers[i] = scalar(*e.operands[i]);
  code_.emit(e.op, target.registers[0], registers[0], registers[1],
             registers[2] | static_cast<std::uint64_t>(registers[3]) << 16);
}

// Between T and T?, unless both are the same reference.
void ExpressionLowering::nullable(const Expr& e, Target target) {
  const Expr& operand = *e.operands[0];
  if (e.type->is_reference()) {
    into(operand, target);
    if (e.kind == ExprKind::kCheckNonNull) code_.emit(Op::kNullCheck, target.registers[0]);
    return;
  }
  if (e.kind == ExprKind::kWrap) {
    code_.load(target.registers[0], 1);
    return into(operand, Target{target.registers.subspan(1), target.fresh});
  }
  if (e.kind == ExprKind::kUnwrap) return parts_.places.load(parts_.places.resolve(e), target.registers);
  const Values whole = values(operand);
  const LabelId present = code_.new_label();
  code_.branch(Op::kJumpIf, whole[0], present);
  code_.emit(Op::kTrap, static_cast<std::uint32_t>(ErrorCode::kNullReference));
  code_.bind(present);
  move(leaves(e.type), target.registers, std::span(whole).subspan(1));
}

}  // namespace dhpvm::compiler
