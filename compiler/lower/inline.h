// SPDX-License-Identifier: Apache-2.0
// Decides which functions to inline.
#pragma once

#include <unordered_map>

#include "compiler/hir/hir.h"
#include "compiler/lower/lowering.h"

namespace dhpvm::compiler {

// Decides by the function alone, and caches the decision.
//
// A function of the program is inlined if it is small, without loops, not recursive, and never traps: a trap in an
// inlined function would lack its frame in the stack trace. Functions of the standard library may trap and loop,
// because `list.get(i)` should cost what `array[i]` costs; their traps are attributed to the calling line. A function
// with fixed arrays as parameters must be inlined: the arrays are in the caller's frame.
class InlineDecisions {
 public:
  InlineDecisions(const hir::Program& program, LinesOf lines) : program_(program), lines_(lines) {}

  struct Decision {
    bool inlined = false;
    bool may_trap = false;
    bool is_tiny = false;      // no larger than the call: also inlined where it runs once
    bool is_required = false;  // cannot be called
    bool under_way = false;
  };
  const Decision& decide(const hir::Function& function);

  bool is_library(const hir::Function& function) const;
  // A function whose lines are counted is not inlined.
  bool has_own_lines(const hir::Function& function) const {
    return lines_ == LinesOf::kInstructions && !is_library(function);
  }

 private:
  const hir::Program& program_;
  const LinesOf lines_;
  // Contains functions in progress, too: a function that calls one of them is recursive, and not inlined, because an
  // inlined call of itself would overwrite its parameters.
  std::unordered_map<const hir::Function*, Decision> decisions_;
};

}  // namespace dhpvm::compiler
