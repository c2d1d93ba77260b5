// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/stmt.h"

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;
using hir::StmtKind;

namespace {

// Whether `into` may write a non-fresh target before it has read all operands.
bool writes_early(ExprKind kind) {
  switch (kind) {
    case ExprKind::kNew:
    case ExprKind::kNewArray:
    case ExprKind::kArrayLiteral:
    case ExprKind::kConditional:
    case ExprKind::kBlock:
    case ExprKind::kCheckNonNull: return true;
    default: return false;
  }
}

}  // namespace

void StatementLowering::statements(const std::vector<Stmt*>& list) {
  for (const Stmt* s : list) statement(*s);
}

// A block: the registers of its locals are given back.
void StatementLowering::scoped(const std::vector<Stmt*>& list) {
  Scope scope(*this);
  statements(list);
}

template <>
void StatementLowering::lower<StmtKind::kAssign>(const Stmt& s) {
  Scope scope(*this);
  const Expr& to = *s.place;
  if (to.kind == ExprKind::kLocal && parts_.locals.slot(*to.local).kind == LocalSlot::Kind::kRegisters) {
    const Values& registers = parts_.locals.slot(*to.local).registers;
    const bool direct = registers.size() == 1 && !writes_early(s.value->kind);
    // If a trap may be caught, the variable must keep its old value until then.
    if (direct || (!mentions(*s.value, *to.local) && !parts_.exits.is_caught()))
      return into(*s.value, Target{registers, false});
    const Values temporary = values(*s.value);
    return move(leaves(to.type), registers, temporary);
  }
  const Place place = parts_.places.resolve(to);
  parts_.places.store(place, values(*s.value));
}

template <>
void StatementLowering::lower<StmtKind::kUpdate>(const Stmt& s) {
  Scope scope(*this);
  const Place place = parts_.places.resolve(*s.place);
  const Type* type = place.type;
  const bool local = place.kind == Place::Kind::kRegisters;
  if (type->is_reference()) {
    // Only for str, where + joins.
    const Register first = registers_.reference();
    parts_.places.load(place, {&first, 1});
    into(*s.value, registers_.reference());
    const Register to = local ? place.registers[0] : first;
    code_.emit(Op::kStringConcat, to, first, 2);
    return local ? void() : parts_.places.store(place, {&first, 1});
  }
  if (local) {
    Register left = place.registers[0];
    if (s.place->kind == ExprKind::kLocal && state_.facts.assigned_in_expression.contains(s.place->local)) {
      left = registers_.primitive();
      code_.move_primitive(left, place.registers[0]);
    }
    return parts_.arithmetics.arithmetic(s.binary, type, place.registers[0], left, *s.value);
  }
  const Register value = registers_.primitive();
  parts_.places.load(place, {&value, 1});
  parts_.arithmetics.arithmetic(s.binary, type, value, value, *s.value);
  parts_.places.store(place, {&value, 1});
}

template <>
void StatementLowering::lower<StmtKind::kIf>(const Stmt& s) {
  if (const auto exit = parts_.exits.direct_exit(s.body); exit) {
    parts_.conditions.branch_if(*s.value, true, *exit);
    return scoped(s.otherwise);
  }
  const LabelId otherwise = code_.new_label();
  parts_.conditions.branch_if(*s.value, false, otherwise);
  scoped(s.body);
  if (s.otherwise.empty()) return code_.bind(otherwise);
  const LabelId end = code_.new_label();
  code_.jump(end);
  code_.bind(otherwise);
  scoped(s.otherwise);
  code_.bind(end);
}

template <>
void StatementLowering::lower<StmtKind::kTry>(const Stmt& s) {
  Scope scope(*this);
  const LabelId handler = code_.new_label();
  const LabelId end = code_.new_label();
  code_.branch(Op::kProtect, 0, 0, handler);
  parts_.exits.enter_try(end);
  scoped(s.body);
  parts_.exits.leave_enclosing();
  code_.jump(end);
  code_.bind(handler);
  const Register number = registers_.primitive();
  code_.emit(Op::kCaught, number);
  parts_.locals.slot(*s.local) = {LocalSlot::Kind::kRegisters, {number}};
  scoped(s.otherwise);
  code_.bind(end);
}

