// SPDX-License-Identifier: Apache-2.0
// An LLVM module together with its context.
//
// Every compilation has its own context, so that compile threads share nothing inside LLVM.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>

namespace dhpvm::codegen {

struct IrModule {
  std::unique_ptr<llvm::LLVMContext> context;
  std::unique_ptr<llvm::Module> module;  // after the context: destroyed before it
};

}  // namespace dhpvm::codegen
