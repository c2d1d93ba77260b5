// SPDX-License-Identifier: Apache-2.0
// Resolves each name of a module by the rules of the checker, but reports no errors: names in wrong code, or in generic
// code without instances, are resolved as far as possible.
#pragma once

#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "compiler/check/lexical_walk.h"
#include "compiler/lsp/facts.h"
#include "compiler/lsp/index.h"
#include "compiler/lsp/members.h"
#include "compiler/lsp/scope.h"
#include "compiler/parse/ast.h"

namespace dhpvm::compiler::lsp {

class Resolver final : private LexicalWalk {
 public:
  // All must outlive this.
  Resolver(const ast::Program& program, const ast::Module& module, const Facts& facts, Index& index);

  // Fills the index.
  void run();

 private:
  bool is_known_name(std::string_view name) const override;
  bool enters(const ast::Function& function) const override { return facts_.are_about(function); }
  void on_declare(const Local& local) override;
  void on_read(const Local& local, const ast::Name& name) override;
  void on_assign(Local& local, const ast::Name& name) override;
  void on_scope_end(const Local& local) override;
  void on_free_name(const ast::Name& name) override;
  void on_type(const ast::Type& type) override;
  void on_expr(const ast::Expr& expr) override;
  void on_statement(const ast::Stmt& statement) override;
  void on_pattern(const ast::Pattern& pattern) override;

  void imports();
  void own_type(const ast::TypeDecl& type);
  void own_functions(const std::vector<ast::Function*>& list);
  void declare_parameters(const std::vector<ast::TypeParameter>& list);
  void use(const ast::Name& name, SourceRange declaration) { index_.add(name.range, declaration); }
  void use(const ast::Name& name, const ast::Name* declaration);
  void member(const ast::Expr& expr);
  void call(const ast::Expr& expr);
  void arms(const std::vector<ast::Arm>& list, const ast::Expr* subject);
  void pattern_case(const ast::Pattern& pattern, const ast::TypeDecl* type);
  void case_name(const ast::Name& name, const ast::TypeDecl* type);
  const ast::TypeParameter* type_parameter(const ast::Name& name) const;
  // Null if the expression does not name a module.
  const ast::Module* module_named(const ast::Expr& expr);
  // The type that an expression names, or null.
  const ast::TypeDecl* type_named(const ast::Expr& expr);
  // The declared type of a value, or null.
  const ast::TypeDecl* type_of(const ast::Expr& expr);
  const ast::Name* member_of(const ast::Expr& object, std::string_view name, const ast::Function*& method);
  Parameters callee(const ast::Expr& expr);
  // The declarations that names refer to in the module, cached by name.
  const ast::TypeDecl* type_called(std::string_view name) const;
  const ast::TypeDecl* declaration_of(const ast::Type* type) const;  // behind aliases
  const ast::Function* function_called(std::string_view name) const;
  const ast::EnumCase* some_case(std::string_view name) const;
  const ast::Name* at_top_level(std::string_view name);
  const Members::Found& own_member(std::string_view name);  // of the enclosing type

  const ast::Module& module_;
  const Facts& facts_;
  Index& index_;
  ModuleScope scope_;
  Members members_;
  const ast::TypeDecl* type_ = nullptr;      // the enclosing type
  const ast::Function* function_ = nullptr;  // the enclosing function of the module, or method
  template <typename T>
  using ByName = std::unordered_map<std::string_view, T>;
  mutable ByName<const ast::TypeDecl*> types_;
  mutable ByName<const ast::TypeDecl*> declarations_;
  mutable ByName<const ast::Function*> functions_;
  mutable ByName<const ast::EnumCase*> cases_;
  ByName<const ast::Name*> top_level_;
  ByName<Members::Found> own_members_;
  std::map<std::pair<std::string_view, std::string_view>, const ast::Function*> library_methods_;
  std::unordered_map<std::uint32_t, const ast::Type*> written_types_;  // by the start of a variable's name
  // The reduced variable, by the start of its name in the loop's head, which declares it for the body.
  std::unordered_map<std::uint32_t, SourceRange> reductions_;
};

}  // namespace dhpvm::compiler::lsp
