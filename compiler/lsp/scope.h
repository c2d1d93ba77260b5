// SPDX-License-Identifier: Apache-2.0
// Looks up the declarations of names as the checker does.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/parse/ast.h"

namespace dhpvm::compiler::lsp {

// The declarations in one module and its imports. Functions return null if there is none.
class ModuleScope {
 public:
  // `program` contains `module`; both must outlive this.
  ModuleScope(const ast::Program& program, const ast::Module& module) : program_(program), module_(module) {}

  const ast::Module& module() const { return module_; }
  const ast::Module* import(std::string_view name) const;
  // Names of this module, of its imports, and of the modules known everywhere.
  const ast::TypeDecl* type(std::string_view qualifier, std::string_view name) const;
  // An enum case with this name, if no type determines the enum.
  const ast::EnumCase* some_case(std::string_view name) const;
  // The library function that is a method of text, arrays or bytes; `type` is one of kMethodsOf...
  const ast::Function* library_method(std::string_view type, std::string_view name) const;
  std::vector<const ast::Function*> library_methods(std::string_view type) const;
  // The library module of this name, if the program contains it.
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
