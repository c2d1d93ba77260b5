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

// Disables passes of code generation; a gate is LLVM's only way to do so for a single compilation.
//
// For kernels: loop strength reduction. It made none of them faster (the addressing modes of x86 are free), and in a
// loop that reads many neighbours its search is by far the longest pass: 10 of the 18 ms for a stencil of six.
//
// For functions: the search for integers that could be in AVX-512 mask registers. They have no masks, and it takes
// quadratic time: 2.5 of 4.1 s for a function of 200 small loops.
//
// For large functions: also late tail duplication. It gives each of hundreds of trap sites its own path to the return,
// and block placement then compares all pairs to merge them again: 17 s for 800 sites.
class Gate : public llvm::OptPassGate {
 public:
  Gate(const llvm::Module& module, Pipeline pipeline) : is_kernel_(pipeline == Pipeline::kKernels) {
    std::size_t blocks = 0;
    for (const llvm::Function& function : module) blocks += function.size();
    is_large_ = blocks > kManyBlocks;
  }
  bool isEnabled() const override { return true; }
  bool shouldRunPass(const llvm::StringRef pass, llvm::StringRef /*where*/) override {
    if (is_kernel_) return pass != "Loop Strength Reduction";
    return pass != "X86 Domain Reassignment Pass" && !(is_large_ && pass == "Tail Duplication");
  }

 private:
  static constexpr std::size_t kManyBlocks = 600;
  const bool is_kernel_;
  bool is_large_;
};

// Sets `machine` to the optimisation level of the pipeline. Without optimisation, LLVM uses fast instruction selection
// and allocates registers block by block: a fifth of the time for kernels of one lane.
class OptimisationLevel {
 public:
  OptimisationLevel(llvm::TargetMachine& machine, Pipeline pipeline)
      : machine_(machine), level_(machine.getOptLevel()), selects_fast_(machine.Options.EnableFastISel) {
    if (pipeline == Pipeline::kBaseline) machine.setOptLevel(llvm::CodeGenOptLevel::None);
  }
  // Setting up the passes without optimisation has enabled fast selection, and nothing else disables it again.
  ~OptimisationLevel() {
    machine_.setOptLevel(level_);
    machine_.setFastISel(selects_fast_);
  }
  OptimisationLevel(const OptimisationLevel&) = delete;
  OptimisationLevel& operator=(const OptimisationLevel&) = delete;

 private:
  llvm::TargetMachine& machine_;
  const llvm::CodeGenOptLevel level_;
  const bool selects_fast_;
};

Status emit(llvm::Module& module, llvm::TargetMachine& machine, Pipeline pipeline, llvm::CodeGenFileType kind,
            llvm::raw_pwrite_stream& stream) {
  llvm::LLVMContext& context = module.getContext();
  const Diagnostics diagnostics(context);
  llvm::OptPassGate& gate_before = context.getOptPassGate();
  Gate gate(module, pipeline);
  context.setOptPassGate(gate);
  const OptimisationLevel level(machine, pipeline);
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
