// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/condition.h"

#include <bit>

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

namespace bc = bytecode;
using bytecode::Op;
using hir::Binary;
using hir::ExprKind;

namespace {

Binary mirrored(Binary op) {
  switch (op) {
    case Binary::kLt: return Binary::kGt;
    case Binary::kLe: return Binary::kGe;
    case Binary::kGt: return Binary::kLt;
    case Binary::kGe: return Binary::kLe;
    default: return op;
  }
}

// Not for floating point, where every comparison with NaN is false.
Binary negated(Binary op) {
  switch (op) {
    case Binary::kEq: return Binary::kNe;
    case Binary::kNe: return Binary::kEq;
    case Binary::kLt: return Binary::kGe;
    case Binary::kLe: return Binary::kGt;
    case Binary::kGt: return Binary::kLe;
    default: return Binary::kLt;
  }
}

Op immediate_branch(Binary op, bool wide) {
  switch (op) {
    case Binary::kEq: return wide ? Op::kJEqImmI64 : Op::kJEqImmI32;
    case Binary::kNe: return wide ? Op::kJNeImmI64 : Op::kJNeImmI32;
    case Binary::kLt: return wide ? Op::kJLtImmI64 : Op::kJLtImmI32;
    case Binary::kLe: return wide ? Op::kJLeImmI64 : Op::kJLeImmI32;
    case Binary::kGt: return wide ? Op::kJGtImmI64 : Op::kJGtImmI32;
    default: return wide ? Op::kJGeImmI64 : Op::kJGeImmI32;
  }
}

// For kEq, kNe, kLt and kLe.
Op integer_branch(Binary op, const Type* type) {
  const bool wide = is_64_bit(type);
  const bool is_unsigned = type->is(TypeKind::kU32) || type->is(TypeKind::kU64);
  switch (op) {
    case Binary::kEq: return wide ? Op::kJEqI64 : Op::kJEqI32;
    case Binary::kNe: return wide ? Op::kJNeI64 : Op::kJNeI32;
    case Binary::kLt:
      if (is_unsigned) return wide ? Op::kJLtU64 : Op::kJLtU32;
      return wide ? Op::kJLtI64 : Op::kJLtI32;
    default:
      if (is_unsigned) return wide ? Op::kJLeU64 : Op::kJLeU32;
      return wide ? Op::kJLeI64 : Op::kJLeI32;
  }
}

Op float_branch(Binary op, bool when, bool wide) {
  switch (op) {
    case Binary::kEq:
    case Binary::kNe:
      if ((op == Binary::kEq) == when) return wide ? Op::kJEqF64 : Op::kJEqF32;
      return wide ? Op::kJNeF64 : Op::kJNeF32;
    case Binary::kLt:
      if (when) return wide ? Op::kJLtF64 : Op::kJLtF32;
      return wide ? Op::kJNltF64 : Op::kJNltF32;
    default:
      if (when) return wide ? Op::kJLeF64 : Op::kJLeF32;
      return wide ? Op::kJNleF64 : Op::kJNleF32;
  }
}

}  // namespace

void ConditionLowering::branch_if(const Expr& e, bool when, LabelId target) {
  if (!code_.reachable()) return;
  Scope scope(*this);
  At at(*this, e.position);
  if (const auto value = constant_of(e)) {
    if ((*value != 0) == when) code_.jump(target);
    return;
  }
  switch (e.kind) {
    case ExprKind::kUnary: return branch_if(*e.operands[0], !when, target);
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      // `a && b` is false if its first operand is, `a || b` true if it is.
      if ((e.kind == ExprKind::kOr) == when) {
        branch_if(*e.operands[0], when, target);
        return branch_if(*e.operands[1], when, target);
      }
      const LabelId end = code_.new_label();
      branch_if(*e.operands[0], !when, end);
      branch_if(*e.operands[1], when, target);
      return code_.bind(end);
    }
    case ExprKind::kBinary:
      if (e.binary >= Binary::kEq && e.binary <= Binary::kGe) return branch_if_compare(e, when, target);
      break;
    case ExprKind::kConditional: {
      const LabelId otherwise = code_.new_label();
      const LabelId end = code_.new_label();
      branch_if(*e.operands[0], false, otherwise);
      branch_if(*e.operands[1], when, target);
      code_.jump(end);
      code_.bind(otherwise);
      branch_if(*e.operands[2], when, target);
      return code_.bind(end);
    }
    case ExprKind::kBlock:
      parts_.statements.statements(e.statements);
      return branch_if(*e.operands[0], when, target);
    case ExprKind::kIsNull: {
      const Expr& operand = *e.operands[0];
      if (operand.type->is_reference())
        return code_.branch(when ? Op::kJumpNull : Op::kJumpNonNull, scalar(operand), target);
      return code_.branch(when ? Op::kJumpIfNot : Op::kJumpIf, values(operand)[0], target);
    }
    default: break;
  }
  code_.branch(when ? Op::kJumpIf : Op::kJumpIfNot, scalar(e), target);
}

