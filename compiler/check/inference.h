// SPDX-License-Identifier: Apache-2.0
// Inference of type arguments from the arguments and the expected result.
//
// The order is: arguments of certain type, the expected type of the result, literals (which adapt to the types known by
// then), and closures, whose parameters take the types known by then and whose bodies determine their results.
#pragma once

#include <vector>

#include "compiler/check/closures.h"

namespace dhpvm::compiler {

// A call of something generic, while its type arguments are inferred.
struct Inference {
  const std::vector<ast::TypeParameter>* parameters = nullptr;
  std::vector<const Type*> arguments;  // null while unknown
  TypeContext context;                 // of the declaration, with the bindings known so far
};

class TypeInference : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // For constructing the type `symbol`; an expected type of the same declaration provides the arguments.
  Inference of_new(const NominalSymbol& symbol, const Type* expected);
  bool infer(Inference& inference, const Callee& callee, const std::vector<const ast::Type*>& patterns,
             const ast::Type* result, const ast::Expr& call, const Type* expected, std::vector<E>& ready);
  void unify(const ast::Type* pattern, const Type* type, Inference& inference);
  void bind(Inference& inference, std::size_t index, const Type* type);
  // The type that an alias names in an expression: its arguments are `written`, or those of `expected`. Null after a
  // diagnostic.
  const Type* of_alias(NominalSymbol& symbol, const std::vector<ast::Type*>& written, const Type* expected,
                       Range range);
  bool resolve_all(const std::vector<ast::Type*>& written, std::vector<const Type*>& types);

 private:
  bool mentions_unknown(const ast::Type* pattern, const Inference& inference);
  const Type* known_type(const ast::Type* pattern, const Inference& inference);
  NominalSymbol* alias_named(const ast::Type& pattern, const Inference& inference);
  static Inference for_alias(const NominalSymbol& symbol);
  const Type* type_for_name(const ast::Type& pattern, const Inference& inference);
  void types_of_closure(const ast::Type* pattern, const Inference& inference, ClosureChecker::Hints& hints);
};

}  // namespace dhpvm::compiler
