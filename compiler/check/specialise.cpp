// SPDX-License-Identifier: Apache-2.0
#include "compiler/check/specialise.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "compiler/check/hir_copy.h"
#include "compiler/check/known_values.h"
#include "compiler/check/templates.h"
#include "compiler/hir/hir_walk.h"

namespace dhpvm::compiler {

namespace {

using hir::ExprKind;
using hir::StmtKind;
using Kind = KnownContext::Kind;

class Specialiser {
 public:
  Specialiser(Analysis& analysis, std::vector<Analysis::PendingKernel>& kernels)
      : analysis_(analysis), kernels_(kernels) {}

  void run() {
    const Templates templates(analysis_.program());
    templates_ = &templates;
    const std::vector<hir::Function*> functions = analysis_.program().functions;
    for (hir::Function* function : functions) {
      if (function->is_template) {
        function->exported = false;
        take_out(*function);
      } else {
        KnownContext& context = contexts_.emplace_back();
        find_assigned(*function);
        statements(function->body, context);
      }
    }
    for (bool grows = true; grows;) {
      grows = false;
      for (Call& call : calls_) grows = give_pieces(call) || grows;
    }
  }

 private:
  // More copies of a function indicate exponential growth: each level of calls doubles them.
  static constexpr std::size_t kMostCopies = 4096;
  // The limit of nested copies of one function that call each other, each with another closure.
  static constexpr unsigned kMostNested = 64;

  // A call of a copy, and how many parts it passes. A copy in progress may still get more parameters.
  struct Call {
    hir::Expr* expr = nullptr;
    std::vector<KnownValue*> known;
    SpecialCopy* copy = nullptr;
    std::size_t given = 0;
  };

  // The loops of a template are checked for purity in its copies.
  void take_out(const hir::Function& function) {
    hir::walk(
        function.body, [](const hir::Expr&) { return true; },
        [&](const hir::Stmt& stmt) {
          const auto is_it = [&](const Analysis::PendingKernel& kernel) { return kernel.loop == &stmt; };
          const auto at = std::ranges::find_if(kernels_, is_it);
          if (at == kernels_.end()) return true;
          in_templates_[&stmt] = *at;
          kernels_.erase(at);
          return true;
        });
  }

  // Closures in the function may assign their captures.
  void find_assigned(const hir::Function& function) {
    hir::walk(
        function.body,
        [&](const hir::Expr& expr) {
          if (expr.kind != ExprKind::kClosure) return true;
          find_assigned(*expr.function);
          for (const hir::Capture& capture : expr.function->captures) {
            if (assigned_.contains(capture.inner)) assigned_.insert(capture.outer);
          }
          return true;
        },
        [&](const hir::Stmt& stmt) {
          if (stmt.place == nullptr || stmt.place->kind != ExprKind::kLocal) return true;
          assigned_.insert(stmt.place->local);
          if (stmt.value == nullptr || stmt.value->kind != ExprKind::kClosure) return true;
          for (const hir::Capture& capture : stmt.value->function->captures) {
            if (capture.outer == stmt.place->local) name_themselves_.insert(capture.outer);
          }
          return true;
        });
  }

  void statements(const std::vector<hir::Stmt*>& list, KnownContext& context) {
    for (hir::Stmt* stmt : list) statement(*stmt, context);
  }

  void statement(hir::Stmt& stmt, KnownContext& context) {
    // Without objects no closure captures by reference.
    if (context.is_pure && stmt.local != nullptr) stmt.local->boxed = false;
    if (stmt.loop != nullptr) return loop(stmt, context);
    const bool names_closure = stmt.kind == StmtKind::kLet && stmt.value != nullptr &&
                               stmt.value->type->is(TypeKind::kFunction) && !assigned_.contains(stmt.local);
    if (names_closure) {
      KnownValue* value = values_.find(*stmt.value, context);
      if (value != nullptr && value->target != nullptr) {
        context.values[stmt.local] = value;
        if (context.is_pure) {
          stmt.kind = StmtKind::kBlock;
          stmt.local = nullptr;
          stmt.value = nullptr;
          return;
        }
      }
    }
    if (context.is_pure && names_array(stmt, context)) return;
    refuse_assignment(stmt, context);
    hir::for_each_child(
        stmt, [&](hir::Expr& expr) { expression(expr, context); },
        [&](hir::Stmt& inner) { statement(inner, context); });
  }

