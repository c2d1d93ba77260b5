// SPDX-License-Identifier: Apache-2.0
// The body of a parallel loop runs on any device, in any order: it and the functions that it calls may only compute and
// write elements of arrays. A search may only compute.
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "compiler/check/analysis.h"
#include "compiler/hir/hir_walk.h"

namespace dhpvm::compiler {

namespace {

using hir::ExprKind;
using hir::StmtKind;

// An operation that a parallel loop does not allow, as a verb: "allocate", "print".
struct Impurity {
  SourceRange range;
  std::string what;
  std::string remedy;
};

class Purity {
 public:
  explicit Purity(Analysis& analysis) : analysis_(analysis) {}

  // Reports forbidden operations of the body.
  void check(const hir::ParallelLoop& loop) {
    each(loop.body, [&](Impurity found, const hir::Function* through) {
      Diagnostic* diagnostic = nullptr;
      if (through == nullptr) {
        diagnostic = &analysis_.error(found.range, "a parallel loop cannot {}", found.what);
      } else {
        diagnostic = &analysis_.error(call_, "a parallel loop cannot call '{}', which would {}",
                                      through->name, found.what);
        diagnostic->note(found.range, "it does that here");
      }
      if (!found.remedy.empty()) diagnostic->help("{}", found.remedy);
    });
    check_shared(loop);
    if (loop.is_search) check_search(loop);
  }

 private:
  using Callback = std::function<void(Impurity, const hir::Function* through)>;

  bool is_plain(const Type* type) {
    return type->is(TypeKind::kVoid) || type->is(TypeKind::kNever) || analysis_.is_plain(type);
  }
  bool is_array(const Type* type) { return type->is(TypeKind::kArray) && is_plain(type->element); }

  void each(const std::vector<hir::Stmt*>& body, const Callback& report) {
    hir::walk(
        body,
        [&](const hir::Expr& expr) {
          if (auto found = impurity(expr)) {
            report(std::move(*found), nullptr);
            return false;
          }
          if (expr.kind != ExprKind::kCall) return true;
          expr.function->in_loops = true;
          if (auto found = impurity(*expr.function)) {
            call_ = analysis_.range_of(&expr);
            report(std::move(*found), expr.function);
          }
          return true;
        },
        [&](const hir::Stmt& stmt) {
          auto found = impurity(stmt);
          if (!found) return stmt.kind != StmtKind::kTrap;
          report(std::move(*found), nullptr);
          return false;
        });
  }

  // All iterations share a fixed array that is declared outside, so they must not write it.
  void check_shared(const hir::ParallelLoop& loop) {
    hir::walk(
        loop.body,
        [&](const hir::Expr& expr) {
          if (expr.kind != ExprKind::kCall) return true;
          for (std::size_t i = 0; i < expr.operands.size(); ++i) {
            const hir::Expr& argument = *expr.operands[i];
            const bool is_shared =
                argument.type->is(TypeKind::kFixedArray) && argument.local->type->is(TypeKind::kArray);
            if (!is_shared) continue;
            const auto where = write_of_fixed(analysis_, *expr.function, *expr.function->parameters[i]);
            if (!where) continue;
            analysis_
                .error(analysis_.range_of(&argument),
                       "'{}' assigns elements of '{}', a fixed array that is declared outside of the loop",
                       expr.function->name, argument.local->name)
                .note(*where, "it does that here")
                .help("declare the fixed array in the loop, so that each iteration has its own");
          }
          return true;
        },
        [](const hir::Stmt&) { return true; });
  }

  // folded_values.cpp has refused writes of the body itself.
  void check_search(const hir::ParallelLoop& loop) {
    hir::walk(
        loop.body,
        [&](const hir::Expr& expr) {
          if (expr.kind != ExprKind::kCall) return true;
          if (const auto where = write_in(*expr.function)) {
            analysis_
                .error(analysis_.range_of(&expr), "a search cannot call '{}', which writes elements",
                       expr.function->name)
                .note(*where, "it does that here")
                .help("write them in a loop of their own: iterations behind the first hit need not run");
          }
          return true;
        },
        [](const hir::Stmt&) { return true; });
  }

