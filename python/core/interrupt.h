// SPDX-License-Identifier: Apache-2.0
// Ctrl-C while a program runs.
#pragma once

#include "dhpvm/c.h"

namespace dhpvm::python {

// While it exists, SIGINT interrupts the isolate, besides what Python does about it. Only in the main thread, where
// Python's own handler is installed; elsewhere it does nothing. Calls nest. The handler stays installed, and passes on
// to Python's what comes between calls.
class InterruptScope {
 public:
  explicit InterruptScope(const dhpvm_isolate* isolate);
  ~InterruptScope() { leave(); }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

  // Ends the scope. Returns whether a SIGINT came in it.
  bool leave();

 private:
  bool is_active_ = false;
  const dhpvm_isolate* outer_ = nullptr;
};

}  // namespace dhpvm::python
