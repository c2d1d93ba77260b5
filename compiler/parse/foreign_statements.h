// SPDX-License-Identifier: Apache-2.0
// Statements as other languages write them: says how they are written here and reads on.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class ForeignStatements : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Stmt* statement();  // at an identifier, which most often begins a statement of this language after all

 private:
  ast::Stmt* of_std();
  ast::Stmt* guard();
  ast::Stmt* block();
  ast::Stmt* declaration_or_array();
  ast::Stmt* declaration(std::uint32_t name_index);
};

}  // namespace dhpvm::compiler