  // The place where the function, or one that it calls, writes an element of an array.
  std::optional<SourceRange> write_in(const hir::Function& function) {
    const auto [entry, fresh] = writes_.try_emplace(&function, std::nullopt);
    std::optional<SourceRange>& first = entry->second;
    if (!fresh) return first;
    hir::walk(
        function.body,
        [&](const hir::Expr& expr) {
          if (!first && hir::writes_element(expr)) first = analysis_.range_of(&expr);
          if (!first && expr.kind == ExprKind::kCall) first = write_in(*expr.function);
          return !first;
        },
        [&](const hir::Stmt& stmt) {
          if (!first && hir::writes_element(stmt)) first = analysis_.range_of(&stmt);
          return !first;
        });
    return first;
  }

  // The first operation in `function` that a parallel loop does not allow.
  std::optional<Impurity> impurity(const hir::Function& function) {
    auto [entry, fresh] = known_.try_emplace(&function, std::nullopt);
    if (!fresh) {
      if (!open_.contains(&function)) return entry->second;
      return Impurity{analysis_.range_of(function), "recurse: '" + function.name + "' calls itself",
                      "write the recursion as a loop"};
    }
    open_.insert(&function);
    std::optional<Impurity> first;
    const auto keep = [&](Impurity found, const hir::Function*) {
      if (!first) first = std::move(found);
    };
    for (const hir::Local* parameter : function.parameters) {
      if (!is_plain(parameter->type) && !is_array(parameter->type) &&
          !parameter->type->is(TypeKind::kFixedArray)) {
        keep({analysis_.range_of(function),
              "take the parameter '" + parameter->name + "' of type '" + parameter->type->name + "'",
              "pass numbers, bool, structs of these, and arrays of them"},
             nullptr);
      }
    }
    if (!is_plain(function.result)) {
      keep({analysis_.range_of(function), "give a '" + function.result->name + "'",
            "give a number, bool or struct of these"},
           nullptr);
    }
    if (!first) each(function.body, keep);
    open_.erase(&function);
    known_[&function] = first;
    return first;
  }

  // A `try` block is preceded by the statements that belong to it.
  static bool catches(const std::vector<hir::Stmt*>& statements) {
    return std::any_of(statements.begin(), statements.end(),
                       [](const hir::Stmt* stmt) { return stmt->kind == StmtKind::kTry; });
  }
  static Impurity caught(SourceRange range) {
    return {range, "catch traps", "put the whole loop into `try { .. } catch err { .. }`"};
  }

  // Whether the trap's message is constant, so that it need not be built at the trap.
  static bool says_constant(const hir::Stmt& trap) {
    return trap.value->kind == ExprKind::kString || !trap.plain.empty();
  }

  static Impurity starts_loop(SourceRange range) {
    return {range, "start another parallel loop", "use an ordinary `for` in it"};
  }

