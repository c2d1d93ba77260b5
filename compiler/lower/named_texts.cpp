// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/named_texts.h"

#include <algorithm>

#include "compiler/hir/hir_walk.h"

namespace dhpvm::compiler {

namespace {

using hir::Expr;
using hir::ExprKind;
using hir::Local;
using hir::Stmt;
using hir::StmtKind;

class NamedTextSearch {
 public:
  // All parts of a text are in registers at the same time.
  static constexpr std::size_t kMostParts = 64;

  NamedTextSearch(const std::unordered_set<const Local*>& assigned, NamedTexts& found)
      : assigned_(assigned), found_(found) {}

  void run(const std::vector<Stmt*>& body) {
    count_uses(body);
    look_through(body);
    hir::walk(
        body,
        [this](const Expr& e) {
          look_through(e.statements);
          return true;
        },
        [this](const Stmt& s) {
          look_through(s.body);
          look_through(s.otherwise);
          return true;
        });
  }

 private:
  // Closures capture the variable: such a use counts twice, so that it is never the only one.
  void count_uses(const std::vector<Stmt*>& body) {
    hir::walk(
        body,
        [this](const Expr& e) {
          if (e.local != nullptr) ++uses_[e.local];
          if (e.kind != ExprKind::kClosure) return true;
          for (const hir::Capture& capture : e.function->captures) uses_[capture.outer] += 2;
          return true;
        },
        [](const Stmt&) { return true; });
  }

  void look_through(const std::vector<Stmt*>& list) {
    for (std::size_t i = 0; i + 1 < list.size(); ++i) {
      const Stmt& let = *list[i];
      if (let.kind != StmtKind::kLet || let.value == nullptr || !is_lasting(let.local)) continue;
      if (let.value->kind != ExprKind::kStringConcat || uses_[let.local] != 1) continue;
      const std::vector<Expr*>& operands = let.value->operands;
      const bool lasts = std::ranges::all_of(operands, [this](const Expr* e) { return is_part(*e); });
      const std::size_t parts = parts_of(operands);
      if (!lasts || parts > kMostParts || !joins(*list[i + 1], let.local)) continue;
      found_[let.local] = let.value;
      parts_[let.local] = parts;
    }
  }

  // The number of texts that are joined, including the parts of named ones.
  std::size_t parts_of(const std::vector<Expr*>& operands) const {
    std::size_t parts = 0;
    for (const Expr* e : operands) {
      const auto named = parts_.find(e->local);
      parts += named == parts_.end() ? 1 : named->second;
    }
    return parts;
  }

  bool is_lasting(const Local* local) const { return !local->boxed && !assigned_.contains(local); }

  // Whether the expression has the same value in the next statement, whatever is evaluated before, and no effects.
  bool is_part(const Expr& e) const {
    if (e.kind == ExprKind::kLocal) return is_lasting(e.local);
    if (e.kind == ExprKind::kString) return true;
    if (!is_number_text(e)) return false;
    const Expr* number = e.operands[0];
    if (number->kind == ExprKind::kConvert && number->operands[0]->type->is_integer())
      number = number->operands[0];
    if (number->kind == ExprKind::kLocal) return is_lasting(number->local);
    return number->kind == ExprKind::kInt || number->kind == ExprKind::kFloat;
  }

  // Whether the statement evaluates, at most once, a concatenation that contains the local.
  static bool joins(const Stmt& s, const Local* local) {
    switch (s.kind) {
      case StmtKind::kLet:
      case StmtKind::kAssign:
      case StmtKind::kUpdate:
      case StmtKind::kExpr:
      case StmtKind::kReturn: return s.value != nullptr && joins(*s.value, local);
      default: return false;
    }
  }
  static bool joins(const Expr& e, const Local* local) {
    const auto is_local = [&](const Expr* part) {
      return part->kind == ExprKind::kLocal && part->local == local;
    };
    if (e.kind == ExprKind::kStringConcat && std::ranges::any_of(e.operands, is_local)) return true;
    const auto in = [&](const Expr* part) { return joins(*part, local); };
    return std::ranges::any_of(e.operands, in) || std::ranges::any_of(e.arguments, in);
  }

  const std::unordered_set<const Local*>& assigned_;
  NamedTexts& found_;
  std::unordered_map<const Local*, unsigned> uses_;
  std::unordered_map<const Local*, std::size_t> parts_;  // of the named texts found
};

}  // namespace

bool is_number_text(const Expr& e) {
  if (e.kind != ExprKind::kCallNative) return false;
  const std::string& name = e.native->name;
  return name == "str.from_i64" || name == "str.from_u64" || name == "str.from_f64";
}

void find_named_texts(const std::vector<Stmt*>& body, const std::unordered_set<const Local*>& assigned,
                      NamedTexts& found) {
  NamedTextSearch(assigned, found).run(body);
}

}  // namespace dhpvm::compiler
