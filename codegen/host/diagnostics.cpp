// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/diagnostics.h"

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Support/raw_ostream.h>

#include "base/error.h"

namespace dhpvm::codegen {
namespace {

class Collector : public llvm::DiagnosticHandler {
 public:
  explicit Collector(std::string& errors) : errors_(errors) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo& diagnostic) override {
    if (diagnostic.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(errors_);
      if (!errors_.empty()) stream << "; ";
      llvm::DiagnosticPrinterRawOStream printer(stream);
      diagnostic.print(printer);
    }
    return true;  // handled: LLVM does nothing about it
  }

 private:
  std::string& errors_;
};

}  // namespace

Diagnostics::Diagnostics(llvm::LLVMContext& context)
    : context_(context), before_(context.getDiagnosticHandler()) {
  context_.setDiagnosticHandler(std::make_unique<Collector>(errors_));
}

Diagnostics::~Diagnostics() { context_.setDiagnosticHandler(std::move(before_)); }

Status Diagnostics::status(std::string_view doing) const {
  if (errors_.empty()) return {};
  return error(ErrorCode::kInternal, "{}: {}", doing, errors_);
}

}  // namespace dhpvm::codegen
