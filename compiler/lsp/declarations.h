// SPDX-License-Identifier: Apache-2.0
// The declarations of a module as editors show them: kind, head, and the comment above.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/parse/ast.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler::lsp {

// X(enumerator, kind of symbol, kind of completion): the numbers are the protocol's.
#define DHPVM_LSP_DECLARATIONS(X) \
  X(kModule, 2, 9)                \
  X(kFunction, 12, 3)             \
  X(kMethod, 6, 2)                \
  X(kInit, 9, 4)                  \
  X(kStruct, 23, 22)              \
  X(kClass, 5, 7)                 \
  X(kInterface, 11, 8)            \
  X(kEnum, 10, 13)                \
  X(kAlias, 5, 7)                 \
  X(kField, 8, 5)                 \
  X(kCase, 22, 20)                \
  X(kConstant, 14, 21)            \
  X(kTypeParameter, 26, 25)       \
  X(kVariable, 13, 6)

enum class DeclarationKind : std::uint8_t {
#define X(name, symbol, completion) name,
  DHPVM_LSP_DECLARATIONS(X)
#undef X
};
int symbol_kind(DeclarationKind kind);
int completion_kind(DeclarationKind kind);

struct Declaration {
  DeclarationKind kind = DeclarationKind::kVariable;
  ast::Name name;
  SourceRange range;                        // all of it
  SourceRange head;                         // without the body
  std::string_view owner;                   // the type or case that it is part of, or empty
  const ast::Function* function = nullptr;  // of functions, methods and `init`
  const ast::TypeDecl* type = nullptr;      // of types
  const ast::EnumCase* option = nullptr;    // of cases
  std::vector<Declaration> parts;           // members of types
};

Declaration declaration_of(const ast::Function& function, std::string_view owner = {});
Declaration declaration_of(const ast::TypeDecl& type);
Declaration declaration_of(const ast::Constant& constant);
Declaration declaration_of(const ast::EnumCase& option, std::string_view owner);

// All declarations of a module in the order of the source, except imports, parameters and variables.
std::vector<Declaration> declarations_of(const ast::Module& module);
// The declaration or type parameter whose name is at this place.
std::optional<Declaration> declaration_at(const ast::Module& module, SourceRange name);

// The head on one line, as written: "fn area(r: f64) -> f64".
std::string head_text(const SourceFile& file, const Declaration& declaration);
// The comment in the lines above `offset`, or behind it in its line, without slashes. Markdown.
std::string comment_at(const SourceFile& file, std::uint32_t offset);
// The comment at the top of a file, after the licence.
std::string comment_of_module(const SourceFile& file);

}  // namespace dhpvm::compiler::lsp
