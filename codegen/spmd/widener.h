// SPDX-License-Identifier: Apache-2.0
// Emits the vector form of one instruction, under the mask of its block.
#pragma once

#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include "codegen/spmd/divergence.h"
#include "codegen/spmd/field_groups.h"
#include "codegen/spmd/math.h"
#include "codegen/spmd/staging.h"
#include "codegen/spmd/values.h"
#include "codegen/spmd/vectorize.h"
#include "dhpvm/result.h"

namespace dhpvm::codegen::spmd {

// Whether `instruction` must not run while no lane is active: because as a scalar it could fault, or because it has an
// effect in any case.
bool needs_lanes(const llvm::Instruction& instruction, const Divergence& divergence);

// The approximate number of instructions that `instruction` becomes for each native vector; 0 if none.
unsigned cost_of(const llvm::Instruction& instruction, const Divergence& divergence);

class Widener {
 public:
  Widener(const llvm::Function& scalar, llvm::Function& result, const Divergence& divergence,
          const SpmdOptions& options, Values& values, llvm::IRBuilder<>& builder);

  // `entry` dominates everything; `root` is the mask of the lanes that are active in the function.
  void set_entry(llvm::BasicBlock* entry, llvm::Value* root);
  // Sets the mask of the instructions that follow.
  void set_mask(llvm::Value* mask) { mask_ = mask; }

  // All instructions but phis and terminators. kUnsupported names an instruction without vector form.
  Status emit(llvm::Instruction& instruction);

  // i1: whether any lane of `mask` is on.
  llvm::Value* any(llvm::Value* mask);
  // i1: true only if the scalar function's `condition` is `expected` in every lane, active or not; null if the first
  // and the last lane do not tell.
  llvm::Value* all_lanes_are(const llvm::Value* condition, bool expected);
  // The lanes of `mask` where `condition` is `expected`. A condition that is poison in a lane outside of `mask` leaves
  // that lane off.
  llvm::Value* narrow(llvm::Value* mask, llvm::Value* condition, bool expected);
  // `a` in the lanes of `mask`, `b` in the others; both may be structures of vectors.
  llvm::Value* blend(llvm::Value* mask, llvm::Value* a, llvm::Value* b);

 private:
  Status emit_scalar(llvm::Instruction& instruction);
  // A copy outside the scalar function, with the original's operands.
  llvm::Instruction* copy_of(const llvm::Instruction& instruction);
  llvm::Value* all_lanes_compare(const llvm::ICmpInst& compare, bool expected);
  Status emit_vector(llvm::Instruction& instruction);
  llvm::Value* binary(const llvm::BinaryOperator& instruction);
  llvm::Value* select(const llvm::SelectInst& instruction);
  llvm::Value* pointer(const llvm::GetElementPtrInst& gep);

  // Division of integers (widener_division.cpp).
  llvm::Value* divide(const llvm::BinaryOperator& instruction, llvm::Value* left, llvm::Value* right);
  llvm::Value* all_are_small(const llvm::Value* scalar, llvm::Value* vector, bool is_signed);

  // Memory (widener_memory.cpp).
  Status load(const llvm::LoadInst& load);
  Status store(const llvm::StoreInst& store);
  Status store_to_one_place(const llvm::StoreInst& store);
  Status load_private(const llvm::LoadInst& load, const llvm::AllocaInst& alloca);
  Status store_private(const llvm::StoreInst& store, const llvm::AllocaInst& alloca);
  Status allocate(const llvm::AllocaInst& alloca);
  Status check_private(const llvm::Instruction& access, const llvm::AllocaInst& alloca, llvm::Align align,
                       unsigned element_bytes);
  void private_offset(const llvm::Instruction& address);
  llvm::Value* private_address(const llvm::Value* pointer, const llvm::AllocaInst& alloca, bool& contiguous,
                               unsigned element_bytes);
  llvm::Value* reverse(llvm::Value* vector);

  // Fields of structures (widener_fields.cpp).
  bool moves_together(const FieldGroup& group) const;
  void load_fields(const FieldGroup& group);
  void store_fields(const FieldGroup& group);
  llvm::Type* units_of(const FieldGroup& group);
  llvm::Type* bits_of(const FieldGroup::Member& member);
  llvm::Value* part_of(const FieldGroup& group, unsigned part);
  llvm::Value* mask_of(const FieldGroup& group, unsigned part, unsigned pieces,
                       llvm::function_ref<bool(unsigned unit, unsigned piece)> is_wanted);

  // Staged operands (widener_staging.cpp).
  bool staged(const llvm::CallInst& call);
  llvm::AllocaInst* new_staging_buffer(std::uint64_t bytes);
  llvm::Value* staged_place(const llvm::CallInst& access, llvm::Type* vector);
  void access_staged(const llvm::CallInst& access);
  llvm::Value* rows_of_active(const llvm::CallInst& copy, RowCopy direction);
  RowCopyForm row_copy_form(const llvm::CallInst& call) const;
  void copy_staged_rows(const llvm::CallInst& call);
  void pack_staged_columns(const llvm::CallInst& call);

  // Calls (widener_calls.cpp).
  Status call(llvm::CallInst& call);
  void answer(const llvm::CallInst& question);
  Status mathematical(llvm::CallInst& call, const std::string& name);
  VectorFunction vector_function_of(const llvm::CallInst& call, const std::string& name) const;
  Status angle_functions(llvm::CallInst& call);
  llvm::CallInst* other_function_of_angle(const llvm::CallInst& call) const;
  llvm::Value* call_pieces(llvm::CallInst& call, const std::string& symbol, unsigned piece);
  Status intrinsic(llvm::CallInst& call, llvm::Intrinsic::ID id);
  void call_for_first_lane(llvm::CallInst& call);
  llvm::Instruction* copy_for_lane(const llvm::Instruction& instruction, llvm::Value* lane);
  // Runs a scalar copy of `instruction` for each active lane, in order.
  Status lane_by_lane(llvm::Instruction& instruction);

  llvm::Function& result_;
  const Divergence& divergence_;
  const SpmdOptions& options_;
  const FieldGroups field_groups_;
  Values& values_;
  llvm::IRBuilder<>& builder_;
  const unsigned width_;
  llvm::BasicBlock* entry_ = nullptr;
  llvm::Value* root_ = nullptr;
  llvm::Value* mask_ = nullptr;
  llvm::SmallPtrSet<const llvm::CallInst*, 4> angles_done_;  // calls that have vectors, perhaps before emit()
  // The interleaved form of a local array, and the size of its elements once something has accessed one.
  struct LocalArray {
    llvm::AllocaInst* lanes = nullptr;
    unsigned element_bytes = 0;
  };
  llvm::DenseMap<const llvm::AllocaInst*, LocalArray> locals_;
  llvm::AllocaInst* unused_row_ = nullptr;  // receives the stores of inactive lanes
};

// The kUnsupported error for `instruction`: its text and the problem with it.
Error unsupported(const llvm::Instruction& instruction, std::string_view why);

}  // namespace dhpvm::codegen::spmd
