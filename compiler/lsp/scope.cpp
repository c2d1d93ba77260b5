// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/scope.h"

#include <algorithm>

#include "compiler/parse/imports.h"

namespace dhpvm::compiler::lsp {

namespace {

// The node of this name among pointers to nodes, or null.
template <typename Node>
const Node* named(const std::vector<Node*>& list, std::string_view name) {
  const auto found = std::ranges::find_if(list, [&](const Node* node) { return node->name.text == name; });
  return found == list.end() ? nullptr : *found;
}

template <typename Node>
const Node* named(const std::vector<Node>& list, std::string_view name) {
  const auto found = std::ranges::find_if(list, [&](const Node& node) { return node.name.text == name; });
  return found == list.end() ? nullptr : &*found;
}

// Whether the first parameter of the function is text, an array or bytes, as `type` says.
bool takes_first(const ast::Function& function, std::string_view type) {
  if (function.parameters.empty() || function.parameters[0].type == nullptr) return false;
  const ast::Type& first = *function.parameters[0].type;
  if (type == kMethodsOfArrays) return first.kind == ast::TypeKind::kArray;
  return first.kind == ast::TypeKind::kNamed && first.name.text == type;
}

}  // namespace

const ast::Function* find_function(const ast::Module& module, std::string_view name) {
  return named(module.functions, name);
}
const ast::Constant* find_constant(const ast::Module& module, std::string_view name) {
  return named(module.constants, name);
}
const ast::TypeDecl* find_type(const ast::Module& module, std::string_view name) {
  return named(module.types, name);
}
const ast::Field* find_field(const ast::TypeDecl& type, std::string_view name) {
  return named(type.fields, name);
}
const ast::Function* find_own_method(const ast::TypeDecl& type, std::string_view name) {
  return named(type.methods, name);
}
const ast::EnumCase* find_case(const ast::TypeDecl& type, std::string_view name) {
  return named(type.cases, name);
}

const ast::Module* ModuleScope::import(std::string_view name) const {
  if (const ast::Import* found = named(module_.imports, name); found != nullptr) return found->module;
  return is_known_module(name) && name != kKnownModules[0] ? library(name) : nullptr;
}

const ast::Module* ModuleScope::library(std::string_view name) const {
  for (const auto& module : program_.modules) {
    if (module->is_stdlib && module->path == name) return module.get();
  }
  return nullptr;
}

const ast::TypeDecl* ModuleScope::type(std::string_view qualifier, std::string_view name) const {
  if (!qualifier.empty()) {
    const ast::Module* const module = import(qualifier);
    return module == nullptr ? nullptr : find_type(*module, name);
  }
  if (const ast::TypeDecl* own = find_type(module_, name); own != nullptr) return own;
  for (const ast::Import& imported : module_.imports) {
    if (imported.module == nullptr) continue;
    if (const ast::TypeDecl* found = find_type(*imported.module, name); found != nullptr) return found;
  }
  for (const std::string_view known : kKnownModules) {
    const ast::Module* const everywhere = library(known);
    const ast::TypeDecl* const found = everywhere == nullptr ? nullptr : find_type(*everywhere, name);
    if (found != nullptr) return found;
  }
  return nullptr;
}

const ast::EnumCase* ModuleScope::some_case(std::string_view name) const {
  const auto within = [&](const ast::Module& module) -> const ast::EnumCase* {
    for (const ast::TypeDecl* type : module.types) {
      if (const ast::EnumCase* found = find_case(*type, name); found != nullptr) return found;
    }
    return nullptr;
  };
  if (const ast::EnumCase* own = within(module_); own != nullptr) return own;
  for (const ast::Import& imported : module_.imports) {
    if (imported.module == nullptr) continue;
    if (const ast::EnumCase* found = within(*imported.module); found != nullptr) return found;
  }
  return nullptr;
}

std::vector<const ast::Function*> ModuleScope::library_methods(std::string_view type) const {
  std::vector<const ast::Function*> found;
  for (const std::string_view name : {kMethodsOfText, kMethodsOfArrays}) {
    const ast::Module* const module = library(name);
    if (module == nullptr) continue;
    for (const ast::Function* function : module->functions) {
      if (takes_first(*function, type)) found.push_back(function);
    }
  }
  return found;
}

const ast::Function* ModuleScope::library_method(std::string_view type, std::string_view name) const {
  for (const ast::Function* function : library_methods(type)) {
    if (function->name.text == name) return function;
  }
  return nullptr;
}

}  // namespace dhpvm::compiler::lsp
