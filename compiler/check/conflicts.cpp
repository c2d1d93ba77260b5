// SPDX-License-Identifier: Apache-2.0
// Finds pairs of iterations of a parallel loop that provably access the same element, at least one of them writing.
//
// An index is a polynomial over loop variables, captured numbers and variables of inner loops. Two accesses whose
// indices differ by a constant conflict only in iterations that lie a fixed distance apart along one loop variable; two
// accesses whose indices do not depend on a loop variable conflict in all of its iterations. Unproven cases (indices
// read from arrays, accesses under a condition) are left to --check-races.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "compiler/check/analysis.h"
#include "compiler/check/fold.h"
#include "compiler/hir/hir_walk.h"

namespace dhpvm::compiler {

namespace {

using hir::Binary;
using hir::ExprKind;
using hir::Local;
using hir::StmtKind;

using Monomial = std::vector<const Local*>;  // a product of variables, sorted

struct Polynomial {
  std::map<Monomial, std::int64_t> terms;  // without the constant
  std::int64_t constant = 0;
};

enum class Mode : std::uint8_t { kRead, kWrite, kAtomic };

struct Access {
  const hir::Expr* expr = nullptr;
  const Local* array = nullptr;
  std::vector<Polynomial> indices;
  std::vector<std::uint32_t> fields;  // of the element, outermost first
  Mode mode = Mode::kRead;
};

std::int64_t wrapping(std::uint64_t value) { return static_cast<std::int64_t>(value); }

class Conflicts {
 public:
  Conflicts(Analysis& analysis, const hir::Stmt& stmt) : analysis_(analysis), loop_(*stmt.loop) {
    for (const Local* counted : loop_.iterated) {
      dimensions_.push_back(counted);
      trips_.emplace_back();
      uniform_.insert(counted);
    }
    for (const auto& dimension : loop_.dimensions) {
      if (!loop_.iterated.empty()) break;
      dimensions_.push_back(dimension.local);
      const auto low = fold(*dimension.low);
      const auto high = fold(*dimension.high);
      trips_.push_back(low && high ? std::optional(wrapping(high->integer - low->integer)) : std::nullopt);
      uniform_.insert(dimension.local);
    }
    for (const auto& capture : loop_.captures) uniform_.insert(capture.inner);
    find_assigned(loop_.body);
  }

  void check() {
    statements(loop_.body);
    for (std::size_t i = 0; i < accesses_.size(); ++i) {
      if (accesses_[i].mode != Mode::kWrite) continue;
      for (std::size_t j = 0; j < accesses_.size(); ++j) {
        // A pair of writes is examined once.
        if (accesses_[j].mode == Mode::kWrite && j < i) continue;
        if (compare(accesses_[i], accesses_[j])) return;  // one conflict explains the loop
      }
    }
  }

 private:
  void find_assigned(const std::vector<hir::Stmt*>& body) {
    hir::walk(
        body, [](const hir::Expr&) { return true; },
        [&](const hir::Stmt& stmt) {
          if (stmt.kind != StmtKind::kAssign && stmt.kind != StmtKind::kUpdate) return true;
          const hir::Expr* place = stmt.place;
          while (place->kind == ExprKind::kField) place = place->operands[0];
          if (place->kind == ExprKind::kLocal) assigned_.insert(place->local);
          return true;
        });
  }

  // Records the accesses that every iteration makes. False if the statements that follow may be skipped.
  bool statements(const std::vector<hir::Stmt*>& body) {
    for (const hir::Stmt* stmt : body) {
      if (!statement(*stmt)) return false;
    }
    return true;
  }