  // A variable for an array that is a field, such as the one that a `for` iterates over, is an alias.
  bool names_array(hir::Stmt& stmt, KnownContext& context) {
    if (stmt.kind != StmtKind::kLet || stmt.value == nullptr || assigned_.contains(stmt.local)) return false;
    if (!stmt.value->type->is(TypeKind::kArray)) return false;
    KnownValue* piece = piece_of(*stmt.value, context);
    if (piece == nullptr) return false;
    context.values[stmt.local] = piece;
    stmt.kind = StmtKind::kBlock;
    stmt.local = nullptr;
    stmt.value = nullptr;
    return true;
  }

  void refuse_assignment(const hir::Stmt& stmt, KnownContext& context) {
    const hir::Expr* place = stmt.place;
    while (place != nullptr && place->kind == ExprKind::kField) place = place->operands[0];
    if (!context.is_pure || place == nullptr || place->kind != ExprKind::kLocal) return;
    if (context.find(place->local) == nullptr) return;
    analysis_
        .error(analysis_.range_of(&stmt),
               "a parallel loop calls this function, which cannot assign '{}' then", place->local->name)
        .help("give the value back, or write to an element of an array");
  }

  void loop(hir::Stmt& stmt, KnownContext& context) {
    hir::ParallelLoop& loop = *stmt.loop;
    KnownContext& inside = contexts_.emplace_back();
    inside.kind = Kind::kLoop;
    inside.is_pure = true;
    inside.loop = &loop;
    for (hir::ParallelLoop::Dimension& dimension : loop.dimensions) {
      expression(*dimension.low, context);
      expression(*dimension.high, context);
    }
    std::erase_if(loop.captures, [&](const hir::ParallelLoop::Capture& capture) {
      if (!KnownValues::is_needed(capture.inner->type)) {
        expression(*capture.value, context);
        return false;
      }
      KnownValue* value = values_.find(*capture.value, context);
      if (value == nullptr || (value->target == nullptr && capture.inner->type->is(TypeKind::kFunction))) {
        // Its calls in the loop are reported again with the same message.
        if (name_themselves_.contains(capture.value->local)) name_themselves_.insert(capture.inner);
        report_unknown(analysis_.range_of(capture.value), *capture.value, capture.inner->name);
        return false;
      }
      inside.values[capture.inner] = values_.in_loop(*value, inside);
      return true;
    });
    statements(loop.body, inside);
  }

  void report_unknown(SourceRange range, const hir::Expr& closure, std::string_view name) {
    if (closure.local != nullptr && name_themselves_.contains(closure.local)) {
      analysis_.error(range, "a parallel loop cannot recurse: '{}' calls itself", name)
          .help("write the recursion as a loop");
      return;
    }
    analysis_
        .error(range, "a parallel loop cannot call {}: which function it is, is not known when compiling",
               name.empty() ? "this closure" : fmt::format("'{}'", name))
        .help(
            "declare it by `let` in this function, `let f = fn(...) => ...;`, or take it as a parameter, for "
            "which "
            "calls give a closure or the name of a function");
  }

  void expression(hir::Expr& expr, KnownContext& context) {
    if (context.is_pure && read_piece(expr, context)) return;
    const bool calls = expr.kind == ExprKind::kCall || expr.kind == ExprKind::kCallClosure;
    std::vector<KnownValue*> known(expr.operands.size());
    bool any = false;
    for (std::size_t i = 0; i < known.size(); ++i) {
      const bool is_wanted = calls && KnownValues::is_needed(expr.operands[i]->type) &&
                             (context.is_pure || templates_->needs(expr, i));
      if (is_wanted) known[i] = values_.find(*expr.operands[i], context);
      if (known[i] == nullptr) expression(*expr.operands[i], context);
      const bool is_missing = known[i] == nullptr || known[i]->target == nullptr;
      if (is_wanted && is_missing && expr.operands[i]->type->is(TypeKind::kFunction)) {
        const hir::Local* named = expr.operands[i]->local;
        return report_unknown(analysis_.range_of(expr.operands[i]), *expr.operands[i],
                              named == nullptr ? "" : named->name);
      }
      any = any || known[i] != nullptr;
    }
    for (hir::Expr* argument : expr.arguments) expression(*argument, context);
    statements(expr.statements, context);
    any = any || (context.is_pure && expr.kind == ExprKind::kCall && uses_values(*expr.function));
    if (any) call(expr, known, context);
  }

