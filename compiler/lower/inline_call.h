// SPDX-License-Identifier: Apache-2.0
// Small functions in place of calls; inline.h decides which.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class InlineLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  // A function whose body stands in place of a call: where `return` leaves its value, and goes.
  struct Inlined {
    Target target;
    LabelId end = 0;
    std::size_t depth = 0;  // of the blocks around the call, in ExitLowering
  };

  // False if the call is worth more as it is: nothing has been emitted then.
  bool inline_call(const Expr& e, Target target);
  const std::optional<Inlined>& innermost() const { return innermost_; }

 private:
  static constexpr unsigned kMostDepth = 4;

  std::optional<Inlined> innermost_;  // under way
  unsigned depth_ = 0;
};

}  // namespace dhpvm::compiler
