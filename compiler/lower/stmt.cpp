// SPDX-License-Identifier: Apache-2.0
// Statements, except loops.
#include <algorithm>

#include "compiler/lower/function.h"

namespace dhpvm::compiler {

using hir::ExprKind;
using hir::StmtKind;

namespace {

// Whether `into` may write its target before it has read everything, given that the target is not fresh.
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

void FunctionLowering::statements(const std::vector<Stmt*>& list) {
  for (const Stmt* s : list) statement(*s);
}

// A block: the registers of its locals are given back.
void FunctionLowering::scoped(const std::vector<Stmt*>& list) {
  Scope scope(*this);
  statements(list);
}

void FunctionLowering::statement(const Stmt& s) {
  if (!code_.reachable()) return;
  At at(*this, s.position);
  switch (s.kind) {
    case StmtKind::kLet:
      if (s.local->type->is(TypeKind::kFixedArray)) return declare_fixed_array(*s.local);
      return declare(*s.local, s.value);
    case StmtKind::kAssign: return assign(s);
    case StmtKind::kUpdate: return update(s);
    case StmtKind::kExpr: return effect(*s.value);
    case StmtKind::kBlock: return scoped(s.body);
    case StmtKind::kIf: return if_statement(s);
    case StmtKind::kWhile: return while_loop(s);
    case StmtKind::kForRange: return for_range(s);
    case StmtKind::kBreak: return leave_loop(false);
    case StmtKind::kContinue: return leave_loop(true);
    case StmtKind::kReturn: return return_statement(s);
    case StmtKind::kTrap: return trap_statement(s);
    case StmtKind::kUse: return use_statement(s);
    case StmtKind::kParallelFor: return parallel_for(s);
  }
}

void FunctionLowering::assign(const Stmt& s) {
  Scope scope(*this);
  const Expr& to = *s.place;
  if (to.kind == ExprKind::kLocal && slot(*to.local).kind == LocalSlot::Kind::kRegisters) {
    const Values& registers = slot(*to.local).registers;
    const bool direct = registers.size() == 1 && !writes_early(s.value->kind);
    if (direct || !mentions(*s.value, *to.local)) return into(*s.value, Target{registers, false});
    const Values temporary = values(*s.value);
    return move(leaves(to.type), registers, temporary);
  }
  const Place place = resolve(to);
  store(place, values(*s.value));
}

void FunctionLowering::update(const Stmt& s) {
  Scope scope(*this);
  const Place place = resolve(*s.place);
  const Type* type = place.type;
  const bool local = place.kind == Place::Kind::kRegisters;
  if (type->is_reference()) {
    // Only str, whose + joins.
    const Register first = registers_.reference();
    load(place, {&first, 1});
    into(*s.value, registers_.reference());
    const Register to = local ? place.registers[0] : first;
    code_.emit(Op::kStringConcat, to, first, 2);
    return local ? void() : store(place, {&first, 1});
  }
  if (local) {
    Register left = place.registers[0];
    if (s.place->kind == ExprKind::kLocal && facts_.assigned_in_expression.contains(s.place->local)) {
      left = registers_.primitive();
      code_.move_primitive(left, place.registers[0]);
    }
    return arithmetic(s.binary, type, place.registers[0], left, *s.value);
  }
  const Register value = registers_.primitive();
  load(place, {&value, 1});
  arithmetic(s.binary, type, value, value, *s.value);
  store(place, {&value, 1});
}

// Whether all that `body` does is a jump, so that the condition can do it.
bool FunctionLowering::is_jump(const std::vector<Stmt*>& body) const {
  if (body.size() != 1 || enclosing_.empty() || enclosing_.back().kind != Enclosing::Kind::kLoop)
    return false;
  return body[0]->kind == StmtKind::kBreak || body[0]->kind == StmtKind::kContinue;
}

void FunctionLowering::if_statement(const Stmt& s) {
  if (is_jump(s.body)) {
    const Enclosing& loop = enclosing_.back();
    branch_if(*s.value, true, s.body[0]->kind == StmtKind::kBreak ? loop.break_label : loop.continue_label);
    return scoped(s.otherwise);
  }
  const LabelId otherwise = code_.new_label();
  branch_if(*s.value, false, otherwise);
  scoped(s.body);
  if (s.otherwise.empty()) return code_.bind(otherwise);
  const LabelId end = code_.new_label();
  code_.jump(end);
  code_.bind(otherwise);
  scoped(s.otherwise);
  code_.bind(end);
}

void FunctionLowering::return_statement(const Stmt& s) {
  Scope scope(*this);
  if (inlined_) {
    if (s.value != nullptr) into(*s.value, inlined_->target);
    return code_.jump(inlined_->end);
  }
  if (s.value == nullptr || leaves(s.value->type).empty()) {
    if (s.value != nullptr) effect(*s.value);
    close_down_to(0);
    return code_.emit(Op::kReturn);
  }
  const bool closes = std::any_of(enclosing_.begin(), enclosing_.end(),
                                  [](const Enclosing& e) { return e.kind == Enclosing::Kind::kUse; });
  if (!closes) return return_value(*s.value);
  const Values result = values(*s.value);
  close_down_to(0);
  return_values(leaves(s.value->type), result);
}

// Where there is a choice between values, each returns by itself.
void FunctionLowering::return_value(const Expr& e) {
  // A branch that is never taken declares nothing that its value could be read from.
  if (!code_.reachable()) return;
  Scope scope(*this);
  At at(*this, e.position);
  if (e.kind == ExprKind::kConditional) {
    const LabelId otherwise = code_.new_label();
    branch_if(*e.operands[0], false, otherwise);
    return_value(*e.operands[1]);
    code_.bind(otherwise);
    return return_value(*e.operands[2]);
  }
  if (e.kind == ExprKind::kBlock) {
    statements(e.statements);
    return return_value(*e.operands[0]);
  }
  return_values(leaves(e.type), values(e));
}

void FunctionLowering::use_statement(const Stmt& s) {
  Scope scope(*this);
  declare(*s.local, s.value);
  enclosing_.push_back({Enclosing::Kind::kUse, 0, 0, s.close});
  scoped(s.body);
  enclosing_.pop_back();
  if (code_.reachable()) effect(*s.close);
}

// Closes what `use` opened inside of enclosing_[depth].
void FunctionLowering::close_down_to(std::size_t depth) {
  for (std::size_t i = enclosing_.size(); i > depth; --i) {
    const Enclosing& enclosing = enclosing_[i - 1];
    if (enclosing.kind == Enclosing::Kind::kUse) effect(*enclosing.close);
  }
}

void FunctionLowering::leave_loop(bool is_continue) {
  std::size_t depth = enclosing_.size();
  while (depth > 0 && enclosing_[depth - 1].kind != Enclosing::Kind::kLoop) --depth;
  if (depth == 0) return;  // the checker allows neither outside of loops
  close_down_to(depth);
  const Enclosing& loop = enclosing_[depth - 1];
  code_.jump(is_continue ? loop.continue_label : loop.break_label);
}

void FunctionLowering::trap(const char* message, const hir::Position& at) {
  At position(*this, at);
  const Register text = registers_.reference();
  code_.load_string(text, module_.builder().string(message));
  code_.emit(Op::kTrapMessage, text);
}

void FunctionLowering::trap_statement(const Stmt& s) {
  Scope scope(*this);
  code_.emit(Op::kTrapMessage, scalar(*s.value));
}

}  // namespace dhpvm::compiler
