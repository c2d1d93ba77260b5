// SPDX-License-Identifier: Apache-2.0
// An LLVM module together with the context that it lives in.
//
// Every compilation has a context of its own, so that compile threads share nothing inside LLVM.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>

namespace dhpvm::codegen {

struct IrModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;  // behind the context: destroyed before it
};

}  // namespace dhpvm::codegen
