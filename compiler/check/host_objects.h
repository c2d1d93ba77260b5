// SPDX-License-Identifier: Apache-2.0
// Exports by which a host makes and uses the objects of a program (CompileOptions::host_objects).
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

// Exports a constructor, `new Node`, and the methods, `Node.area`, of classes: a host finds them by these names. The
// constructor takes what `Node(...)` takes in the program, all of it, and does what that does.
class HostObjects {
 public:
  explicit HostObjects(Analysis& analysis) : analysis_(analysis) {}

  // The class of this type, also as a nullable, an element or a parameter of a closure, and the classes of its fields.
  // Those of the library are left out, except List, Map and Set, with the methods that all of them have. Where modules
  // have classes of one name, the first has the exports.
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
  // The syntax that the program lacks.
  std::deque<ast::Function> functions_;
  std::deque<ast::Expr> exprs_;
  std::deque<ast::Type> types_;
  std::deque<std::string> texts_;
};

}  // namespace dhpvm::compiler
