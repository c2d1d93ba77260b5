// SPDX-License-Identifier: Apache-2.0
// Assignment: what may be on the left, and `place op= value`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "compiler/check/element_methods.h"

namespace dhpvm::compiler {

class AssignmentChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  void assign_stmt(const ast::Stmt& stmt, Body& out);
  void assign_to(const ast::Expr& where, const std::function<E(const Type*)>& given, Range value_range,
                 Body& out);
  void update_stmt(const ast::Stmt& stmt, Body& out);
  bool check_assignable(const Variable& variable, Range range);

 private:
  enum class PlaceUse : std::uint8_t { kAssigned, kUpdated };
  using Element = ElementMethods::Element;
  // A struct that a container's methods read and write: assigning a field of it changes a copy, which is written back.
  struct Copy {
    Element element;
    hir::Local* local = nullptr;
    Body before;  // evaluates the element's operands
  };
  struct Place {
    E expr = nullptr;                // null after a diagnostic, and if methods assign
    std::optional<Element> element;  // assigned by methods
    std::optional<Copy> copy;        // `expr` is a part of it
    Variable* variable = nullptr;    // the variable, if it is assigned as a whole
    std::int64_t init_field = -1;    // field of `this` that `init` sets
    Body before;                     // evaluates the operands of `element`
  };
  void at_place(const ast::Expr& where, PlaceUse use, const std::function<void(Place&, Body&)>& change,
                Body& out);
  void assign_place(Place& target, const std::function<E(const Type*)>& given, Range value_range, Range range,
                    Body& out);
  void update_place(const ast::Stmt& stmt, Place& target, Body& out);
  Place place(const ast::Expr& expr, PlaceUse use);
  Place member_place(const ast::Expr& expr, PlaceUse use);
  bool is_constant(E array, Range range);
  Place index_place(const ast::Expr& expr, PlaceUse use);
  Place field_place(E object, const ast::Name& name, Range range, PlaceUse use);
  E holder(const ast::Expr& expr, std::optional<Copy>& copy);
  void change_copy(Place& target, E operand, const std::function<E(E)>& changed, Range range, Body& out);
  void update_element(const ast::Stmt& stmt, Place& target, Body& out);
  E update_operand(E left, const ast::Stmt& stmt);
  E combined(E left, E right, const ast::Stmt& stmt);
  E stable_place(E place, Body& before);
  bool check_field(const Type* type, std::uint32_t index, Range range);
  bool mutable_root(const hir::Expr& place, Range range);
};

}  // namespace dhpvm::compiler
