// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/exit.h"

#include <algorithm>

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

namespace bc = bytecode;
using hir::ExprKind;

void ExitLowering::enter_loop(LabelId break_label, LabelId continue_label) {
  enclosing_.push_back({Enclosing::Kind::kLoop, break_label, continue_label});
}

void ExitLowering::enter_use(const Expr& close, Register open) {
  enclosing_.push_back({Enclosing::Kind::kUse, 0, 0, &close, open});
}

void ExitLowering::enter_try(LabelId end) { enclosing_.push_back({Enclosing::Kind::kTry, end}); }

bool ExitLowering::is_caught() const {
  return std::any_of(enclosing_.begin(), enclosing_.end(),
                     [](const Enclosing& e) { return e.kind == Enclosing::Kind::kTry; });
}

std::optional<CodeBuffer::LabelId> ExitLowering::direct_exit(const std::vector<Stmt*>& body) const {
  if (body.size() != 1 || enclosing_.empty() || enclosing_.back().kind != Enclosing::Kind::kLoop)
    return std::nullopt;
  if (body[0]->outwards != 0) return std::nullopt;
  switch (body[0]->kind) {
    case hir::StmtKind::kBreak: return enclosing_.back().break_label;
    case hir::StmtKind::kContinue: return enclosing_.back().continue_label;
    default: return std::nullopt;
  }
}

void ExitLowering::leave_loop(LoopExit how, unsigned outwards) {
  std::size_t depth = enclosing_.size();
  for (; depth > 0; --depth) {
    if (enclosing_[depth - 1].kind == Enclosing::Kind::kLoop && outwards-- == 0) break;
  }
  if (depth == 0) return;  // the checker refuses both outside loops
  close_down_to(depth);
  const Enclosing& loop = enclosing_[depth - 1];
  code_.jump(how == LoopExit::kContinue ? loop.continue_label : loop.break_label);
}

void ExitLowering::leave_try() {
  std::size_t depth = enclosing_.size();
  while (depth > 0 && enclosing_[depth - 1].kind != Enclosing::Kind::kTry) --depth;
  if (depth == 0) return;  // the checker refuses it outside a `try`
  close_down_to(depth);
  code_.jump(enclosing_[depth - 1].break_label);
}

void ExitLowering::close(const Expr& close, Register open) {
  code_.load(open, 0);
  parts_.expressions.effect(close);
}

// Closes the resources of `use` from the innermost out to enclosing_[depth].
void ExitLowering::close_down_to(std::size_t depth) {
  for (std::size_t i = enclosing_.size(); i > depth; --i) {
    const Enclosing& enclosing = enclosing_[i - 1];
    if (enclosing.kind == Enclosing::Kind::kUse) close(*enclosing.close, enclosing.open);
  }
}

void ExitLowering::return_statement(const Stmt& s) {
  Scope scope(*this);
  if (const auto& inlined = parts_.inlining.innermost(); inlined) {
    if (s.value != nullptr) into(*s.value, inlined->target);
    close_down_to(inlined->depth);
    return code_.jump(inlined->end);
  }
  if (s.value == nullptr || leaves(s.value->type).empty()) {
    if (s.value != nullptr) parts_.expressions.effect(*s.value);
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

// If the value is a conditional, each branch returns separately.
void ExitLowering::return_value(const Expr& e) {
  // An unreachable branch declares nothing from which its value could be read.
  if (!code_.reachable()) return;
  Scope scope(*this);
  At at(*this, e.position);
  if (e.kind == ExprKind::kConditional) {
    const LabelId otherwise = code_.new_label();
    parts_.conditions.branch_if(*e.operands[0], false, otherwise);
    return_value(*e.operands[1]);
    code_.bind(otherwise);
    return return_value(*e.operands[2]);
  }
  if (e.kind == ExprKind::kBlock) {
    parts_.statements.statements(e.statements);
    return return_value(*e.operands[0]);
  }
  return_values(leaves(e.type), values(e));
}

void ExitLowering::return_values(const Leaves& types, const Values& values) {
  if (types.size() == 1) {
    code_.emit(types[0].is_ref() ? Op::kReturnR : Op::kReturnP, values[0]);
    return;
  }
  std::vector<std::pair<Register, Register>> primitives;
  std::vector<std::pair<Register, Register>> references;
  for (std::size_t i = 0; i < types.size(); ++i) {
    auto& bank = types[i].is_ref() ? references : primitives;
    bank.emplace_back(static_cast<Register>(bank.size()), values[i]);
  }
  move_at_once(primitives, Bank::kPrimitives);
  move_at_once(references, Bank::kReferences);
  code_.emit(Op::kReturn);
}

// Parallel moves, since results may be in the registers of other results.
void ExitLowering::move_at_once(const std::vector<std::pair<Register, Register>>& moves, Bank bank) {
  const bc::ValueType leaf{bank == Bank::kReferences ? Kind::kRef : Kind::kI64};
  Scope scope(*this);
  std::vector<std::pair<Register, Register>> left;
  for (const auto& one : moves) {
    if (one.first != one.second) left.push_back(one);
  }
  while (!left.empty()) {
    const auto ready = std::find_if(left.begin(), left.end(), [&](const auto& one) {
      return std::none_of(left.begin(), left.end(),
                          [&](const auto& other) { return other.second == one.first; });
    });
    if (ready != left.end()) {
      move(leaf, ready->first, ready->second);
      left.erase(ready);
      continue;
    }
    // Only cycles are left: saving one register breaks a cycle.
    const Register saved = left.front().second;
    const Register copy = allocate(leaf);
    move(leaf, copy, saved);
    for (auto& one : left) {
      if (one.second == saved) one.second = copy;
    }
  }
}

}  // namespace dhpvm::compiler
