// SPDX-License-Identifier: Apache-2.0
// Objects, closures, casts.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class ObjectLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  void new_object(const Expr& e, Target target);
  void make_closure(const Expr& e, Target target);
  void cast(const Expr& e, Target target);
};

}  // namespace dhpvm::compiler
