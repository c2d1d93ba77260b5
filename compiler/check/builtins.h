// SPDX-License-Identifier: Apache-2.0
// The built-in functions: print, trap, assert, str, hash.
#pragma once

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class BuiltinCalls : public BodyPart {
 public:
  using BodyPart::BodyPart;

  static bool is_builtin(std::string_view name);
  E call_builtin(std::string_view name, const ast::Expr& call);
  // The hash of several values, in their order.
  E combined_hash(std::uint64_t first, const std::vector<E>& values, Range range);

 private:
  E print_call(const ast::Expr& call);
  E assert_call(const ast::Expr& call);
  E trap_call(const ast::Expr& call);
  E trap_expr(E message, Range range, std::string plain = {});
  E equal_call(const ast::Expr& call);
  E hash_of(E value, Range range);
  E message_of(const ast::Expr& expr);
  E failed_assertion(const ast::Expr& asserted, const std::string& text, E& test, Body& before);
};

}  // namespace dhpvm::compiler
