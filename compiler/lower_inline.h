// SPDX-License-Identifier: Apache-2.0
// Which functions are worth more in place of a call than behind one.
#pragma once

#include <unordered_map>

#include "compiler/hir.h"

namespace dhpvm::compiler {

// Decides by the function alone, and remembers. Inlined are functions that are small, straight (no loops),
// not recursive, and never trap: those that trap would be missing from stack traces.
class InlineDecisions {
 public:
  bool is_inlined(const hir::Function& function);

 private:
  struct Decision {
    bool under_way = true;  // its body is being looked at: whoever asks then is recursive
    bool inlined = false;
    unsigned cost = 0;
  };
  friend class InlineJudge;
  const Decision& decide(const hir::Function& function);

  std::unordered_map<const hir::Function*, Decision> decisions_;
};

}  // namespace dhpvm::compiler
