// SPDX-License-Identifier: Apache-2.0
// Errors of the library as exceptions of Python.
#pragma once

#include <nanobind/nanobind.h>

#include "dhpvm/c.h"

namespace dhpvm::python {

// The error of a call into the library, freed with this object.
class Failure {
 public:
  Failure() = default;
  ~Failure() { dhpvm_error_free(error_); }
  Failure(const Failure&) = delete;
  Failure& operator=(const Failure&) = delete;

  // For the last parameter of a function of the library.
  dhpvm_error** out() { return &error_; }
  // The message with its causes and the stack.
  const char* text() const { return error_ != nullptr ? dhpvm_error_text(error_) : ""; }
  // Sets Python's exception: what the function given to set_exception_maker makes of the error.
  void raise(dhpvm_code code) const;
  // The same, for functions that nanobind wraps.
  void check(dhpvm_code code) const {
    if (code == DHPVM_OK) return;
    raise(code);
    throw nanobind::python_error();
  }

 private:
  dhpvm_error* error_ = nullptr;
};

// `maker(code, is_trap, message, text, frames)` returns an exception; frames are (function, file, line).
void set_exception_maker(nanobind::object maker);

}  // namespace dhpvm::python
