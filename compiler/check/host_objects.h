// SPDX-License-Identifier: Apache-2.0
// Exports that let a host make and use the objects of a program (CompileOptions::host_objects).
#pragma once

#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "compiler/check/symbols.h"
#include "compiler/hir/types.h"
#include "compiler/parse/ast.h"

namespace dhpvm::compiler {

class Analysis;

// Exports constructors, `new Node`, and methods, `Node.area`, of classes under these names. A constructor takes all
// arguments of `Node(...)` in the program, also those that have defaults there, and does the same.
class HostObjects {
 public:
  explicit HostObjects(Analysis& analysis) : analysis_(analysis) {}

  // Exports the class of this type, also if it is nullable, an element or a closure's parameter, and the classes of its
  // fields. Library classes are left out, except List, Map and Set, with the methods that all of them have. If modules
  // have classes of the same name, the first is exported.
  void add(const Type* type);

 private:
  void add_class(Nominal& nominal);
  void add_constructor(Nominal& nominal);
  FunctionSymbol& constructor(NominalSymbol& symbol);
  ast::Expr* name(const ast::Name& text);

  Analysis& analysis_;
  std::set<const Type*> seen_;
  std::set<std::string_view> names_;  // of classes with exports
  std::map<const NominalSymbol*, FunctionSymbol> constructors_;
  // Syntax trees of functions that the program does not contain.
  std::deque<ast::Function> functions_;
  std::deque<ast::Expr> exprs_;
  std::deque<ast::Type> types_;
  std::deque<std::string> texts_;
};

}  // namespace dhpvm::compiler
