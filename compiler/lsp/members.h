// SPDX-License-Identifier: Apache-2.0
// Names after a dot: the declared members of types.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/lsp/facts.h"
#include "compiler/lsp/scope.h"
#include "compiler/parse/ast.h"

namespace dhpvm::compiler::lsp {

// The kind of library functions that are methods of `type`: kMethodsOfText, ...; empty if none are.
std::string_view library_methods_of(const Type& type);

class Members {
 public:
  // All must outlive this.
  Members(const ast::Program& program, const Facts& facts) : program_(program), facts_(facts) {}

  // The place of the name of a field or method; found only if it has a file range.
  struct Found {
    const ast::Name* name = nullptr;
    const ast::Function* method = nullptr;
  };
  Found find(const ast::TypeDecl& type, std::string_view name) const;
  // The methods of a type, and the methods with a body of its interfaces.
  std::vector<const ast::Function*> methods(const ast::TypeDecl& type) const;

  // The declaration of a checked type, which may be nullable. Null for types without declaration.
  const ast::TypeDecl* declaration_of(const Type* type) const;
  // The declaration that a written type names in `module`, through aliases and `?`.
  const ast::TypeDecl* declaration_of(const ast::Type* type, const ast::Module& module) const;
  const ast::Module& module_of(SourceRange range) const;

 private:
  const ast::Program& program_;
  const Facts& facts_;
};

// The parameters of a callee.
struct Parameters {
  std::vector<const ast::Name*> names;
  std::vector<SourceRange> ranges;  // each with its type and default, as written
};
Parameters parameters_of(const ast::Function& function);
Parameters parameters_of(const ast::EnumCase& option);
// The parameters of a construction: those of `init`, or the fields.
Parameters parameters_of(const ast::TypeDecl& type);

}  // namespace dhpvm::compiler::lsp
