// SPDX-License-Identifier: Apache-2.0
// Results, `T!`: how they are made; `try e`, `e catch err { ... }` and `e!`.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ResultChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E try_expr(const ast::Expr& expr, const Type* expected);
  // If void is expected, as in a statement, the value is dropped.
  E catch_expr(const ast::Expr& expr, const Type* expected);
  // `e!` of a result.
  E trap_on_error(E result, Range range);
  E success(const Type* result, E value, Range range);  // the value is null for `void!`
  E failure(const Type* result, E error, Range range);
  // A call of a native function that returns errors as values, in the form that lowering expects.
  E native_call(hir::Native& native, const Type* result, std::vector<E> arguments, Range range);
  // The place of `range` as errors name it: "notes.dhp:12".
  E origin(Range range);
  // Adds the place to the arguments of an error's constructor, unless the arguments include it.
  void locate(std::vector<E>& arguments, Range range);
  // The same with the function, as in stack traces: "load (notes.dhp:12)".
  E place(Range range);
  // Adds help if a result was used in place of its value. Does nothing for other types.
  void explain(Diagnostic& diagnostic, const Type* type, Range range);

 private:
  E part(E result, std::uint32_t field, Range range);
  E failed(E result, Range range);
  bool passes_on(E operand, const ast::Expr& expr);
  void pass_on(E error, Range range, Body& out);
};

}  // namespace dhpvm::compiler