  // Whether the function, or one that it calls, makes or calls closures.
  bool uses_values(const hir::Function& function) {
    const auto [known, fresh] = uses_values_.try_emplace(&function, false);
    if (!fresh) return known->second;
    bool found = false;
    hir::walk(
        function.body,
        [&](const hir::Expr& expr) {
          found = found || expr.kind == ExprKind::kClosure || expr.kind == ExprKind::kFunctionValue ||
                  expr.kind == ExprKind::kCallClosure ||
                  (expr.kind == ExprKind::kCall && uses_values(*expr.function));
          return !found;
        },
        [&](const hir::Stmt&) { return !found; });
    return uses_values_[&function] = found;
  }

  // A number or array that is a capture of a closure or a field of an object; otherwise null.
  KnownValue* piece_of(hir::Expr& expr, KnownContext& context) {
    if (expr.kind == ExprKind::kLocal) return context.find(expr.local);
    if (expr.kind != ExprKind::kField || !expr.operands[0]->type->is(TypeKind::kClass)) return nullptr;
    KnownValue* whole = values_.find(*expr.operands[0], context);
    return whole == nullptr ? nullptr : values_.part(*whole, expr.index);
  }

  bool read_piece(hir::Expr& expr, KnownContext& context) {
    KnownValue* piece = piece_of(expr, context);
    if (piece == nullptr) return false;
    const SourceRange range = analysis_.range_of(&expr);
    const bool is_array = expr.type->is(TypeKind::kArray) && analysis_.is_plain(expr.type->element);
    if (is_array || analysis_.is_plain(expr.type)) {
      const hir::Position position = expr.position;
      expr = *values_.read(*piece, range);
      expr.position = position;
    } else {
      analysis_
          .error(range, "a parallel loop cannot use '{}', a '{}'",
                 analysis_.diagnostics().sources().text(range), expr.type->name)
          .help("it can use numbers, bool, structs of these, and arrays of them");
    }
    return true;
  }

  // Calls the copy that is specialised for the known arguments.
  void call(hir::Expr& expr, const std::vector<KnownValue*>& known, KnownContext& context) {
    if (gave_up_) return;
    hir::Function& function = expr.kind == ExprKind::kCallClosure ? *known[0]->target : *expr.function;
    std::string key =
        std::to_string(reinterpret_cast<std::uintptr_t>(&function)) + (context.is_pure ? "!" : "?");
    for (KnownValue* value : known) key += value == nullptr ? "_" : values_.key_of(*value);
    const auto [entry, fresh] = copies_.try_emplace(key);
    SpecialCopy& copy = entry->second;
    if (fresh) {
      if (is_too_much(function, expr, context)) return;
      make_copy(function, expr, known, context.is_pure, copy);
    } else if (copy.in_work && context.is_pure) {
      return report_recursion(function, expr);
    }
    std::vector<hir::Expr*> operands;
    for (std::size_t i = 0; i < known.size(); ++i) {
      if (known[i] == nullptr || !context.is_pure) operands.push_back(expr.operands[i]);
    }
    expr.kind = ExprKind::kCall;
    expr.function = copy.function;
    expr.operands = std::move(operands);
    Call made{.expr = &expr, .known = known, .copy = &copy};
    give_pieces(made);
    if (!context.is_pure) calls_.push_back(std::move(made));
  }

