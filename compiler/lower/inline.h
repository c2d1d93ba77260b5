// SPDX-License-Identifier: Apache-2.0
// Which functions are worth more in place of a call than behind one.
#pragma once

#include <unordered_map>

#include "compiler/hir/hir.h"
#include "compiler/lower/lowering.h"

namespace dhpvm::compiler {

// Decides by the function alone, and remembers.
//
// A function of the program is inlined if it is small, straight (no loops), not recursive, and never traps:
// one that traps would be missing from the stack trace. Functions of the standard library may trap and loop
// as well, because `list.get(i)` should cost what `array[i]` costs; a trap in one then belongs to the line
// that called it. One with fixed arrays as parameters has to be: the arrays lie in the caller's frame.
class InlineDecisions {
 public:
  InlineDecisions(const hir::Program& program, LinesOf lines) : program_(program), lines_(lines) {}

  struct Decision {
    bool inlined = false;
    bool may_trap = false;
    bool is_tiny = false;      // no larger than the call: also worth it where it runs once
    bool is_required = false;  // there is no function to call
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
  // Functions under way stand here, too: what calls one of them is recursive, and not inlined. Inside of itself, an
  // inlined function would give its parameters other values.
  std::unordered_map<const hir::Function*, Decision> decisions_;
};

}  // namespace dhpvm::compiler