// A trap that passes through closes the object too, and continues. If closing traps as well, the first trap is
// reported.
template <>
void StatementLowering::lower<StmtKind::kUse>(const Stmt& s) {
  Scope scope(*this);
  parts_.locals.declare(*s.local, s.value);
  const LabelId handler = code_.new_label();
  const LabelId closing_traps = code_.new_label();
  const LabelId again = code_.new_label();
  const LabelId end = code_.new_label();
  const Register open = registers_.primitive();
  code_.load(open, 1);
  code_.branch(Op::kProtect, 0, 0, handler);
  parts_.exits.enter_use(*s.close, open);
  scoped(s.body);
  parts_.exits.leave_enclosing();
  if (code_.reachable()) parts_.exits.close(*s.close, open);
  code_.jump(end);
  code_.bind(handler);
  const Register number = registers_.primitive();
  code_.emit(Op::kCaught, number);
  code_.branch(Op::kJumpIfNot, open, 0, again);
  code_.branch(Op::kProtect, 0, 0, closing_traps);
  parts_.expressions.effect(*s.close);
  code_.jump(again);
  code_.bind(closing_traps);
  code_.emit(Op::kCaught, registers_.primitive());
  code_.bind(again);
  code_.emit(Op::kTrapAgain, number);
  code_.bind(end);
}

void StatementLowering::trap(const char* message, const hir::Position& at) {
  At position(*this, at);
  code_.trap(module_.builder().string(message));
}

template <>
void StatementLowering::lower<StmtKind::kTrap>(const Stmt& s) {
  if (s.value->kind == ExprKind::kString) return code_.trap(module_.builder().string(s.value->text));
  if (state_.in_kernel) return code_.trap(module_.builder().string(s.plain));
  Scope scope(*this);
  const bool outer_is_failing = std::exchange(state_.is_failing, true);
  code_.emit(Op::kTrapMessage, scalar(*s.value));
  state_.is_failing = outer_is_failing;
}

void StatementLowering::statement(const Stmt& s) {
  if (!code_.reachable()) return;
  At at(*this, s.position);
  switch (s.kind) {
    case StmtKind::kLet:
      if (state_.facts.named_texts.contains(s.local)) return;
      if (s.local->type->is(TypeKind::kFixedArray)) return parts_.locals.declare_fixed_array(*s.local);
      return parts_.locals.declare(*s.local, s.value);
    case StmtKind::kAssign: return lower<StmtKind::kAssign>(s);
    case StmtKind::kUpdate: return lower<StmtKind::kUpdate>(s);
    case StmtKind::kExpr: return parts_.expressions.effect(*s.value);
    case StmtKind::kBlock: return scoped(s.body);
    case StmtKind::kIf: return lower<StmtKind::kIf>(s);
    case StmtKind::kWhile: return parts_.loops.while_loop(s);
    case StmtKind::kForRange: return parts_.loops.for_range(s);
    case StmtKind::kBreak: return parts_.exits.leave_loop(LoopExit::kBreak, s.outwards);
    case StmtKind::kContinue: return parts_.exits.leave_loop(LoopExit::kContinue, s.outwards);
    case StmtKind::kReturn: return parts_.exits.return_statement(s);
    case StmtKind::kTrap: return lower<StmtKind::kTrap>(s);
    case StmtKind::kTry: return lower<StmtKind::kTry>(s);
    case StmtKind::kLeaveTry: return parts_.exits.leave_try();
    case StmtKind::kUse: return lower<StmtKind::kUse>(s);
    case StmtKind::kParallelFor: return parts_.parallel_loops.parallel_for(s);
  }
}

}  // namespace dhpvm::compiler
