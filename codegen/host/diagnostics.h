// SPDX-License-Identifier: Apache-2.0
// Collects LLVM's diagnostics for the modules of a context. Without a handler LLVM prints them, and ends the process at
// an error.
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

// Collects the errors reported in `context` during its lifetime, and drops warnings and remarks.
class Diagnostics {
 public:
  explicit Diagnostics(llvm::LLVMContext& context);
  ~Diagnostics();
  Diagnostics(const Diagnostics&) = delete;
  Diagnostics& operator=(const Diagnostics&) = delete;

  // kInternal with LLVM's message after `doing`, if there was an error.
  Status status(std::string_view doing) const;

 private:
  llvm::LLVMContext& context_;
  std::unique_ptr<llvm::DiagnosticHandler> before_;
  std::string errors_;
};

}  // namespace dhpvm::codegen
