// SPDX-License-Identifier: Apache-2.0
// Innermost loops that call nothing, or only what they see through (seen_calls.h).
//
// A counted loop runs in stretches: as many back-edges as there are ticks at hand are paid for before a
// stretch begins, so that the loop itself has only its own condition and LLVM can unroll and vectorise
// it. Count and order of fuel, deadline and interrupts are as if every back-edge had been paid for by itself.
//
// Where every stretch begins, the data pointers and lengths of arrays that do not change are loaded, once, also of
// rows and fields that are the same in all iterations. An
// access that these do not allow may still be one that has to wait for a device first, after which the handle
// has changed. So it goes on in a second, careful copy of the loop's body, which checks as code outside of
// loops does, and whose next iteration begins with a new stretch of the first. The first has no calls at all
// then, which is what LLVM's loop passes need.
//
// Where the index of an access grows with the counter, a stretch ends before it would leave the array, and
// the access is not checked at all. The iteration that would leave it is done carefully. So it is with checks that the
// program makes itself, such as those of lists. Where not every iteration comes to an access, whether it is in range is
// found out all the same, and kept: an iteration that comes to one that is not goes on carefully. A reference that
// every iteration takes from an object or an array is known to be there before the stretch begins.
//
// A loop of a few iterations, as the program states them, runs in one stretch, whose end LLVM knows, so that it can
// unroll the loop. Where there are too few ticks for that, or an index would leave its array, all iterations are done
// carefully.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "codegen/lower/flow.h"
#include "codegen/lower/ir_emitter.h"
#include "codegen/lower/register_file.h"

namespace dhpvm::codegen {

class Lowering;
class StripValues;

class LoopStrips {
 public:
  // A loop's copy of a reference that stays the same in it, and of the handle if it is that of an array. Everything is
  // 0 where there is none to take, and in the handle of null.
  struct KeptReference {
    llvm::AllocaInst* there = nullptr;  // of one that the loop takes from another: whether it could be taken
    llvm::AllocaInst* reference = nullptr;  // the same
    llvm::AllocaInst* data = nullptr;
    llvm::AllocaInst* readable = nullptr;
    llvm::AllocaInst* writable = nullptr;
    llvm::AllocaInst* length = nullptr;  // -1 if the array is null
    std::array<llvm::AllocaInst*, 3> dimensions = {};
  };

  explicit LoopStrips(Lowering& lowering);

  // In this order: before the first block is lowered, then once the body can be entered, then behind all blocks.
  void make();
  void begin();
  void lower_carefully();

  // The inner loop around the block: its number, or nothing.
  std::optional<std::size_t> loop_of(std::uint32_t block) const;
  // Where a stretch of the loop with this header is set up; null if it is the header of no such loop.
  llvm::BasicBlock* begin_of(std::uint32_t header) const;
  // The back-edges that the counted loop around the block being lowered has paid for, but not taken yet: a value of
  // type i64, or null outside such loops.
  llvm::Value* back_edges_left();

  // Whether the code being lowered is a copy for rare cases of what has been lowered before.
  bool is_careful() const { return careful_; }
  void enter_carefully(std::uint32_t pc);
  // In a loop that has a careful copy: where to go on there with an instruction whose check failed; for one of a
  // function that the loop sees through, that is the call. Otherwise null.
  llvm::BasicBlock* careful_entry(const Instruction& i);

  // Whether an inner loop is being lowered, and not its careful copy.
  bool in_stretch() const;
  // Where the call is made that the loop sees through, for an instruction of what it calls; otherwise null.
  llvm::BasicBlock* call_to_make(const Instruction& i);
  // Whether there are a tick and room on the stack for such a call: a value of type i1, or null where that is known.
  llvm::Value* ready_for(const SeenCalls::Call& call);

  // The handle of the array that the instruction accesses, as the loop around it keeps it, or null.
  const KeptReference* kept_array(const Instruction& i) const;
  // Whether the loop around the instruction keeps the reference that it takes; then its register has been set.
  bool take_reference(const Instruction& i);
  bool is_stepped(const Instruction& i) const;
  // Goes on where what the instruction checks is known to hold for the whole stretch, and carefully elsewhere; false,
  // and does nothing, where that is not known of the part of the loop around it.
  bool go_on_if_covered(const Instruction& i);
  // Whether the block is a rare one of an inner loop.
  bool is_careful_only(std::uint32_t block) const;

  void lower_latch(const Instruction& i, std::size_t loop);  // of a counted loop
  void go_back(const Instruction& i, std::uint32_t successor);

 private:
  struct Strip {                        // of an inner loop being lowered
    llvm::BasicBlock* begin = nullptr;  // sets up the next stretch of iterations
    llvm::AllocaInst* end =
        nullptr;  // counted loops: the counter's value in the last iteration of the stretch
    llvm::AllocaInst* next = nullptr;        // with even strips: its value where the next one begins
    std::vector<KeptReference> references;   // by number
    std::vector<llvm::AllocaInst*> covered;  // by arm: whether its accesses need no check in this stretch
    std::map<std::uint32_t, llvm::BasicBlock*>
        carefully;  // by word: the same instruction in the careful copy
  };

  void make(std::size_t loop);
  void begin(std::size_t loop);
  void lower_carefully(std::size_t loop);
  void make(const InvariantReference& reference, KeptReference& kept);
  void keep(std::size_t loop, std::size_t number);
  llvm::Value* take(const Strip& strip, const InvariantReference& reference, const KeptReference& kept);
  void keep_handle(const InvariantReference& reference, const KeptReference& kept, llvm::Value* value);
  struct StepChecks;
  llvm::Value* steps_in_range(std::size_t loop);
  void check_steps(std::size_t loop, const SteppedAccess& access, StepChecks& checks);
  llvm::Value* cover_arm(std::size_t loop, std::uint32_t arm, llvm::Value* steps);
  llvm::Value* ticks_for_back_edges(std::size_t loop);
  llvm::BasicBlock* careful_header(std::size_t loop);
  StripValues values_of(std::size_t loop);
  void end_strip(const Instruction& i, std::size_t loop);
  void next_strip(const Instruction& i, std::size_t loop, llvm::Value* next, llvm::BasicBlock* done);
  void settle(const Instruction& first, std::size_t loop);

  Lowering& lowering_;
  const Flow& flow_;
  IrEmitter& ir_;
  RegisterFile& registers_;
  llvm::IRBuilder<>& b_;
  std::vector<Strip> strips_;  // by inner loop
  bool careful_ = false;       // a careful copy is being lowered
};

}  // namespace dhpvm::codegen
