// SPDX-License-Identifier: Apache-2.0
// From an LLVM module to code that can be called in this process: target, optimiser, emission and linker
// together.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/host/ir_module.h"
#include "codegen/host/linker.h"
#include "codegen/host/optimise.h"
#include "codegen/host/target.h"
#include "dhpvm/result.h"

namespace dhpvm::codegen {

// Thread-safe: any number of threads may compile at once.
class HostCompiler {
 public:
  static Result<std::unique_ptr<HostCompiler>> create(std::string_view cpu,
                                                      std::unique_ptr<SymbolTable> symbols);

  const Target& target() const { return target_; }

  // An empty module in a context of its own, with the target's triple and data layout.
  IrModule new_module(std::string_view name) const;

  // Optimises `ir`, makes machine code of it and loads that. Undefined symbols are looked for in `symbols`,
  // then in the table given to create.
  Result<LoadedCode> compile(IrModule ir, Pipeline pipeline, std::span<const NamedAddress> symbols = {});

 private:
  HostCompiler(Target target, std::unique_ptr<Linker> linker)
      : target_(std::move(target)), linker_(std::move(linker)) {}

  Result<std::unique_ptr<llvm::TargetMachine>> take_machine();
  void give_back(std::unique_ptr<llvm::TargetMachine> machine);

  Target target_;
  std::unique_ptr<Linker> linker_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<llvm::TargetMachine>> idle_;  // as many as compiled at once
};

}  // namespace dhpvm::codegen
