// SPDX-License-Identifier: Apache-2.0
// Results, `T!`: how they are made, `try e`, `e catch err { ... }` and `e!`.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ResultChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E try_expr(const ast::Expr& expr, const Type* expected);
  // Where void is expected, as in a statement, the value is dropped.
  E catch_expr(const ast::Expr& expr, const Type* expected);
  // `e!` of a result.
  E trap_on_error(E result, Range range);
  E success(const Type* result, E value, Range range);  // the value is null for `void!`
  E failure(const Type* result, E error, Range range);
  // A native function whose errors become values: `call` as lowering knows it.
  E native_call(hir::Native& native, const Type* result, std::vector<E> arguments, Range range);
  // Where `range` stands, as errors name it: "notes.dhp:12".
  E origin(Range range);
  // Fills in where an error is made, in the arguments of its constructor, unless they say so.
  void locate(std::vector<E>& arguments, Range range);
  // The same with the function, as stack traces name it: "load (notes.dhp:12)".
  E place(Range range);
  // Advice for a result that stands where its value should. Says nothing of other types.
  void explain(Diagnostic& diagnostic, const Type* type, Range range);

 private:
  E part(E result, std::uint32_t field, Range range);
  E failed(E result, Range range);
  bool passes_on(E operand, const ast::Expr& expr);
  void pass_on(E error, Range range, Body& out);
};

}  // namespace dhpvm::compiler
