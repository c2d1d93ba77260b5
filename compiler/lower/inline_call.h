// SPDX-License-Identifier: Apache-2.0
// Inlines calls that inline.h selects.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class InlineLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  // An inlined function: the target of its result, and the label after it.
  struct Inlined {
    Target target;
    LabelId end = 0;
    std::size_t depth = 0;  // of the blocks around the call, in ExitLowering
  };

  // False, with nothing emitted, if the call should not be inlined.
  bool inline_call(const Expr& e, Target target);
  const std::optional<Inlined>& innermost() const { return innermost_; }

 private:
  static constexpr unsigned kMostDepth = 4;

  std::optional<Inlined> innermost_;  // in progress
  unsigned depth_ = 0;
};

}  // namespace dhpvm::compiler
