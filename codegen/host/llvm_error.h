// SPDX-License-Identifier: Apache-2.0
// LLVM's errors as ours.
#pragma once

#include <llvm/Support/Error.h>

#include <string_view>

#include "base/error.h"

namespace dhpvm::codegen {

// Consumes `failure`. The message is "`doing`: " and LLVM's own words.
inline Error from_llvm(llvm::Error failure, std::string_view doing) {
  return error(ErrorCode::kInternal, "{}: {}", doing, llvm::toString(std::move(failure)));
}

}  // namespace dhpvm::codegen
