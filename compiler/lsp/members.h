// SPDX-License-Identifier: Apache-2.0
// Names behind the point: the declared members of types.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/lsp/facts.h"
#include "compiler/lsp/scope.h"
#include "compiler/parse/ast.h"

namespace dhpvm::compiler::lsp {

// Which functions of the library are methods of `type`: kMethodsOfText, ...; empty if none are.
std::string_view library_methods_of(const Type& type);

class Members {
 public:
  // All must outlive this.
  Members(const ast::Program& program, const Facts& facts) : program_(program), facts_(facts) {}

  // The place of the name of a field or method; one without a file range is none.
  struct Found {
    const ast::Name* name = nullptr;
    const ast::Function* method = nullptr;
  };
  Found find(const ast::TypeDecl& type, std::string_view name) const;
  // The methods of a type, and those with a body of the interfaces that it implements.
  std::vector<const ast::Function*> methods(const ast::TypeDecl& type) const;

  // The declaration of a type as the checker knows it; the type may be nullable. Null for types that were not declared.
  const ast::TypeDecl* declaration_of(const Type* type) const;
  // The declaration that a written type names, seen from `module`, behind aliases and `?`.
  const ast::TypeDecl* declaration_of(const ast::Type* type, const ast::Module& module) const;
  const ast::Module& module_of(SourceRange range) const;

 private:
  const ast::Program& program_;
  const Facts& facts_;
};

// The parameters that take the arguments of a call.
struct Parameters {
  std::vector<const ast::Name*> names;
  std::vector<SourceRange> ranges;  // of each with its type and default, as written
};
Parameters parameters_of(const ast::Function& function);
Parameters parameters_of(const ast::EnumCase& option);
// Parameters of the call that makes an object: those of `init`, or the fields.
Parameters parameters_of(const ast::TypeDecl& type);

}  // namespace dhpvm::compiler::lsp
