// SPDX-License-Identifier: Apache-2.0
// Lowers one whole function for calls by the program, or one of its outermost loops as the continuation of interpreted
// code (continuation.cpp).
//
// A compiled body is  {i64 ticks, results..} body(state, r, ticks, left, parameters..)  where `r` is the first free
// slot of the reference stack, `ticks` the rest of the batch of fuel (negative in the result: trapped) and `left` the
// rest of the stack limit. References live in machine registers. At a possible collection, the live ones are mirrored
// to r[0..n), and the callee gets r + n: everything below it is a root. Objects do not move, so nothing is loaded back.
#pragma once

#include <set>
#include <vector>

#include "codegen/codegen.h"
#include "codegen/lower/function_frame.h"
#include "codegen/lower/loop_entries.h"
#include "codegen/lower/lowering.h"
#include "codegen/lower/runtime_calls.h"
#include "codegen/lower/trap_handlers.h"
#include "codegen/lower/unit.h"

namespace dhpvm::codegen {

// Emits the body of `function`, and `enter.N`, an EnterFunction that calls it.
void lower_function(Unit& unit, std::uint32_t function);
// Emits `continue.N.PC` for each loop header of `function`, an EnterFunction that continues at the word `PC`.
void lower_continuations(Unit& unit, std::uint32_t function);

class FunctionLowering final : public Lowering {
 public:
  // kCopy: see Unit::copy.
  enum class Form : std::uint8_t { kBody, kCopy };
  FunctionLowering(Unit& unit, std::uint32_t index, llvm::IRBuilder<>& builder, llvm::Function& function,
                   Form form);
  // For a continuation in the outermost loop with this header, a block number.
  FunctionLowering(Unit& unit, std::uint32_t index, llvm::IRBuilder<>& builder, llvm::Function& function,
                   std::uint32_t loop);

  void run_body();
  // For an EnterFunction with one more parameter: the block number of the loop header at which to continue.
  void run_continuation();

 private:
  // Lowering's.
  Value* array_field(Value* array, ArrayField field) override;
  Value* array_dimension(Value* array, unsigned dimension, bool may_be_vector) override;
  void check_array(const Instruction& i, Value* array) override;
  void inaccessible(const Instruction& i, Value* array, Value* index, bool write,
                    llvm::BasicBlock* go_on) override;
  void leave_with_trap(const Instruction& i, TrapKind kind) override;
  void tick(const Instruction& i, llvm::BasicBlock* begin) override;
  Value* ticks_at_hand() override { return frame_.ticks(); }
  void take_ticks(Value* count) override {
    b_.CreateStore(b_.CreateSub(frame_.ticks(), count), frame_.ticks_slot);
  }
  void give_ticks(Value* count) override {
    b_.CreateStore(b_.CreateAdd(frame_.ticks(), count), frame_.ticks_slot);
  }
  Value* has_room_for(std::uint32_t callee) override;
  bool is_proven(const Instruction&) const override { return false; }
  void element_stored(const Instruction& i) override;
  void lower_return(const Instruction& i) override;
  void lower_special(const Instruction& i) override;
  void block_begins() override;
  void enter_body() override;
  bool is_outside(std::uint32_t block) const override { return loops_ && !loops_->contains(block); }
  void lower_outside(std::uint32_t block) override;
  void lowered(const Instruction& i) override;
  // Other threads access elements only while this one waits for a parallel loop.
  bool needs_atomics() const override { return false; }

  // function_lowering.cpp
  void begin_function();
  void make_exit();
  void null_check(const Instruction& i, Value* reference);
  void lower_jump_null(const Instruction& i);

  // continuation.cpp
  void for_each_local(llvm::function_ref<void(Value* local, Value* in_frame, std::uint64_t bytes)> receive);

  // calls.cpp
  void lower_call(const Instruction& i);
  void lower_call_interface(const Instruction& i);
  void lower_call_native(const Instruction& i);
  void lower_parallel_for(const Instruction& i);
  std::vector<Value*> call_function(const Instruction& i, std::uint32_t callee, Value* r);
  Value* call_body(std::uint32_t callee, llvm::ArrayRef<Value*> arguments);
  std::vector<Value*> call_method(const Instruction& i, Value* r);
  void set_results(const Instruction& i, const std::vector<bytecode::ValueType>& types,
                   const std::vector<Value*>& values);
  struct Windows {
    Value* p;
    Value* r;
  };
  Windows store_windows(const Instruction& i, std::uint32_t primitives, std::uint32_t references,
                        std::uint32_t result_references, Value* r);
  std::vector<Value*> load_windows(const Windows& windows, const std::vector<bytecode::ValueType>& types);

  // objects.cpp
  struct OpenMemory {
    Value* start = nullptr;
    llvm::BasicBlock* taken = nullptr;
    llvm::BasicBlock* cold = nullptr;  // the path without free memory; to be filled
  };
  OpenMemory take_open_memory(Value* size, Value* also);
  void finish_object(const Instruction& i, const OpenMemory& memory,
                     llvm::function_ref<Value*(Value* r)> make);
  std::uint64_t element_size(const bytecode::Type& array) const;
  void lower_new(const Instruction& i);
  void lower_get_field(const Instruction& i);
  void lower_put_field(const Instruction& i);
  void lower_cast(const Instruction& i);
  Value* is_instance(Value* object, std::uint32_t type);
  Value* type_of(Value* object);
  void lower_is_type(const Instruction& i);
  void lower_new_weak(const Instruction& i);
  void lower_get_weak(const Instruction& i);
  void lower_const_string(const Instruction& i);
  void lower_string_length(const Instruction& i);
  void lower_string_byte(const Instruction& i);
  void lower_string_concat(const Instruction& i);
  void lower_string_eq(const Instruction& i);
  void lower_string_compare(const Instruction& i);
  void lower_new_array(const Instruction& i);
  void lower_array_copy(const Instruction& i);
  void lower_array_close(const Instruction& i);
  Value* string_size(const Instruction& i, Value* string);
  void barrier(Value* holder, llvm::function_ref<llvm::CallInst*()> log);

  Unit& unit_;
  llvm::Function& function_;
  const Form form_;
  FunctionFrame frame_;
  llvm::BasicBlock* leave_body_ = nullptr;       // see make_exit(); null in continuations
  std::vector<llvm::AllocaInst*> result_slots_;  // the ticks, and the results
  TrapHandlers handlers_{*this, frame_, unit_.module};
  // In a continuation: the header of the lowered loop, the interpreter's registers, and the ways into the loop.
  const std::uint32_t loop_ = bytecode::kNoIndex;
  Value* window_p_ = nullptr;
  std::optional<LoopEntries> loops_;
  // Registers with objects allocated in this block with no collection since: they need no write barrier.
  std::set<std::uint32_t> fresh_;
};

}  // namespace dhpvm::codegen
