// SPDX-License-Identifier: Apache-2.0
// A walk over syntax trees in the order of the source that knows, at each point, the local variables in scope. It needs
// no types: any name that is no local variable (a field, a function, a module or an unknown name) is reported as free.
// Derived passes override the events that they need.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/parse/ast.h"

namespace dhpvm::compiler {

class LexicalWalk {
 public:
  LexicalWalk() = default;
  LexicalWalk(const LexicalWalk&) = delete;
  LexicalWalk& operator=(const LexicalWalk&) = delete;
  virtual ~LexicalWalk() = default;

  void module(const ast::Module& node);
  void constant(const ast::Constant& node);
  void type_declaration(const ast::TypeDecl& node);
  void function(const ast::Function& node);
  void expr(const ast::Expr* node);  // null does nothing

 protected:
  enum class Role : std::uint8_t {
    kParameter,
    kLet,
    kVar,
    kUse,
    kLoop,
    kReduction,
    kPattern,
    kPart,
    kCaught
  };
  struct Local {
    ast::Name name;
    Role role = Role::kLet;
    std::uint32_t end = 0;  // of its scope, valid once on_scope_end is called
    unsigned closures = 0;  // around the declaration
    bool is_read = false;
    bool is_assigned = false;  // after its declaration
  };

  // The innermost local variable of this name, or null.
  Local* find(std::string_view name);
  // The number of closures around the current point.
  unsigned closures() const { return closures_; }
  // Whether the walk is in a statement inside an expression.
  bool in_expression() const { return expressions_ != 0; }

  // Whether a bare name in a pattern is a case, a constant or a type, and not a new variable.
  virtual bool is_known_name(std::string_view) const { return false; }
  // Whether to walk through this function or method of the module; others are skipped.
  virtual bool enters(const ast::Function&) const { return true; }
  virtual void on_declare(const Local&) {}
  virtual void on_read(const Local&, const ast::Name&) {}
  virtual void on_assign(Local&, const ast::Name&) {}
  virtual void on_pattern(const ast::Pattern&) {}  // before its parts
  virtual void on_scope_end(const Local&) {}
  virtual void on_free_name(const ast::Name&) {}
  virtual void on_type(const ast::Type&) {}
  virtual void on_expr(const ast::Expr&) {}
  virtual void on_statements(const std::vector<ast::Stmt*>&) {}
  virtual void on_statement(const ast::Stmt&) {}

 private:
  void type_parameters(const std::vector<ast::TypeParameter>& list);
  void type(const ast::Type* node);
  void stmt(const ast::Stmt* node);
  void parts(const ast::Stmt& node);
  void heads(const ast::ParallelFor& loop);
  void arm(const ast::Arm& node);
  void alternatives(const std::vector<ast::Pattern>& list);
  void pattern(const ast::Pattern& node);
  void declare(const ast::Name& name, Role role);
  void close_scope(std::size_t outer, std::uint32_t end);

  std::deque<Local> locals_;  // references to them stay valid while inner scopes come and go
  std::unordered_map<std::string_view, std::vector<Local*>> named_;  // inner ones after outer ones
  unsigned closures_ = 0;
  unsigned expressions_ = 0;  // expressions around this point that contain statements
  bool declares_ = true;      // false in an alternative after the first, which has declared the variables
};

}  // namespace dhpvm::compiler