  bool statement(const hir::Stmt& stmt) {
    switch (stmt.kind) {
      case StmtKind::kLet:
        expression(stmt.value);
        if (stmt.value != nullptr && stmt.local->type->is_integer() && !assigned_.contains(stmt.local) &&
            !uniform_.contains(stmt.local)) {
          if (auto value = polynomial(*stmt.value)) definitions_[stmt.local] = std::move(*value);
        }
        return true;
      case StmtKind::kAssign:
        expression(stmt.value);
        place(*stmt.place);
        return true;
      case StmtKind::kUpdate:
        expression(stmt.value);
        place(*stmt.place);
        return true;
      case StmtKind::kExpr: expression(stmt.value); return true;
      case StmtKind::kBlock: return statements(stmt.body);
      case StmtKind::kForRange: {
        expression(stmt.value);
        expression(stmt.limit);
        // With the same bounds in each outer iteration, the same indices occur in each.
        if (independent(stmt.value) && independent(stmt.limit) && independent(stmt.step))
          uniform_.insert(stmt.local);
        statements(stmt.body);
        return !leaves(stmt.body);
      }
      case StmtKind::kIf: expression(stmt.value); return !leaves(stmt.body) && !leaves(stmt.otherwise);
      case StmtKind::kWhile: expression(stmt.value); return !leaves(stmt.body);
      default: return false;
    }
  }

  // Whether a `continue` or trap inside may end an iteration early. Those of inner loops count too: that may lose a
  // proof, but never makes a wrong one.
  static bool leaves(const std::vector<hir::Stmt*>& body) {
    bool found = false;
    hir::walk(
        body, [](const hir::Expr&) { return true; },
        [&](const hir::Stmt& stmt) {
          found = found || stmt.kind == StmtKind::kContinue || stmt.kind == StmtKind::kBreak ||
                  stmt.kind == StmtKind::kReturn;
          return true;
        });
    return found;
  }

  bool independent(const hir::Expr* expr) {
    if (expr == nullptr) return true;
    const auto value = polynomial(*expr);
    if (!value) return false;
    for (const auto& [monomial, factor] : value->terms) {
      for (const Local* variable : monomial) {
        if (std::find(dimensions_.begin(), dimensions_.end(), variable) != dimensions_.end()) return false;
      }
    }
    return true;
  }

  void place(const hir::Expr& expr) {
    record(expr, Mode::kWrite);
    operands_of_place(expr);
  }

  void operands_of_place(const hir::Expr& expr) {
    if (expr.kind == ExprKind::kField) return operands_of_place(*expr.operands[0]);
    if (expr.kind != ExprKind::kIndex) return;
    for (std::size_t i = 1; i < expr.operands.size(); ++i) expression(expr.operands[i]);
  }

  void expression(const hir::Expr* expr) {
    if (expr == nullptr) return;
    switch (expr->kind) {
      case ExprKind::kAnd:
      case ExprKind::kOr:
      case ExprKind::kConditional: expression(expr->operands[0]); return;  // the rest may not be evaluated
      case ExprKind::kBlock:
        if (!statements(expr->statements)) return;
        break;
      case ExprKind::kField:
      case ExprKind::kIndex:
        record(*expr, Mode::kRead);
        operands_of_place(*expr);
        if (expr->kind == ExprKind::kIndex || is_element(*expr)) return;
        break;
      case ExprKind::kAtomic:
        record(*expr->operands[0], Mode::kAtomic);
        operands_of_place(*expr->operands[0]);
        for (std::size_t i = 1; i < expr->operands.size(); ++i) expression(expr->operands[i]);
        return;
      default: break;
    }
    for (const hir::Expr* operand : expr->operands) expression(operand);
  }

  static bool is_element(const hir::Expr& expr) {
    const hir::Expr* inner = &expr;
    while (inner->kind == ExprKind::kField) inner = inner->operands[0];
    return inner->kind == ExprKind::kIndex;
  }

