// SPDX-License-Identifier: Apache-2.0
// Structs, classes, interfaces and their members.
#pragma once

#include "compiler/parse/grammar_part.h"

namespace dhpvm::compiler {

class TypeDeclarationParser : public GrammarPart {
 public:
  using GrammarPart::GrammarPart;

  void type_declaration();
  void alias();

 private:
  enum class Mutability : std::uint8_t { kMutable, kImmutable };

  void members(ast::TypeDecl& decl);
  void base_types(ast::TypeDecl& decl);
  void member_declaration(ast::TypeDecl& decl);
  bool foreign_member(ast::TypeDecl& decl);
  void init(ast::TypeDecl& decl);
  void enum_case(ast::TypeDecl& decl);
  void case_values(ast::EnumCase& node);
  void field(ast::TypeDecl& decl, Mutability mutability);
  bool is_first(std::string_view habit, const ast::TypeDecl& decl);

  // The last habit from another language that was reported, and the type: a whole type may repeat it.
  std::string_view told_;
  const ast::TypeDecl* told_about_ = nullptr;
};

}  // namespace dhpvm::compiler
