// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/emit.h"

#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "base/error.h"

namespace dhpvm::codegen {
namespace {

// Keeps what LLVM reports as errors. Without a handler LLVM prints them and ends the process.
class Diagnostics : public llvm::DiagnosticHandler {
 public:
  explicit Diagnostics(std::string& errors) : errors_(errors) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo& diagnostic) override {
    if (diagnostic.getSeverity() == llvm::DS_Error) {
      llvm::raw_string_ostream stream(errors_);
      if (!errors_.empty()) stream << "; ";
      llvm::DiagnosticPrinterRawOStream printer(stream);
      diagnostic.print(printer);
    }
    return true;
  }

 private:
  std::string& errors_;
};

Status emit(llvm::Module& module, llvm::TargetMachine& machine, llvm::CodeGenFileType kind,
            llvm::raw_pwrite_stream& stream) {
  std::string errors;
  llvm::LLVMContext& context = module.getContext();
  std::unique_ptr<llvm::DiagnosticHandler> before = context.getDiagnosticHandler();
  context.setDiagnosticHandler(std::make_unique<Diagnostics>(errors));
  llvm::legacy::PassManager passes;
  const bool impossible =
      machine.addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr, kind, /*DisableVerify=*/true);
  if (!impossible) passes.run(module);
  context.setDiagnosticHandler(std::move(before));
  if (impossible) errors = "this target cannot write such a file";
  if (!errors.empty()) return error(ErrorCode::kInternal, "LLVM cannot make machine code: {}", errors);
  return {};
}

}  // namespace

Result<std::unique_ptr<llvm::MemoryBuffer>> emit_object(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  DHPVM_TRY(emit(module, machine, llvm::CodeGenFileType::ObjectFile, stream));
  return std::unique_ptr<llvm::MemoryBuffer>(std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(bytes), module.getName(), /*RequiresNullTerminator=*/false));
}

Result<std::string> emit_assembly(llvm::Module& module, llvm::TargetMachine& machine) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  DHPVM_TRY(emit(module, machine, llvm::CodeGenFileType::AssemblyFile, stream));
  return std::string(text.begin(), text.end());
}

}  // namespace dhpvm::codegen
