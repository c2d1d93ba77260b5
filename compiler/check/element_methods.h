// SPDX-License-Identifier: Apache-2.0
// Elements of types that define them by methods: `c[i]` is `c.at(i)`, `c[i] = v` is `c.set(i, v)`, and `c[i] op= v` is
// `c.set(i, c.at(i) op v)` with c and i evaluated once. Where the type has a method `get_or(i, otherwise)` for numbers
// or text, the update begins with zero or the empty text if there is no element yet.
#pragma once

#include <string_view>
#include <vector>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class ElementMethods : public BodyPart {
 public:
  using BodyPart::BodyPart;

  // `c[i, j]` with its operands checked; `object` is null when one of them is wrong.
  struct Element {
    E object = nullptr;
    std::vector<E> indices;
    const ast::Expr* syntax = nullptr;
    bool by_position = false;  // read by `nth`
  };

  bool may_define(const Type* type) { return analysis_.nominal(type) != nullptr; }
  Element to_read(E object, const ast::Expr& expr);
  Element to_assign(E object, const ast::Expr& expr);
  // Makes a readable element writable, too, with operands that can be evaluated twice; false if it cannot be written.
  bool to_update(Element& element, Body& before);
  E read(const Element& element);
  E read_for_update(const Element& element);
  // The type that `set` takes.
  const Type* assigned_type(const Element& element);
  E write(const Element& element, E value, Range range);

 private:
  using Parameters = std::vector<const Type*>;
  Element checked(E object, const ast::Expr& expr, const Parameters& parameters, std::size_t count);
  const Parameters* reading(E object, const ast::Expr& expr);
  bool has_positions(E object, const ast::Expr& expr);
  Element text_or_position(E object, const ast::Expr& expr);
  const Parameters* writing(E object, const ast::Expr& expr);
  void report_unreadable(E object, const ast::Expr& expr);
};

}  // namespace dhpvm::compiler
