// SPDX-License-Identifier: Apache-2.0
// Statements: blocks, variables, conditions, jumps, `use`.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class StatementChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  bool end_of_body(const Type* result, Range range, Body& out);
  void learn_result(const Type* value, Range range);
  E jump_expr(const ast::Expr& expr);
  void statements(std::span<ast::Stmt* const> list, Body& out);
  void block(const ast::Stmt& stmt, Body& out);
  // Whether the last expression of a block may have no value.
  enum class LastValue : std::uint8_t { kNeeded, kOptional };
  // The statements of a block with a value, then the value: void if it has none, never if the block is left.
  E block_value(const ast::Stmt& block, const Type* expected, Body& out, LastValue last = LastValue::kNeeded);
  // An expression whose value is not used, such as an arm of a `match` statement.
  void effect(const ast::Expr& value, Body& out);

 private:
  bool may_give_nothing() const;
  void return_nothing(const ast::Stmt& stmt, hir::Stmt& made);
  using List = std::span<ast::Stmt* const>;
  E value_of(List list, Range range, const Type* expected, Body& out, LastValue last);
  E last_value(const ast::Expr& value, const Type* expected, Body& out, LastValue last);
  void statement(const ast::Stmt& stmt, Body& out);
  void variable(const ast::Stmt& stmt, Body& out);
  // Statements handled by this class, defined in statements.cpp only.
  template <ast::StmtKind>
  void check(const ast::Stmt& stmt, Body& out);
  bool find_loop(const ast::Name& label, unsigned& outwards);
  void jump(const ast::Stmt& stmt, Body& out);
  void use_stmt(const ast::Stmt& stmt, const std::function<void(Body& rest)>& rest, Body& out);
};

}  // namespace dhpvm::compiler
