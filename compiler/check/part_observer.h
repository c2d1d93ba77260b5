// SPDX-License-Identifier: Apache-2.0
// An observer that asks about a part of a program, and waits for the answer.
#pragma once

#include "compiler/check/observer.h"

namespace dhpvm::compiler {

class PartObserver : public Observer {
 public:
  // Whether it needs to hear about the body of a function. Others are checked only where the type of their result is
  // needed and not written, and nothing is said that takes all bodies.
  virtual bool wants(const ast::Function& function) const = 0;
};

}  // namespace dhpvm::compiler
