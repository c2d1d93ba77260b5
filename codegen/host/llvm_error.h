// SPDX-License-Identifier: Apache-2.0
// Converts LLVM's errors to ours.
#pragma once

#include <llvm/Support/Error.h>

#include <string_view>

#include "base/error.h"

namespace dhpvm::codegen {

// Consumes `failure`. The message is "`doing`: " followed by LLVM's.
inline Error from_llvm(llvm::Error failure, std::string_view doing) {
  return error(ErrorCode::kInternal, "{}: {}", doing, llvm::toString(std::move(failure)));
}

}  // namespace dhpvm::codegen
