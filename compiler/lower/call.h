// SPDX-License-Identifier: Apache-2.0
// Calls. Arguments are computed straight into the windows at the top of the register stacks.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

class CallLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  void call(const Expr& e, Target target);
  void argument(const Expr& e);

 private:
  struct Window {
    Register primitive = 0;
    Register reference = 0;
  };
  Window open_window(const Leaves& results, const Target& target);
  void finish_call(const Window& window, const Leaves& results, const Target& target);
  void emit_call(const Expr& e, const Window& window);
};

}  // namespace dhpvm::compiler
