// SPDX-License-Identifier: Apache-2.0
// Literals of collections: `[a, b]` where a class with a method `append_array` is expected, `["k": v]` where one with
// `set` is, or a `Map`. They become a construction without arguments and calls of these methods.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class CollectionLiterals : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // Null if `expected` is not such a class.
  E list(const ast::Expr& expr, const Type* expected);
  E map(const ast::Expr& expr, const Type* expected);

 private:
  const Type* map_type(const ast::Expr& expr, const Type* expected, std::vector<E>& checked);
  const Type* type_of_parts(const ast::Expr& expr, std::size_t first, std::vector<E>& checked);
  E empty(const Type* type, Range range);
};

}  // namespace dhpvm::compiler
