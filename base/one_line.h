// SPDX-License-Identifier: Apache-2.0
// Errors for logs, and for messages that go on behind them.
#pragma once

#include <string>

#include "dhpvm/result.h"

namespace dhpvm {

// The messages of the error and its causes, on one line and without their codes.
inline std::string one_line(const Error& error) {
  std::string text = error.message();
  for (const Error* cause = error.cause(); cause != nullptr; cause = cause->cause()) {
    text += ": " + cause->message();
  }
  return text;
}

}  // namespace dhpvm
