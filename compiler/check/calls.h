// SPDX-License-Identifier: Apache-2.0
// Calls of functions, methods, interfaces and closures.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class CallChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E call_expr(const ast::Expr& expr, const Type* expected);
  E call_method(E object, const ast::Expr& member, const ast::Expr& call, const Type* expected);
  E invoke(E object, std::string_view method, std::vector<E> arguments, Range range);
  // The parameters of a method that is not generic; null if the type has no such method.
  const std::vector<const Type*>* parameters_of(const Type* type, std::string_view method, Range range);
  static Callee callee_of(const FunctionInstance& instance);
  E call_instance(FunctionInstance& instance, std::vector<E> arguments, Range range);

 private:
  E call_name(const ast::Expr& expr, const Type* expected);
  E call_member(const ast::Expr& expr, const Type* expected);
  E call_module(ModuleSymbols& module, const ast::Expr& member, const ast::Expr& call, const Type* expected);
  E call_method_of(E object, Method method, const ast::Expr& call, const Type* expected);
  E call_interface(E object, const ast::Expr& member, const ast::Expr& call);
  E call_library_method(E object, const ast::Expr& member, const ast::Expr& call, const Type* expected);
  E call_function(FunctionSymbol& symbol, const ast::Expr& call, const Type* expected,
                  std::vector<E> ready = {});
  E call_value(E function, const ast::Expr& call);
  void explain_hidden_function(Diagnostic& diagnostic, const ast::Expr& callee);
  FunctionInstance* instance_for(FunctionSymbol& symbol, Nominal* owner, const ast::Expr& call,
                                 const Type* expected, std::vector<E>& ready);
};

}  // namespace dhpvm::compiler
