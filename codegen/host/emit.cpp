// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/emit.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include "base/error.h"
#include "codegen/host/diagnostics.h"

namespace dhpvm::codegen {
namespace {

// Leaves loop strength reduction out of code generation for kernels. It made none of them faster (the
// addressing modes of x86 cost nothing), and where a loop reads many neighbours its search is by far the
// longest pass: 10 of the 18 ms that a stencil of six took. Gates are LLVM's one way to say so for a single
// compilation.
class KernelGate : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(const llvm::StringRef pass, llvm::StringRef /*where*/) override {
    return pass != "Loop Strength Reduction";
  }
};

Status emit(llvm::Module& module, llvm::TargetMachine& machine, Pipeline pipeline, llvm::CodeGenFileType kind,
            llvm::raw_pwrite_stream& stream) {
  llvm::LLVMContext& context = module.getContext();
  const Diagnostics diagnostics(context);
  llvm::OptPassGate& gate_before = context.getOptPassGate();
  KernelGate gate;
  if (pipeline == Pipeline::kKernels) context.setOptPassGate(gate);
  llvm::legacy::PassManager passes;
  const bool impossible =
      machine.addPassesToEmitFile(passes, stream, /*DwoOut=*/nullptr, kind, /*DisableVerify=*/true);
  if (!impossible) passes.run(module);
  context.setOptPassGate(gate_before);
  if (impossible) return error(ErrorCode::kInternal, "LLVM cannot write such a file for this target");
  return diagnostics.status("LLVM cannot make machine code");
}

}  // namespace

Result<std::unique_ptr<llvm::MemoryBuffer>> emit_object(llvm::Module& module, llvm::TargetMachine& machine,
                                                        Pipeline pipeline) {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  DHPVM_TRY(emit(module, machine, pipeline, llvm::CodeGenFileType::ObjectFile, stream));
  return std::unique_ptr<llvm::MemoryBuffer>(std::make_unique<llvm::SmallVectorMemoryBuffer>(
      std::move(bytes), module.getName(), /*RequiresNullTerminator=*/false));
}

Result<std::string> emit_assembly(llvm::Module& module, llvm::TargetMachine& machine, Pipeline pipeline) {
  llvm::SmallVector<char, 0> text;
  llvm::raw_svector_ostream stream(text);
  DHPVM_TRY(emit(module, machine, pipeline, llvm::CodeGenFileType::AssemblyFile, stream));
  return std::string(text.begin(), text.end());
}

}  // namespace dhpvm::codegen
