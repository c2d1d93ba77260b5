// SPDX-License-Identifier: Apache-2.0
// The base of the parts that check one body together: access to the other parts and to what they share, and
// the building blocks of HIR.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/check/body_state.h"

namespace dhpvm::compiler {

struct BodyParts;

class BodyPart {
 public:
  explicit BodyPart(BodyParts& parts);

 protected:
  using E = hir::Expr*;
  using Range = SourceRange;
  using Body = std::vector<hir::Stmt*>;

  E make(hir::ExprKind kind, const Type* type, Range range);
  E make(hir::ExprKind kind, const Type* type, Range range, std::vector<E> operands);
  E wrong(Range range) { return make(hir::ExprKind::kZero, error_type(), range); }
  E integer(std::uint64_t value, const Type* type, Range range);
  E boolean(bool value, Range range);
  E string(std::string text, Range range);
  E read(hir::Local* local, Range range);
  E binary(hir::Binary op, E left, E right, Range range);
  E negate_bool(E operand);
  E call_native(const std::string& name, std::vector<E> operands, const Type* result, Range range);
  hir::Stmt* let(hir::Local* local, E value);
  hir::Stmt* assign(E place, E value, Range range);
  hir::Stmt* evaluate(E value);
  hir::Local* temporary(const Type* type);
  hir::Local* keep(E value, Body& out);  // a temporary with this value, declared in `out`
  // `value` if evaluating it twice is free of effects and cost; otherwise a temporary, whose declaration is
  // added to `before`.
  E stable(E value, Body& before);
  bool may_change(const hir::Local& local) const;
  E in_block(Body statements, E value, Range range);
  // for i in 0..high { body(i) }
  hir::Stmt* count_loop(E high, Range range, const std::function<Body(E index)>& body);
  const Type* basic(TypeKind kind) const { return analysis_.basic(kind); }
  const Type* error_type() const { return basic(TypeKind::kError); }
  TypeTable& types() { return analysis_.types(); }
  template <typename... Args>
  Diagnostic& error(Range range, fmt::format_string<Args...> format, Args&&... args) {
    return analysis_.error(range, format, std::forward<Args>(args)...);
  }

  BodyParts& parts_;
  BodyState& state_;
  Analysis& analysis_;
};

}  // namespace dhpvm::compiler
