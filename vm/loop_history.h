// SPDX-License-Identifier: Apache-2.0
// The history of one parallel loop on the host's cores: a recorder of events, and the text that explains them.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/codegen.h"
#include "vm/loop_code.h"

namespace dhpvm::vm {

class LoopHistory {
 public:
  enum class Fuel : std::uint8_t { kUnlimited, kLimited };

  void executed(Fuel fuel) {
    ++executions_;
    fuel_ = fuel;
  }
  // `iterations` of an execution ran compiled.
  void ran_compiled(const codegen::CompiledKernel& kernel, std::uint64_t iterations) {
    compiled_iterations_ += iterations;
    last_ = &kernel;
  }
  // The loop's compilation was requested from a code generator, which is there or could not be loaded.
  void looked_for_generator(bool is_there) { has_generator_ = is_there; }
  std::uint64_t executions() const { return executions_; }
  // Whether the last execution was interpreted because fuel is limited.
  bool is_fuel_limited() const { return fuel_ == Fuel::kLimited; }

  // A line for each fact, in terms of the source. `iterations`: those of all executions that ran on the host.
  std::string explain(const bytecode::Module& module, const bytecode::KernelRecord& kernel, LoopCode& code,
                      std::uint64_t iterations) const;

 private:
  std::string why_interpreted(const LoopCode& code) const;

  std::uint64_t executions_ = 0;
  std::uint64_t compiled_iterations_ = 0;
  const codegen::CompiledKernel* last_ = nullptr;  // the kernel that ran last
  Fuel fuel_ = Fuel::kUnlimited;
  bool has_generator_ = true;
};

}  // namespace dhpvm::vm
