// SPDX-License-Identifier: Apache-2.0
// The declarations that a name can mean, as the checker looks them up.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/parse/ast.h"

namespace dhpvm::compiler::lsp {

// The declarations in one module and in those that it imports. A null result means that there is none.
class ModuleScope {
 public:
  // `program` is the one that `module` is part of; both must outlive this.
  ModuleScope(const ast::Program& program, const ast::Module& module) : program_(program), module_(module) {}

  const ast::Module& module() const { return module_; }
  const ast::Module* import(std::string_view name) const;
  // Names of this module, of those that it imports, and of what is known everywhere.
  const ast::TypeDecl* type(std::string_view qualifier, std::string_view name) const;
  // The enum that has a case of this name, where no type says which.
  const ast::EnumCase* some_case(std::string_view name) const;
  // The function of the library that is a method of text, arrays or bytes; `type` is one of kMethodsOf...
  const ast::Function* library_method(std::string_view type, std::string_view name) const;
  std::vector<const ast::Function*> library_methods(std::string_view type) const;
  // The module of the library that is called so, if it is part of the program.
  const ast::Module* library(std::string_view name) const;

 private:
  const ast::Program& program_;
  const ast::Module& module_;
};

inline constexpr std::string_view kMethodsOfText = "str";
inline constexpr std::string_view kMethodsOfArrays = "array";
inline constexpr std::string_view kMethodsOfBytes = "u8";

const ast::Function* find_function(const ast::Module& module, std::string_view name);
const ast::Constant* find_constant(const ast::Module& module, std::string_view name);
const ast::TypeDecl* find_type(const ast::Module& module, std::string_view name);
const ast::Field* find_field(const ast::TypeDecl& type, std::string_view name);
const ast::Function* find_own_method(const ast::TypeDecl& type, std::string_view name);
const ast::EnumCase* find_case(const ast::TypeDecl& type, std::string_view name);

}  // namespace dhpvm::compiler::lsp
