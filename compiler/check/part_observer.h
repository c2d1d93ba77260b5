// SPDX-License-Identifier: Apache-2.0
// An observer of a part of a program, whose user waits for the answer.
#pragma once

#include "compiler/check/observer.h"

namespace dhpvm::compiler {

class PartObserver : public Observer {
 public:
  // Whether to check the body of a function. Other bodies are checked only to infer a result type, and messages that
  // depend on all bodies are left out.
  virtual bool wants(const ast::Function& function) const = 0;
};

}  // namespace dhpvm::compiler
