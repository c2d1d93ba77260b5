// SPDX-License-Identifier: Apache-2.0
// Handles the diagnostics of LLVM for the modules of a context. Without a handler it prints, and for an error
// ends the process.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "dhpvm/result.h"

namespace llvm {
class DiagnosticHandler;
class LLVMContext;
}  // namespace llvm

namespace dhpvm::codegen {

// Collects the errors reported in `context` as long as it lives, and drops warnings and remarks.
class Diagnostics {
 public:
  explicit Diagnostics(llvm::LLVMContext& context);
  ~Diagnostics();
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  // kInternal, with `doing` in front of what LLVM said, if there was an error.
  Status status(std::string_view doing) const;

 private:
  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::DiagnosticHandler> before_;
  std::string errors_;
};

}  // namespace dhpvm::codegen