void ConditionLowering::branch_if_compare(const Expr& e, bool when, LabelId target) {
  const Expr* left = e.operands[0];
  const Expr* right = e.operands[1];
  const Type* type = left->type;
  if (!type->is_primitive()) {
    // These types have only == and !=.
    const Values a = values(*left);
    const Values b = values(*right);
    return branch_if_equal(leaves(type), a, b, (e.binary == Binary::kEq) == when, target);
  }
  Binary op = e.binary;
  if (constant_of(*left) && !constant_of(*right)) {
    std::swap(left, right);
    op = mirrored(op);
  }
  if (type->is_float()) {
    Register a = scalar(*left);
    Register b = scalar(*right);
    if (op == Binary::kGt || op == Binary::kGe) {
      std::swap(a, b);
      op = mirrored(op);
    }
    return code_.branch(float_branch(op, when, type->is(TypeKind::kF64)), a, b, target);
  }
  if (!when) op = negated(op);
  if (branch_if_immediate(op, *left, *right, target)) return;
  Register a = scalar(*left);
  Register b = scalar(*right);
  if (op == Binary::kGt || op == Binary::kGe) {
    std::swap(a, b);
    op = mirrored(op);
  }
  code_.branch(integer_branch(op, type), a, b, target);
}

bool ConditionLowering::branch_if_immediate(Binary op, const Expr& left, const Expr& right, LabelId target) {
  const Type* type = left.type;
  const bool equality = op == Binary::kEq || op == Binary::kNe;
  const auto value = constant_of(right);
  if (type->is(TypeKind::kBool)) {
    if (!value || !equality) return false;
    code_.branch((op == Binary::kEq) == (*value != 0) ? Op::kJumpIf : Op::kJumpIfNot, scalar(left), target);
    return true;
  }
  // A comparison of a remainder by a power of two with 0 is a mask, also for negative numbers.
  if (equality && value == 0 && left.kind == ExprKind::kBinary && left.binary == Binary::kRem) {
    const auto divisor = parts_.constants.immediate_of(*left.operands[1]);
    if (divisor && *divisor > 1 && std::has_single_bit(static_cast<std::uint16_t>(*divisor))) {
      const Register masked = registers_.primitive();
      code_.emit(Op::kAndImmI64, masked, scalar(*left.operands[0]), static_cast<std::uint32_t>(*divisor - 1));
      code_.branch(op == Binary::kEq ? Op::kJEqImmI32 : Op::kJNeImmI32, masked, 0, target);
      return true;
    }
  }
  const auto small = parts_.constants.immediate_of(right);
  const bool is_unsigned = type->is(TypeKind::kU32) || type->is(TypeKind::kU64);
  if (!small || (is_unsigned && !equality)) return false;
  code_.branch(immediate_branch(op, is_64_bit(type)), scalar(left), static_cast<std::uint16_t>(*small),
               target);
  return true;
}

void ConditionLowering::branch_if_equal(const Leaves& types, const Values& left, const Values& right,
                                        bool when, LabelId target) {
  if (types.empty()) {
    if (when) code_.jump(target);
    return;
  }
  const LabelId differ = when ? code_.new_label() : target;
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool last = i + 1 == types.size();
    if (when && last) {
      branch_if_leaf_equal(types[i], left[i], right[i], true, target);
    } else {
      branch_if_leaf_equal(types[i], left[i], right[i], false, differ);
    }
  }
  if (when) code_.bind(differ);
}

void ConditionLowering::branch_if_leaf_equal(const bc::ValueType& leaf, Register left, Register right,
                                             bool when, LabelId target) {
  switch (leaf.kind) {
    case Kind::kRef: {
      Scope scope(*this);
      const Register equal = registers_.primitive();
      code_.emit(leaf.type == bc::kStringType ? Op::kStringEq : Op::kEqRef, equal, left, right);
      return code_.branch(when ? Op::kJumpIf : Op::kJumpIfNot, equal, target);
    }
    case Kind::kI64:
    case Kind::kU64: return code_.branch(when ? Op::kJEqI64 : Op::kJNeI64, left, right, target);
    case Kind::kF32: return code_.branch(when ? Op::kJEqF32 : Op::kJNeF32, left, right, target);
    case Kind::kF64: return code_.branch(when ? Op::kJEqF64 : Op::kJNeF64, left, right, target);
    default: return code_.branch(when ? Op::kJEqI32 : Op::kJNeI32, left, right, target);
  }
}

}  // namespace dhpvm::compiler
