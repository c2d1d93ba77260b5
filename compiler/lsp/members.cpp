// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/members.h"

namespace dhpvm::compiler::lsp {

namespace {

// Aliases and interfaces may form cycles in wrong programs.
constexpr unsigned kMaxSteps = 32;

Parameters parameters_of(const std::vector<ast::Field>& fields) {
  Parameters found;
  for (const ast::Field& field : fields) {
    found.names.push_back(&field.name);
    found.ranges.push_back(field.range);
  }
  return found;
}

}  // namespace

std::string_view library_methods_of(const Type& type) {
  switch (type.kind) {
    case TypeKind::kStr: return kMethodsOfText;
    case TypeKind::kArray: return kMethodsOfArrays;
    case TypeKind::kU8: return kMethodsOfBytes;
    default: return {};
  }
}

const ast::Module& Members::module_of(SourceRange range) const {
  for (const auto& module : program_.modules) {
    if (module->file == range.file) return *module;
  }
  return *program_.modules.front();
}

std::vector<const ast::Function*> Members::methods(const ast::TypeDecl& type) const {
  std::vector<const ast::Function*> found(type.methods.begin(), type.methods.end());
  const ast::Module& module = module_of(type.range);
  for (const ast::Type* written : type.interfaces) {
    const ast::TypeDecl* const interface = declaration_of(written, module);
    if (interface == nullptr || interface->kind != ast::TypeDeclKind::kInterface) continue;
    for (const ast::Function* method : interface->methods) {
      if (method->has_body() && find_own_method(type, method->name.text) == nullptr) found.push_back(method);
    }
  }
  return found;
}

Members::Found Members::find(const ast::TypeDecl& type, std::string_view name) const {
  if (const ast::Field* field = find_field(type, name); field != nullptr) return {&field->name, nullptr};
  for (const ast::Function* method : methods(type)) {
    if (method->name.text == name) return {&method->name, method};
  }
  return {};
}

const ast::TypeDecl* Members::declaration_of(const Type* type) const {
  if (type != nullptr && (type->is(TypeKind::kNullable) || type->is(TypeKind::kWeak))) type = type->element;
  return type == nullptr ? nullptr : facts_.declaration_of(type);
}

const ast::TypeDecl* Members::declaration_of(const ast::Type* type, const ast::Module& module) const {
  const ast::Module* seen_from = &module;
  for (unsigned step = 0; step < kMaxSteps && type != nullptr; ++step) {
    if (type->kind == ast::TypeKind::kNullable) {
      type = type->element;
      continue;
    }
    if (type->kind != ast::TypeKind::kNamed) return nullptr;
    const ast::TypeDecl* const found =
        ModuleScope(program_, *seen_from).type(type->qualifier.text, type->name.text);
    if (found == nullptr || found->kind != ast::TypeDeclKind::kAlias) return found;
    type = found->aliased;
    seen_from = &module_of(found->range);
  }
  return nullptr;
}

Parameters parameters_of(const ast::Function& function) {
  Parameters found;
  for (const ast::Parameter& parameter : function.parameters) {
    found.names.push_back(&parameter.name);
    found.ranges.push_back(parameter.range);
  }
  return found;
}

Parameters parameters_of(const ast::EnumCase& option) { return parameters_of(option.values); }

Parameters parameters_of(const ast::TypeDecl& type) {
  return type.init != nullptr ? parameters_of(*type.init) : parameters_of(type.fields);
}

}  // namespace dhpvm::compiler::lsp
