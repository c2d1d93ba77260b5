// SPDX-License-Identifier: Apache-2.0
// while, for over ranges, for over collections.
#pragma once

#include <cstdint>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class IteratorLoops;

class LoopChecker : public BodyPart {
 public:
  using BodyPart::BodyPart;

  void while_stmt(const ast::Stmt& stmt, Body& out);
  void for_range(const ast::Stmt& stmt, Body& out);
  void for_each(const ast::Stmt& stmt, Body& out);
  bool range_bounds(const ast::Expr& low, const ast::Expr& high, E& low_value, E& high_value);
  // The number of elements that `for` iterates over; null if the type is not iterable.
  E count_of(E collection, Range range);

 private:
  void loop_body(const ast::Stmt& loop, Flow& left, Body& out);
  E element_of(E collection, E index, Range range);
  bool is_assigned_in(const ast::Expr& name, Range loop);
  // The meaning of two names in the head of a loop: position and element, or the halves of a pair.
  enum class LoopNames : std::uint8_t { kPositionAndElement, kPair };
  struct IteratedValue {
    E collection = nullptr;
    LoopNames names = LoopNames::kPositionAndElement;
    bool has_pairs = false;
  };
  IteratedValue iterated(E collection, const ast::Stmt& loop);
  void for_iterator(const ast::Stmt& stmt, IteratorLoops& iterators, const IteratedValue& given, Body& out);
  void declare_parts(const ast::Stmt& stmt, E element, bool has_pairs, Body& out);
  hir::Local* declare_position(const ast::Stmt& stmt);
  E declare_pair(E pair, const ast::Stmt& stmt, Body& out);
  void report_not_iterable(const Type* type, Range range);
  void warn_of_position(const ast::Stmt& stmt, const Type* element, bool has_errors);
};

}  // namespace dhpvm::compiler
