// SPDX-License-Identifier: Apache-2.0
// Type arguments that are not written, found from the arguments and the expected result.
//
// Arguments whose type is certain speak first, then the expected type of the result, then literals (which
// adapt to what is known by then), and closures last: their parameters take types from what is known, and
// their bodies say what they give.
#pragma once

#include <vector>

#include "compiler/check/closures.h"

namespace dhpvm::compiler {

// A call of something generic, whose type arguments are being found.
struct Inference {
  const std::vector<ast::TypeParameter>* parameters = nullptr;
  std::vector<const Type*> arguments;  // null while unknown
  TypeContext context;                 // of the declaration, with the bindings known so far
};

class TypeInference : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // For a new value of the type `symbol`, whose arguments come from an expected type of that name.
  Inference of_new(const NominalSymbol& symbol, const Type* expected);
  bool infer(Inference& inference, const Callee& callee, const std::vector<const ast::Type*>& patterns,
             const ast::Type* result, const ast::Expr& call, const Type* expected, std::vector<E>& ready);
  void unify(const ast::Type* pattern, const Type* type, Inference& inference);
  void bind(Inference& inference, std::size_t index, const Type* type);
  // The type that an alias stands for where an expression names it: its arguments are `written`, or those of
  // `expected`. Null after a diagnostic.
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