  void record(const hir::Expr& expr, Mode mode) {
    Access access;
    access.expr = &expr;
    access.mode = mode;
    const hir::Expr* element = &expr;
    for (; element->kind == ExprKind::kField; element = element->operands[0]) {
      access.fields.insert(access.fields.begin(), element->index);
    }
    if (element->kind != ExprKind::kIndex) return;
    const hir::Expr& array = *element->operands[0];
    if (array.kind != ExprKind::kLocal || !array.type->is(TypeKind::kArray)) return;
    if (std::find(loop_.copies.begin(), loop_.copies.end(), array.local) != loop_.copies.end()) return;
    access.array = array.local;
    for (std::uint32_t i = 0; i < array.type->rank; ++i) {
      auto index = polynomial(*element->operands[i + 1]);
      if (!index) return;
      access.indices.push_back(std::move(*index));
    }
    accesses_.push_back(std::move(access));
  }

  std::optional<Polynomial> polynomial(const hir::Expr& expr) {
    if (const auto known = fold(expr); known && known->kind == ExprKind::kInt) {
      return Polynomial{{}, wrapping(known->integer)};
    }
    switch (expr.kind) {
      case ExprKind::kLocal: {
        if (auto known = definitions_.find(expr.local); known != definitions_.end()) return known->second;
        if (!uniform_.contains(expr.local) || !expr.type->is_integer()) return std::nullopt;
        return Polynomial{{{{expr.local}, 1}}, 0};
      }
      case ExprKind::kConvert:
        // A narrower type could wrap; a wider one keeps the value.
        if (!expr.operands[0]->type->is_integer() || bits_of(expr.type) < bits_of(expr.operands[0]->type)) {
          return std::nullopt;
        }
        return polynomial(*expr.operands[0]);
      case ExprKind::kBinary: {
        const auto left = polynomial(*expr.operands[0]);
        const auto right = polynomial(*expr.operands[1]);
        if (!left || !right) return std::nullopt;
        if (expr.binary == Binary::kAdd) return sum(*left, *right, 1);
        if (expr.binary == Binary::kSub) return sum(*left, *right, -1);
        if (expr.binary == Binary::kMul) return product(*left, *right);
        return std::nullopt;
      }
      default: return std::nullopt;
    }
  }

  static Polynomial sum(Polynomial a, const Polynomial& b, std::int64_t sign) {
    for (const auto& [monomial, factor] : b.terms) {
      std::int64_t& term = a.terms[monomial];
      term = wrapping(static_cast<std::uint64_t>(term) +
                      static_cast<std::uint64_t>(factor) * static_cast<std::uint64_t>(sign));
      if (term == 0) a.terms.erase(monomial);
    }
    a.constant = wrapping(static_cast<std::uint64_t>(a.constant) +
                          static_cast<std::uint64_t>(b.constant) * static_cast<std::uint64_t>(sign));
    return a;
  }

  static std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
    constexpr std::size_t kMaxTerms = 32;
    Polynomial result;
    const auto add = [&](Monomial monomial, std::int64_t x, std::int64_t y) {
      std::sort(monomial.begin(), monomial.end());
      Polynomial term;
      const std::int64_t factor = wrapping(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y));
      if (factor == 0) return;
      if (monomial.empty()) {
        term.constant = factor;
      } else {
        term.terms[std::move(monomial)] = factor;
      }
      result = sum(std::move(result), term, 1);
    };
    add({}, a.constant, b.constant);
    for (const auto& [monomial, factor] : a.terms) add(monomial, factor, b.constant);
    for (const auto& [monomial, factor] : b.terms) add(monomial, factor, a.constant);
    for (const auto& [first, x] : a.terms) {
      for (const auto& [second, y] : b.terms) {
        Monomial both = first;
        both.insert(both.end(), second.begin(), second.end());
        add(std::move(both), x, y);
        if (result.terms.size() > kMaxTerms) return std::nullopt;
      }
    }
    return result;
  }