  // Whether any were added.
  bool give_pieces(Call& call) {
    const std::vector<PieceParameter>& pieces = call.copy->pieces;
    const std::size_t before = call.given;
    for (; call.given < pieces.size(); ++call.given) {
      const PieceParameter piece = pieces[call.given];  // giving one may add others
      KnownValue* value = call.known[piece.operand];
      for (const std::uint32_t index : piece.path) value = values_.part(*value, index);
      call.expr->operands.push_back(values_.give(*value, analysis_.range_of(call.expr)));
    }
    return call.given > before;
  }

  void report_recursion(const hir::Function& function, const hir::Expr& call) {
    analysis_
        .error(analysis_.range_of(&call), "a parallel loop cannot recurse: '{}' calls itself", function.name)
        .help("write the recursion as a loop");
  }

  // Whether there would be (nearly) infinitely many copies. Nothing more is copied then.
  bool is_too_much(const hir::Function& function, const hir::Expr& call, const KnownContext& context) {
    const bool recurses = open_[&function] == kMostNested;
    if (!recurses && copies_.size() <= kMostCopies) return false;
    gave_up_ = true;
    if (recurses && context.is_pure) {
      report_recursion(function, call);
    } else if (recurses) {
      analysis_
          .error(analysis_.range_of(&call),
                 "'{}' calls itself with another closure each time, and has a parallel loop", function.name)
          .help("write the recursion as a loop, or give the closure on as it is");
    } else {
      analysis_
          .error(analysis_.range_of(&call),
                 "parallel loops call more than {} functions that are made for their closures", kMostCopies)
          .help(
              "let fewer functions call another one with a closure of their own: each level doubles what is "
              "made");
    }
    return true;
  }

  void make_copy(hir::Function& function, const hir::Expr& call, const std::vector<KnownValue*>& known,
                 bool is_pure, SpecialCopy& copy) {
    HirCopy copier(analysis_);
    hir::Function& made = copier.function(function);
    made.is_template = false;
    copy.function = &made;
    analysis_.program().functions.push_back(&made);
    find_assigned(made);
    KnownContext& context = contexts_.emplace_back();
    context.kind = Kind::kCopy;
    context.is_pure = is_pure;
    context.copy = &copy;
    const bool is_closure = call.kind == ExprKind::kCallClosure;
    for (std::uint32_t i = 0; is_closure && i < function.captures.size(); ++i) {
      context.values[copier.declare(function.captures[i].inner)] =
          values_.in_copy(*values_.part(*known[0], i), context, 0, {i});
    }
    std::vector<hir::Local*> parameters;
    for (std::size_t i = is_closure ? 1 : 0; i < known.size(); ++i) {
      hir::Local* const parameter = made.parameters[i - (is_closure ? 1 : 0)];
      if (known[i] != nullptr) context.values[parameter] = values_.in_copy(*known[i], context, i, {});
      if (known[i] == nullptr || !is_pure) parameters.push_back(parameter);
    }
    made.parameters = std::move(parameters);
    for (const HirCopy::Loop& loop : copier.loops()) {
      Analysis::PendingKernel kernel;
      if (const auto original = in_templates_.find(loop.original); original != in_templates_.end())
        kernel = original->second;
      kernel.loop = loop.copy;
      kernels_.push_back(kernel);
      in_templates_[loop.copy] = kernel;
    }
    ++open_[&function];
    statements(made.body, context);
    --open_[&function];
    copy.in_work = false;
  }

  Analysis& analysis_;
  std::vector<Analysis::PendingKernel>& kernels_;
  const Templates* templates_ = nullptr;
  KnownValues values_{analysis_};
  std::deque<KnownContext> contexts_;
  std::map<std::string, SpecialCopy> copies_;
  std::map<const hir::Function*, unsigned> open_;  // number of copies in progress
  std::deque<Call> calls_;                         // of copies outside of parallel loops
  bool gave_up_ = false;
  std::map<const hir::Stmt*, Analysis::PendingKernel> in_templates_;
  std::set<const hir::Local*> assigned_;
  std::set<const hir::Local*> name_themselves_;  // variables of closures that call themselves
  std::map<const hir::Function*, bool> uses_values_;
};

}  // namespace

void specialise_loops(Analysis& analysis, std::vector<Analysis::PendingKernel>& kernels) {
  Specialiser(analysis, kernels).run();
}

}  // namespace dhpvm::compiler