  std::optional<Impurity> impurity(const hir::Expr& expr) {
    const SourceRange range = analysis_.range_of(&expr);
    const auto found = [&](std::string what, std::string remedy) {
      return Impurity{range, std::move(what), std::move(remedy)};
    };
    if (catches(expr.statements)) return caught(range);
    switch (expr.kind) {
      case ExprKind::kCallNative:
        if (expr.native->name == "io.write") return found("print", "print after the loop");
        if (expr.native->name.starts_with("str.")) {
          return found("make text", "write numbers to an array, and make text of them after the loop");
        }
        return found("call the native function '" + expr.native->name + "'",
                     "call it before or after the loop");
      case ExprKind::kNew:
        return found("allocate: a '" + expr.type->name + "' is made here",
                     "make it before the loop, or use a struct");
      case ExprKind::kNewArray:
      case ExprKind::kArrayLiteral:
        return found("allocate: an array is made here",
                     "make it before the loop, or declare a fixed array: `var a: [T; N];`");
      case ExprKind::kNewWeak: return found("allocate: a weak reference is made here", "");
      case ExprKind::kClosure: return found("allocate: a closure is made here", "write a function");
      case ExprKind::kFunctionValue:
        return found("use a function as a value", "call the function by its name");
      case ExprKind::kCallClosure: return found("call a closure", "call a function by its name");
      case ExprKind::kCallInterface:
        return found("call a method of an interface", "call a function by its name");
      case ExprKind::kGetWeak: return found("use weak references", "");
      case ExprKind::kUpcast:
      case ExprKind::kCast:
      case ExprKind::kCastOrNull:
      case ExprKind::kIsType: return found("use objects", "read what it needs before the loop");
      case ExprKind::kArrayCopy: return found("copy arrays as a whole", "write a `for` over the elements");
      case ExprKind::kArrayClose: return found("close an array", "close it after the loop");
      case ExprKind::kString:
      case ExprKind::kStringConcat:
      case ExprKind::kStringCompare:
      case ExprKind::kStringLength:
      case ExprKind::kStringByte: return found("use text", "use arrays of bytes: `[u8]`");
      case ExprKind::kField:
        if (expr.operands[0]->type->is(TypeKind::kStruct)) break;
        return found("read fields of objects", "read them before the loop, or use structs");
      case ExprKind::kNull:
      case ExprKind::kZero:
      case ExprKind::kConditional:
      case ExprKind::kBlock:
        if (!is_plain(expr.type)) return found("use a '" + expr.type->name + "' as a value", "");
        break;
      case ExprKind::kBinary:
        if (is_plain(expr.operands[0]->type)) break;
        return found("compare a '" + expr.operands[0]->type->name + "' with another",
                     "compare them before the loop, and use the result in it");
      case ExprKind::kIndex:
        if (!is_plain(expr.type)) return found("read elements of type '" + expr.type->name + "'", "");
        break;
      default: break;
    }
    return std::nullopt;
  }

  std::optional<Impurity> impurity(const hir::Stmt& stmt) {
    const SourceRange range = analysis_.range_of(&stmt);
    switch (stmt.kind) {
      case StmtKind::kLet:
        if (!is_plain(stmt.local->type) && !stmt.local->type->is(TypeKind::kFixedArray) &&
            !impurity(*stmt.value)) {
          return Impurity{range, "keep a '" + stmt.local->type->name + "' in a variable",
                          "use it under its own name; variables hold numbers, bool and structs of these"};
        }
        break;
      case StmtKind::kTrap:
        if (says_constant(stmt)) break;
        return Impurity{range, "make text for the message of a trap",
                        "use a message without values; the iteration is named anyway"};
      case StmtKind::kUse: return Impurity{range, "use resources", "open them before the loop"};
      case StmtKind::kBlock: {
        if (catches(stmt.body)) return caught(range);
        // A nested parallel loop, with the statements before it: reporting it is more helpful than reporting an array
        // that they make.
        const auto loop = std::ranges::find(stmt.body, StmtKind::kParallelFor, &hir::Stmt::kind);
        if (loop != stmt.body.end()) return starts_loop(analysis_.range_of(*loop));
        break;
      }
      case StmtKind::kParallelFor: return starts_loop(range);
      default: break;
    }
    return std::nullopt;
  }

  Analysis& analysis_;
  SourceRange call_;
  std::map<const hir::Function*, std::optional<Impurity>> known_;
  std::set<const hir::Function*> open_;
  std::map<const hir::Function*, std::optional<SourceRange>> writes_;
};

}  // namespace

void check_purity(Analysis& analysis, const hir::Stmt& loop) { Purity(analysis).check(*loop.loop); }

}  // namespace dhpvm::compiler
