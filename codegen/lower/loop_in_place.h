// SPDX-License-Identifier: Apache-2.0
// Parallel loops of few iterations in compiled functions. To ask the virtual machine for one, and to call its kernel,
// takes as long as some hundred additions. A loop of the short form is therefore also lowered into the function that
// runs it: one dimension, a body without branches or calls, and elements at the iteration's own index or a fixed
// distance from it. Reductions keep their order: there is an accumulator for each of 32 lanes, of one block. Whether it
// runs there is decided when it begins, by its extent, and by the indices of its first and last iteration: the loop
// itself checks nothing and cannot trap. Where an array is null, in use by a device, or too short, the virtual machine
// runs the loop, as ever, and finds the trap.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "codegen/lower/function_frame.h"
#include "codegen/lower/lowering.h"

namespace dhpvm::codegen {

class LoopInPlace {
 public:
  // The loop that the instruction of `lowering` runs, unless it has another form.
  static std::optional<LoopInPlace> find(Unit& unit, Lowering& lowering, FunctionFrame& frame,
                                         const Instruction& parallel_for);

  // Lowers the loop, and a branch to `otherwise` for when it cannot run here. The builder stands behind the loop then.
  // Gives the loop's results; no register has been written.
  std::vector<llvm::Value*> emit(llvm::BasicBlock* otherwise);

 private:
  struct Element {  // accessed in every iteration
    std::uint32_t pc = 0;
    std::uint32_t array = 0;  // number
    std::uint32_t index = 0;  // register
    bool write = false;
  };

  LoopInPlace(Unit& unit, Lowering& lowering, FunctionFrame& frame, const Instruction& parallel_for);
  bool has_short_form();
  bool examine(const Instruction& i);
  const Instruction* definition(std::uint32_t pc, std::uint32_t reg) const;
  std::optional<unsigned> growth(std::uint32_t pc, std::uint32_t reg, unsigned depth = 0) const;
  llvm::Value* value_in(llvm::Value* iteration, std::uint32_t pc, std::uint32_t reg);
  bool lower_body();
  llvm::Value* describe_arrays(llvm::BasicBlock* otherwise);
  llvm::Value* all_inside(llvm::Value* first, llvm::Value* last);
  void count(llvm::Value* iterations);
  std::vector<llvm::Value*> emit_reductions(llvm::Value* low, llvm::Value* high, llvm::Value* arrays);
  void emit_counted(llvm::Value* from, llvm::Value* to, std::uint64_t step,
                    llvm::function_ref<void(llvm::Value*)> turn);
  llvm::CallInst* call_body(llvm::Value* index, llvm::Value* arrays,
                            llvm::ArrayRef<llvm::Value*> accumulators);

  Unit& unit_;
  Lowering& lowering_;
  FunctionFrame& frame_;
  RegisterFile& registers_;
  IrEmitter& ir_;
  llvm::IRBuilder<>& b_;
  const Instruction parallel_for_;
  const bytecode::KernelRecord& record_;
  const bytecode::Function& kernel_;
  const Split parameters_;
  std::vector<Instruction> code_;
  std::vector<Element> elements_;
  std::vector<llvm::Type*> scalars_;
  std::vector<llvm::Type*> accumulators_;
  llvm::Function* body_ = nullptr;  // one iteration
  struct Limits {
    llvm::Value* readable = nullptr;
    llvm::Value* writable = nullptr;
  };
  std::vector<Limits> limits_;  // by array
};

}  // namespace dhpvm::codegen
