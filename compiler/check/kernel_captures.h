// SPDX-License-Identifier: Apache-2.0
// The values that a parallel loop captures before it begins.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "compiler/check/body_part.h"

namespace dhpvm::compiler {

class KernelCaptures : public BodyPart {
 public:
  using BodyPart::BodyPart;

  E hoisted(const ast::Expr& expr);
  Variable* capture_in_kernel(Frame& kernel, std::string_view name, E value, Range range);
  // Captures a variable that the checker made before the loop.
  hir::Local* pass(hir::ParallelLoop& loop, hir::Local* outer, Range range);
  // Whether `array` is a captured fixed array, which the loop must not write; reports an error then.
  bool refuses_write(const hir::Expr& array, Range range);
  // The receiver of a method call: a parallel loop may use an object from outside if the method only reads its fields.
  E receiver(const std::function<E()>& object);

 private:
  E array_of(hir::Local* fixed, Range range);
  bool path_of(const ast::Expr& expr, std::string& path, Variable*& root);
  bool is_kernel_array(const Type* type);
  bool may_call(const Type* type);

  bool is_receiver_ = false;

  // Captured fixed arrays, by the array that replaces each in the loop.
  std::map<const hir::Local*, const Type*> fixed_arrays_;
};

}  // namespace dhpvm::compiler
