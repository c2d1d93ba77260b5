// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/host_compiler.h"

#include <llvm/IR/Verifier.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include "base/error.h"
#include "codegen/host/emit.h"
#include "codegen/host/guard.h"

namespace dhpvm::codegen {
namespace {

Status verify(const llvm::Module& module) {
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (!llvm::verifyModule(module, &stream)) return {};
  return error(ErrorCode::kInternal, "the LLVM IR of {} is invalid: {}", module.getName().str(),
               stream.str());
}

}  // namespace

Result<std::unique_ptr<HostCompiler>> HostCompiler::create(std::string_view cpu,
                                                           std::unique_ptr<SymbolTable> symbols) {
  DHPVM_ASSIGN(Target target, Target::create(cpu));
  DHPVM_ASSIGN(std::unique_ptr<Linker> linker, Linker::create(std::move(symbols)));
  return std::unique_ptr<HostCompiler>(new HostCompiler(std::move(target), std::move(linker)));
}

IrModule HostCompiler::new_module(std::string_view name) const {
  IrModule ir;
  ir.context = std::make_unique<llvm::LLVMContext>();
  ir.module = std::make_unique<llvm::Module>(llvm::StringRef(name), *ir.context);
  target_.configure(*ir.module);
  return ir;
}

Result<LoadedCode> HostCompiler::compile(IrModule ir, Pipeline pipeline,
                                         std::span<const NamedAddress> symbols) {
  DHPVM_ASSIGN(std::unique_ptr<llvm::TargetMachine> machine, take_machine());
  std::unique_ptr<llvm::MemoryBuffer> object;
  bool abandoned = false;
  Status status = guarded(
      [&]() -> Status {
        DHPVM_TRY(verify(*ir.module));
        target_.constrain(*ir.module);
        optimise(*ir.module, *machine, pipeline);
        DHPVM_ASSIGN(object, emit_object(*ir.module, *machine));
        return {};
      },
      &abandoned);
  if (abandoned) {
    static_cast<void>(machine.release());
    static_cast<void>(ir.module.release());
    static_cast<void>(ir.context.release());
    return std::move(status).error();
  }
  give_back(std::move(machine));
  DHPVM_TRY(std::move(status));
  return linker_->load(std::move(object), symbols);
}

Result<std::unique_ptr<llvm::TargetMachine>> HostCompiler::take_machine() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<llvm::TargetMachine> machine = std::move(idle_.back());
      idle_.pop_back();
      return machine;
    }
  }
  return target_.new_machine();
}

void HostCompiler::give_back(std::unique_ptr<llvm::TargetMachine> machine) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(machine));
}

}  // namespace dhpvm::codegen
