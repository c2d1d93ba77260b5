// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower_inline.h"

#include "bytecode/isa.h"
#include "compiler/lower_function.h"

namespace dhpvm::compiler {

using hir::Expr;
using hir::ExprKind;
using hir::Local;
using hir::Stmt;
using hir::StmtKind;

// Sums up the nodes of a body, as long as all are of the harmless kinds.
class InlineJudge {
 public:
  InlineJudge(InlineDecisions& decisions, const hir::Function& function) : decisions_(decisions) {
    ok_ = function.closure_type == nullptr && !function.body.empty();
    for (const Local* parameter : function.parameters) ok_ &= !parameter->boxed;
    list(function.body);
  }

  bool inlined() const { return ok_ && cost_ <= kMostNodes; }
  unsigned cost() const { return cost_; }

 private:
  // About what a call costs: two moves, call and return are worth some nodes, and repeated code some memory.
  static constexpr unsigned kMostNodes = 32;

  void list(const std::vector<Stmt*>& statements) {
    for (const Stmt* s : statements) stmt(*s);
  }

  void stmt(const Stmt& s) {
    if (++cost_ > kMostNodes) ok_ = false;
    if (!ok_) return;
    switch (s.kind) {
      case StmtKind::kLet: ok_ &= !s.local->boxed && s.value != nullptr; return expr(s.value);
      case StmtKind::kAssign:
      case StmtKind::kUpdate:
        ok_ &= s.place->kind == ExprKind::kLocal || s.place->kind == ExprKind::kField;
        if (s.kind == StmtKind::kUpdate)
          ok_ &= s.place->type->is_number() && !may_divide_by_zero(s.binary, *s.value);
        expr(s.place);
        return expr(s.value);
      case StmtKind::kExpr: return expr(s.value);
      case StmtKind::kBlock: return list(s.body);
      case StmtKind::kIf:
        expr(s.value);
        list(s.body);
        return list(s.otherwise);
      case StmtKind::kReturn: return expr(s.value);
      default: ok_ = false;
    }
  }

  static bool may_divide_by_zero(hir::Binary op, const Expr& divisor) {
    if (op != hir::Binary::kDiv && op != hir::Binary::kRem) return false;
    if (divisor.type->is_float()) return false;
    return divisor.kind != ExprKind::kInt || divisor.integer == 0;
  }

  void expr(const Expr* e) {
    if (e == nullptr) return;
    if (++cost_ > kMostNodes) ok_ = false;
    if (!ok_) return;
    switch (e->kind) {
      case ExprKind::kInt:
      case ExprKind::kFloat:
      case ExprKind::kString:
      case ExprKind::kNull:
      case ExprKind::kZero:
      case ExprKind::kUnary:
      case ExprKind::kAnd:
      case ExprKind::kOr:
      case ExprKind::kConditional:
      case ExprKind::kConvert:
      case ExprKind::kBitCast:
      case ExprKind::kWrap:
      case ExprKind::kUnwrap:
      case ExprKind::kIsNull:
      case ExprKind::kUpcast:
      case ExprKind::kIsType:
      case ExprKind::kMakeStruct: break;
      // These trap on null alone, which what is not nullable is not.
      case ExprKind::kField:
      case ExprKind::kArrayLength:
      case ExprKind::kArrayDim:
      case ExprKind::kStringLength: ok_ &= !e->operands[0]->type->is(TypeKind::kNullable); break;
      case ExprKind::kLocal: ok_ &= !e->local->boxed; break;
      case ExprKind::kBinary: ok_ &= !may_divide_by_zero(e->binary, *e->operands[1]); break;
      case ExprKind::kIntrinsic: ok_ &= (bytecode::info(e->op).flags & bytecode::kTraps) == 0; break;
      case ExprKind::kCall: {
        const auto& callee = decisions_.decide(*e->function);
        ok_ &= callee.inlined;
        cost_ += callee.cost;
        break;
      }
      default: ok_ = false;
    }
    for (const Expr* operand : e->operands) expr(operand);
  }

  InlineDecisions& decisions_;
  bool ok_ = true;
  unsigned cost_ = 0;
};

const InlineDecisions::Decision& InlineDecisions::decide(const hir::Function& function) {
  const auto [known, fresh] = decisions_.try_emplace(&function);
  if (!fresh) return known->second;
  const InlineJudge judge(*this, function);
  // Looked up again: the judge may have added others.
  Decision& decision = decisions_[&function];
  decision = {false, judge.inlined(), judge.cost()};
  return decision;
}

bool InlineDecisions::is_inlined(const hir::Function& function) { return decide(function).inlined; }

// Arguments are evaluated like those of any call, then named like the parameters: an argument that is a local
// is used where it stands, a constant stays one.
bool FunctionLowering::inline_call(const Expr& e, Target target) {
  const hir::Function& function = *e.function;
  if (!module_.inlines().is_inlined(function)) return false;
  facts_.add(function.body);
  struct Argument {
    std::optional<std::int64_t> constant;
    Values values;
  };
  std::vector<Argument> arguments;
  for (std::size_t i = 0; i < e.operands.size(); ++i) {
    const Expr& operand = *e.operands[i];
    const bool assigned = facts_.assigned.contains(function.parameters[i]);
    Argument& argument = arguments.emplace_back();
    if (!assigned) argument.constant = constant_of(operand);
    if (argument.constant) continue;
    argument.values = assigned ? allocate(operand.type) : values(operand);
    if (assigned) into(operand, Target{argument.values});
  }
  // Only now, as an argument may have been a call of the same function.
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Local* parameter = function.parameters[i];
    constant_locals_.erase(parameter);
    if (arguments[i].constant) {
      constant_locals_[parameter] = *arguments[i].constant;
    } else {
      slot(*parameter) = {LocalSlot::Kind::kRegisters, std::move(arguments[i].values)};
    }
  }
  Values dropped;
  if (target.registers.empty()) {
    dropped = allocate(e.type);
    target.registers = dropped;
  }
  const Inlined inner{target, code_.new_label()};
  const std::optional<Inlined> outer = std::exchange(inlined_, inner);
  scoped(function.body);
  inlined_ = outer;
  code_.bind(inner.end);
  return true;
}

}  // namespace dhpvm::compiler
