// SPDX-License-Identifier: Apache-2.0
// Parallel loops of few iterations in compiled functions. Requesting a loop from the virtual machine, and calling its
// kernel, takes as long as some hundred additions. A loop of the short form is therefore also lowered into the function
// that runs it: a body without loops or calls. Reductions keep their order: there is an accumulator for each of 32
// lanes of one block. The function decides at the start of the loop whether to run it in place, by its extent, and by
// the indices of its first and last iteration: accesses at the iteration's own indices or a fixed distance from them
// need no check and cannot trap. If an array is null, in use by a device, or too short, the virtual machine runs the
// loop and detects the trap. Accesses at other indices, and divisions, have their checks, before the body stores
// anything; an iteration that would trap leaves itself and all later ones to the virtual machine.
#pragma once

#include <array>
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

  // Emits the loop, and a branch to `otherwise` if it cannot run here. Leaves the builder after the loop. Returns the
  // loop's results; no register has been written.
  std::vector<llvm::Value*> emit(llvm::BasicBlock* otherwise);

 private:
  struct Element {  // accessed at a known index
    std::uint32_t pc = 0;
    std::uint32_t array = 0;  // number
    std::uint32_t index = 0;  // register
    bool write = false;
  };

  LoopInPlace(Unit& unit, Lowering& lowering, FunctionFrame& frame, const Instruction& parallel_for);
  struct Definition {
    const Instruction* instruction = nullptr;  // null: the register is a parameter
    bool is_known = true;                      // false: it depends on control flow
  };
  using Growth = std::array<std::uint32_t, 3>;  // by dimension

  bool has_short_form();
  bool examine(const Instruction& i);
  bool examine_index(const Instruction& i);
  bool is_checked(const Instruction& i);
  bool uses_dimensions(std::uint32_t array, unsigned count);
  bool accesses(const Instruction& i, std::uint32_t array, std::uint32_t index, bool write);
  bool runs_alone() const { return !targets_.empty() || !checked_.empty(); }
  Definition definition(std::uint32_t pc, std::uint32_t reg) const;
  std::optional<Growth> growth(std::uint32_t pc, std::uint32_t reg, unsigned depth = 0) const;
  llvm::Value* value_in(llvm::ArrayRef<llvm::Value*> iteration, std::uint32_t pc, std::uint32_t reg);
  bool lower_body();
  llvm::Value* describe_arrays(llvm::BasicBlock* otherwise);
  llvm::Value* all_inside(llvm::ArrayRef<llvm::Value*> first, llvm::ArrayRef<llvm::Value*> last);
  void count(llvm::Value* loops, llvm::Value* iterations);
  void emit_dimension(std::vector<llvm::Value*>& indices, llvm::Value* arrays);
  std::vector<llvm::Value*> emit_reductions(llvm::Value* low, llvm::Value* high, llvm::Value* arrays);
  void emit_counted(llvm::Value* from, llvm::Value* to, std::uint64_t step,
                    llvm::function_ref<void(llvm::Value*)> turn);
  llvm::CallInst* call_body(llvm::ArrayRef<llvm::Value*> indices, llvm::Value* arrays,
                            llvm::ArrayRef<llvm::Value*> accumulators);
  void leave_if_trapped(llvm::CallInst* result, llvm::Value* index);

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
  std::set<std::uint32_t> targets_;     // of branches
  std::set<std::uint32_t> checked_;     // instructions that check for traps
  std::vector<Instruction> positions_;  // others that compute linear indices
  std::vector<Element> elements_;
  bool stores_ = false;
  std::vector<unsigned> used_dimensions_;  // by array: the number of dimensions that the body uses
  llvm::BasicBlock* otherwise_ = nullptr;
  std::vector<llvm::Value*> low_;  // bounds, by dimension
  std::vector<llvm::Value*> high_;
  std::vector<llvm::Type*> scalars_;
  std::vector<llvm::Type*> accumulators_;
  llvm::Function* body_ = nullptr;  // one iteration
  struct Limits {
    llvm::Value* readable = nullptr;
    llvm::Value* writable = nullptr;
    std::vector<llvm::Value*> dimensions;
  };
  std::vector<Limits> limits_;  // by array
};

}  // namespace dhpvm::codegen
