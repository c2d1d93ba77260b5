// SPDX-License-Identifier: Apache-2.0
// The parts of device_loop.h: single iterations and loops over the dimensions (device_loop.cpp), the ways to distribute
// the blocks of reductions (group_reductions.cpp, run_reductions.cpp; shared_reductions.cpp if there are few of them),
// squares of iterations (square_grid.cpp), and iterations that groups share (shared_grid.cpp).
#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>

#include <vector>

#include "codegen/device/builtins.h"
#include "codegen/device/device_loop.h"
#include "codegen/device/entry_parameters.h"

namespace dhpvm::codegen {

class LoopEmitter {
 public:
  LoopEmitter(const bytecode::Module& bytecode, const bytecode::KernelRecord& record, const KernelBody& body,
              const DeviceForm& form, const char* name, llvm::Module& module);
  DeviceEntry emit();

 private:
  using Value = llvm::Value;
  using BasicBlock = llvm::BasicBlock;
  using Values = std::vector<Value*>;

  BasicBlock* block(const char* name) { return BasicBlock::Create(b_.getContext(), name, function_); }
  Value* i64(std::uint64_t value) { return b_.getInt64(value); }
  llvm::AllocaInst* entry_alloca(llvm::Type* type, const char* name);
  // A loop from the low bound plus `first` in steps of `step`: sets index_, and passes the distance from the low bound.
  void for_indices(Value* first, Value* end, unsigned dimension, Value* step,
                   llvm::function_ref<void(Value*)> inside);
  std::pair<Value*, Value*> band_of_group(unsigned dimension);
  // A loop from `first` in steps of `step` while the counter is below `end`, without overflow. All are unsigned, of one
  // type.
  void counted(Value* first, Value* end, Value* step, llvm::function_ref<void(Value*)> inside);

  // ---- device_loop.cpp
  void emit_single();
  void emit_strides();
  void emit_dimension(unsigned dimension);
  // The same for whole groups, whose work-items stay together.
  void emit_tiled_dimension(unsigned dimension);
  void call_tiled_body();
  // Runs the iteration index_. Continues in a new block, and at `trapped` after a trap has been reported. Returns the
  // new accumulators.
  Values call_body(const Values& accumulators, BasicBlock* trapped);
  llvm::SmallVector<Value*> arguments_of_body();
  // Handles a trap as call_body does. `before_report` writes what the report needs.
  void leave_if_trapped(Value* result, BasicBlock* trapped, llvm::function_ref<void()> before_report);
  void report_trap(Value* result, Value* site);
  // A block that ends this work-item.
  BasicBlock* leaving();

  // ---- square_grid.cpp
  Value* has_squares();
  void emit_square_dimension(unsigned dimension);
  void emit_square();

  // ---- shared_grid.cpp
  void emit_shared();

  // ---- Blocks of reductions: numbered in iteration order.
  llvm::Constant* identity(std::size_t reduction);
  Value* blocks_of_row();
  Value* blocks_of_chunk(Value* blocks_of_row);
  // Sets index_ except in the innermost dimension; returns where the block begins and ends in that one.
  std::pair<Value*, Value*> enter_block(Value* number, Value* blocks_of_row);
  void write_partials(Value* number, const Values& values);

  // ---- group_reductions.cpp
  void emit_group_blocks();
  void emit_lane(Value* number, Value* blocks_of_row, BasicBlock* join, llvm::PHINode* traps,
                 const std::vector<llvm::PHINode*>& values);
  void make_local_memory(Value* item);
  void combine_lanes(Values values, Value* number, Value* exists);
  // Linear numbers in a grid of any shape: this work-item's, and the count.
  Value* linear(Builtin id, Builtin count);
  Value* product(Builtin count);

  // ---- shared_reductions.cpp
  // The group processes the block with the group's number together; if each row has `one_fewer` group than blocks, the
  // last group of a row processes its last two blocks. Ends this work-item.
  void emit_shared_blocks(Value* item, Value* blocks_of_row, Value* one_fewer);
  void emit_shared_block(Value* item, Value* number, Value* blocks_of_row);
  Values fold_terms(const Values& sums, Value* base, Value* end, Value* folds);

  // ---- run_reductions.cpp
  // The share of number `id` of `count` in `extent`, as begin and end. The begin may exceed the end.
  std::pair<Value*, Value*> run_of(Value* extent, Value* id, Value* count);
  void emit_run_blocks();
  void emit_run_block(Value* number, Value* blocks_of_row, const std::vector<llvm::AllocaInst*>& lanes);
  Value* lane_of(llvm::AllocaInst* lanes, Value* lane);

  const bytecode::KernelRecord& record_;
  const KernelBody& body_;
  const DeviceForm form_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  EntryParameters parameters_;
  llvm::Function* const function_;
  const unsigned inner_;
  Value* arrays_ = nullptr;
  Value* low_[3] = {};
  Value* extent_[3] = {};
  Value* index_[3] = {};
  // For a tiled body: its arguments, see tile_loops.h. For squares: the square's first iteration and its sides.
  Value* first_[3] = {};
  Value* count_[3] = {};
  Value* turns_ = nullptr;
  Value* lane_ = nullptr;
  std::vector<llvm::GlobalVariable*> local_;  // by reduction: memory with a value for each work-item
  Values places_;                             // this work-item's places in it
};

}  // namespace dhpvm::codegen
