// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/inline.h"

#include "bytecode/isa.h"
#include "compiler/hir/hir_walk.h"

namespace dhpvm::compiler {

using hir::Expr;
using hir::ExprKind;
using hir::Local;
using hir::Stmt;
using hir::StmtKind;

namespace {

// The approximate cost of a call: two moves, call and return are worth some nodes, and repeated code some memory.
constexpr unsigned kTinyNodes = 16;
constexpr unsigned kMostNodes = 32;
constexpr unsigned kMostLibraryNodes = 64;

// Such a library function is called after a failure, which is rare.
bool gives_error(const hir::Function& function) {
  return function.result != nullptr && function.result->name == "Error";
}

// Counts the nodes of a body, as long as all of them may be inlined.
class Judge {
 public:
  Judge(InlineDecisions& decisions, const hir::Function& function)
      : decisions_(decisions), library_(decisions.is_library(function)) {
    ok_ = function.closure_type == nullptr && !function.body.empty() && !decisions.has_own_lines(function);
    for (const Local* parameter : function.parameters) ok_ &= !parameter->boxed;
    ok_ &= !library_ || !gives_error(function);
    for (const Stmt* s : function.body) stmt(*s);
  }

  InlineDecisions::Decision decision() const {
    return {.inlined = ok_, .may_trap = may_trap_, .is_tiny = nodes_ <= kTinyNodes};
  }

 private:
  void count() {
    if (++nodes_ > (library_ ? kMostLibraryNodes : kMostNodes)) ok_ = false;
  }
  void trap_unless(bool safe) {
    if (safe) return;
    may_trap_ = true;
    ok_ &= library_;
  }

  template <typename Node>
  void children(const Node& node) {
    hir::for_each_child(node, [this](const Expr& e) { expr(e); }, [this](const Stmt& s) { stmt(s); });
  }

  void stmt(const Stmt& s) {
    count();
    if (!ok_) return;
    switch (s.kind) {
      case StmtKind::kLet: ok_ &= !s.local->boxed && s.value != nullptr; break;
      case StmtKind::kUpdate:
        trap_unless(s.place->type->is_number() && !may_divide_by_zero(s.binary, *s.value));
        break;
      case StmtKind::kTrap: trap_unless(false); break;
      case StmtKind::kWhile:
      case StmtKind::kForRange: ok_ &= library_; break;
      case StmtKind::kAssign:
      case StmtKind::kExpr:
      case StmtKind::kBlock:
      case StmtKind::kIf:
      case StmtKind::kBreak:
      case StmtKind::kContinue:
      case StmtKind::kReturn: break;
      default: ok_ = false; return;  // `try` blocks and loops prevent inlining
    }
    children(s);
  }

  static bool may_divide_by_zero(hir::Binary op, const Expr& divisor) {
    if (op != hir::Binary::kDiv && op != hir::Binary::kRem) return false;
    if (divisor.type->is_float()) return false;
    return divisor.kind != ExprKind::kInt || divisor.integer == 0;
  }

  void expr(const Expr& e) {
    count();
    if (!ok_) return;
    switch (e.kind) {
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
      // These trap only on null, and a non-nullable operand is not null.
      case ExprKind::kField:
      case ExprKind::kArrayLength:
      case ExprKind::kArrayDim:
      case ExprKind::kStringLength: trap_unless(!e.operands[0]->type->is(TypeKind::kNullable)); break;
      case ExprKind::kLocal: ok_ &= !e.local->boxed; break;
      case ExprKind::kBinary: trap_unless(!may_divide_by_zero(e.binary, *e.operands[1])); break;
      case ExprKind::kIntrinsic: trap_unless((bytecode::info(e.op).flags & bytecode::kTraps) == 0); break;
      case ExprKind::kCall: {
        const InlineDecisions::Decision callee = decisions_.decide(*e.function);
        ok_ &= !callee.under_way;
        trap_unless(callee.inlined && !callee.may_trap);
        break;
      }
      case ExprKind::kClosure: ok_ = false; return;
      default: trap_unless(false);
    }
    children(e);
  }

  InlineDecisions& decisions_;
  const bool library_;
  bool ok_ = true;
  bool may_trap_ = false;
  unsigned nodes_ = 0;
};

}  // namespace

const InlineDecisions::Decision& InlineDecisions::decide(const hir::Function& function) {
  const auto [known, fresh] = decisions_.try_emplace(&function, Decision{.under_way = true});
  if (!fresh) return known->second;
  const Decision decision = hir::is_part_of_callers(function)
                                ? Decision{.inlined = true, .may_trap = true, .is_required = true}
                                : Judge(*this, function).decision();
  return decisions_[&function] = decision;
}

bool InlineDecisions::is_library(const hir::Function& function) const {
  return function.position.file < program_.files.size() &&
         program_.files[function.position.file].starts_with("stdlib/");
}

}  // namespace dhpvm::compiler
