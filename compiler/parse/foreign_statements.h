// SPDX-License-Identifier: Apache-2.0
// Statements of other languages: reports how they are written here, and continues.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class ForeignStatements : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Stmt* statement();  // at an identifier, which in most cases does not begin one

 private:
  ast::Stmt* of_std();
  ast::Stmt* guard();
  ast::Stmt* block();
  ast::Stmt* declaration_or_array();
  ast::Stmt* declaration(std::uint32_t name_index);
};

}  // namespace dhpvm::compiler