  static bool overlap(const std::vector<std::uint32_t>& a, const std::vector<std::uint32_t>& b) {
    return std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(std::min(a.size(), b.size())),
                      b.begin());
  }

  // Whether two different iterations provably conflict in these accesses; reports it then.
  bool compare(const Access& write, const Access& other) {
    if (write.array != other.array || !overlap(write.fields, other.fields)) return false;
    for (std::size_t i = 0; i < write.indices.size(); ++i) {
      if (write.indices[i].terms != other.indices[i].terms) return false;
    }
    for (std::size_t v = 0; v < dimensions_.size(); ++v) {
      std::optional<std::int64_t> distance;
      if (!meet_along(dimensions_[v], write, other, distance)) continue;
      if (distance == 0) continue;
      if (trips_[v] && *trips_[v] <= (distance ? std::abs(*distance) : 1)) continue;
      report(write, other, dimensions_[v], distance.has_value());
      return true;
    }
    return false;
  }

  // Whether iterations that differ in `variable` alone can access the same element; `distance` is their distance, or
  // stays empty if any distance is possible.
  static bool meet_along(const Local* variable, const Access& write, const Access& other,
                         std::optional<std::int64_t>& distance) {
    for (std::size_t i = 0; i < write.indices.size(); ++i) {
      std::int64_t factor = 0;
      for (const auto& [monomial, value] : write.indices[i].terms) {
        if (std::find(monomial.begin(), monomial.end(), variable) == monomial.end()) continue;
        if (monomial.size() != 1) return false;
        factor = value;
      }
      const std::int64_t gap = wrapping(static_cast<std::uint64_t>(write.indices[i].constant) -
                                        static_cast<std::uint64_t>(other.indices[i].constant));
      if (factor == 0) {
        if (gap != 0) return false;
        continue;
      }
      if (gap == std::numeric_limits<std::int64_t>::min() || gap % factor != 0) return false;
      const std::int64_t wanted = gap / factor;
      if (distance && *distance != wanted) return false;
      distance = wanted;
    }
    return true;
  }

  std::string text(const hir::Expr* expr) const {
    constexpr std::size_t kLongest = 60;
    const std::string_view source = analysis_.diagnostics().sources().text(analysis_.range_of(expr));
    return std::string(source.substr(0, kLongest));
  }

  void report(const Access& first, const Access& second, const Local* variable, bool apart) {
    // The error is reported at the later one of two writes.
    const bool swap = second.mode == Mode::kWrite &&
                      analysis_.range_of(second.expr).begin > analysis_.range_of(first.expr).begin;
    const Access& write = swap ? second : first;
    const Access& other = swap ? first : second;
    const SourceRange here = analysis_.range_of(write.expr);
    const SourceRange there = analysis_.range_of(other.expr);
    if (!apart && &write == &other) {
      const std::string which = dimensions_.size() == 1
                                    ? "every iteration writes"
                                    : "iterations that differ in '" + variable->name + "' write";
      analysis_.error(here, "{} the same element: '{}'", which, text(write.expr))
          .note(there, "the index does not depend on '{}'", variable->name)
          .help("combine with `reduce(...)`, use `atomic.add({}, ...)`, or write an ordinary `for`",
                text(write.expr));
      return;
    }
    const char* does = other.mode == Mode::kRead    ? "reads"
                       : other.mode == Mode::kWrite ? "writes"
                                                    : "updates";
    analysis_
        .error(here, "iterations conflict: one writes '{}', and another {} the same element as '{}'",
               text(write.expr), does, text(other.expr))
        .note(there, "the other access is here")
        .help("write to another array, or write an ordinary `for`");
  }

  Analysis& analysis_;
  const hir::ParallelLoop& loop_;
  std::vector<const Local*> dimensions_;
  std::vector<std::optional<std::int64_t>> trips_;
  std::set<const Local*> uniform_;  // variables that polynomials may mention
  std::set<const Local*> assigned_;
  std::map<const Local*, Polynomial> definitions_;
  std::vector<Access> accesses_;
};

}  // namespace

void check_conflicts(Analysis& analysis, const hir::Stmt& loop) { Conflicts(analysis, loop).check(); }

}  // namespace dhpvm::compiler
