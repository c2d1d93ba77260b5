// SPDX-License-Identifier: Apache-2.0
// Blocks that may end in a value, an expression without `;`: as expressions, branches, arms, and after `catch`.
#pragma once

#include <initializer_list>

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class ValueBlockParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  // At the `{`.
  ast::Stmt* block(std::string_view what);
  // The same as an expression: only the value if no statement precedes it.
  ast::Expr* expression(std::string_view what);
  // Whether the `{` of an expression begins a block, and not a list or map literal of another language.
  bool begins_block() const;

 private:
  bool has_value_at(std::uint32_t at) const;
  bool block_has_value(std::uint32_t open) const;
  bool if_has_value(std::uint32_t at) const;
  bool match_has_value(std::uint32_t at) const;
  bool arm_has_value(std::uint32_t arrow, std::uint32_t close) const;
  bool is_construct(std::uint32_t at) const;
  std::uint32_t end_of_construct(std::uint32_t at) const;
  std::uint32_t end_of_statement(std::uint32_t at, std::uint32_t close) const;
  std::uint32_t next_brace(std::uint32_t at) const;
  std::uint32_t find_at_this_level(std::uint32_t at, std::uint32_t end,
                                   std::initializer_list<TokenKind> wanted) const;
  TokenKind kind_at(std::uint32_t at) const { return cursor_.token_at(at).kind; }
};

}  // namespace dhpvm::compiler
