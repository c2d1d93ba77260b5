// SPDX-License-Identifier: Apache-2.0
// Lowers one whole function, as the program calls it or as continued from the interpreter at a loop header
// (continuation.cpp).
//
// A compiled body is  {i64 ticks, results..} body(state, r, ticks, left, parameters..)  where `r` is the
// first free place on the reference stack, `ticks` what is left of the batch of fuel (negative in the result:
// trapped) and `left` what is left of the stack limit. References live in machine registers. Where a
// collection may happen, those that are needed afterwards are mirrored to r[0..n), and what is called gets r
// + n: everything below it is a root. Objects do not move, so nothing is loaded back.
#pragma once

#include <set>

#include "codegen/codegen.h"
#include "codegen/lower/loop_tree.h"
#include "codegen/lower/lowering.h"
#include "codegen/lower/mirror.h"
#include "codegen/lower/runtime_calls.h"

namespace dhpvm::codegen {

// What the lowering is told of a function apart from its bytecode.
struct FunctionFacts {
  std::uint32_t stack_cost = 0;  // what a call takes from the stack limit
};

// The functions of one LLVM module being filled.
class Unit {
 public:
  Unit(const bytecode::Module& bytecode, const RuntimeLayout& layout, const std::vector<FunctionFacts>& facts,
       llvm::Module& module, Mutation* mutation = nullptr)
      : bytecode(bytecode), layout(layout), facts(facts), module(module), mutation(mutation) {}

  // Declares the body of a function that will be lowered into this module.
  void declare(std::uint32_t function);
  // What to call for a function: its body if it is in this module, and otherwise a stub that looks for
  // compiled code when it runs.
  llvm::Function* callee(std::uint32_t function);
  // For a call of a function in its own body: a copy of the body to be inlined there, so that two levels of a recursion
  // share a frame; the body itself if the function is too large for that.
  llvm::Function* callee_of_itself(std::uint32_t function);
  // The same interface, but runs the function in the interpreter.
  llvm::Function* interpreted(std::uint32_t function);
  llvm::FunctionType* body_type(std::uint32_t function);
  static std::string symbol(const char* prefix, std::uint32_t function);

  const bytecode::Module& bytecode;
  const RuntimeLayout& layout;
  const std::vector<FunctionFacts>& facts;
  llvm::Module& module;
  Mutation* const mutation;  // null but in tests

 private:
  std::map<std::uint32_t, llvm::Function*> bodies_;
  std::map<std::uint32_t, llvm::Function*> stubs_;
  std::map<std::uint32_t, llvm::Function*> interpreted_;
  std::map<std::uint32_t, llvm::Function*> copies_;
};

// Emits the body of `function`, and `enter.N`, an EnterFunction that calls it.
void lower_function(Unit& unit, std::uint32_t function);
// Emits `continue.N.PC` for each loop header of `function`, an EnterFunction that goes on at the word `PC`.
void lower_continuations(Unit& unit, std::uint32_t function);

class FunctionLowering final : public Lowering {
 public:
  // `is_copy`: see Unit::callee_of_itself.
  FunctionLowering(Unit& unit, std::uint32_t index, llvm::IRBuilder<>& builder, llvm::Function& function,
                   bool is_copy = false);

  void run_body();
  // For an EnterFunction with one more parameter: the number of the block, a loop header, to go on with.
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
  Value* ticks_at_hand() override { return ticks(); }
  void take_ticks(Value* count) override { b_.CreateStore(b_.CreateSub(ticks(), count), ticks_); }
  void give_ticks(Value* count) override { b_.CreateStore(b_.CreateAdd(ticks(), count), ticks_); }
  bool is_proven(const Instruction&) const override { return false; }
  void element_stored(const Instruction& i) override;
  void lower_return(const Instruction& i) override;
  void lower_special(const Instruction& i) override;
  void block_begins() override;
  void enter_body() override;
  void lowered(const Instruction& i) override;
  // Other threads get at elements only while this one waits for a parallel loop.
  bool needs_atomics() const override { return false; }

  // function_lowering.cpp
  void begin(llvm::Function& function);
  Value* stack_has_room();
  Value* ticks() { return b_.CreateLoad(b_.getInt64Ty(), ticks_); }
  Value* site(const Instruction& i) { return constant(std::uint64_t{index_} << 32 | i.pc); }
  Value* state_field(std::uint32_t offset, bool constant);
  void leave_if_null(Value* result);
  void leave_if_trapped(Value* ticks);
  void leave() { b_.CreateBr(trapped_); }
  // What is left at this instruction, for the account of a program that traps here.
  Value* exact_ticks();
  // A block that leaves after a called function has trapped that was not told the ticks.
  llvm::BasicBlock* callee_trapped();
  // Mirrors what is needed after `i`; returns the first free place on the reference stack.
  Value* mirror(const Instruction& i);
  Value* reference_place(Value* r, std::uint32_t index);
  void null_check(const Instruction& i, Value* reference);
  void lower_jump_null(const Instruction& i);

  // continuation.cpp
  llvm::BasicBlock* way_into(std::uint32_t header);
  void branch_to_loops(Value* wanted, const std::vector<std::uint32_t>& headers, std::uint32_t outer,
                       llvm::BasicBlock* otherwise);

  // calls.cpp
  void lower_call(const Instruction& i);
  void lower_call_interface(const Instruction& i);
  void lower_call_native(const Instruction& i);
  void lower_parallel_for(const Instruction& i);
  std::vector<Value*> call_function(const Instruction& i, std::uint32_t callee, Value* r);
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
  void barrier(Value* holder, llvm::function_ref<void()> log);

  Unit& unit_;
  llvm::Function& function_;
  const bool is_copy_;
  Mirror mirror_;
  Value* state_ = nullptr;
  Value* r_ = nullptr;
  Value* left_ = nullptr;
  // Of a continuation: where the results go, its loops, and the header to go on with until that is reached.
  Value* window_p_ = nullptr;
  std::optional<LoopTree> loops_;
  llvm::AllocaInst* wanted_ = nullptr;
  llvm::AllocaInst* ticks_ = nullptr;
  llvm::BasicBlock* trapped_ = nullptr;
  // Registers that hold objects made in this block with no collection since: they need no write barrier.
  std::set<std::uint32_t> fresh_;
};

}  // namespace dhpvm::codegen
