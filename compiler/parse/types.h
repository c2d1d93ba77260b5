// SPDX-License-Identifier: Apache-2.0
// Types.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

// In `x as T < y` the `<` is an operator unless the tokens up to its `>` parse as type arguments.
enum class TypePlace : std::uint8_t { kDeclaration, kExpression };

class TypeParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  ast::Type* type(TypePlace place = TypePlace::kDeclaration);
  std::vector<ast::Type*> type_arguments();
  std::vector<ast::TypeParameter> type_parameters();
  bool type_without_colon() const;
  bool is_type_word(const Token& t) const;

 private:
  ast::Type* base_type(TypePlace place);
  ast::Type* arrow_type(ast::Type* function);
  ast::Type* tuple_type(ast::Type* first, SourceRange open);
  ast::Type* named_type(TypePlace place);
  ast::Type* bracket_type();
  ast::Type* foreign_brackets(const ast::Type& named);
  ast::Type* function_type();
};

}  // namespace dhpvm::compiler
