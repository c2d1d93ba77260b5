// SPDX-License-Identifier: Apache-2.0
// Innermost loops without calls, or only with inlined ones (seen_calls.h).
//
// A counted loop is strip-mined: a strip pays in advance for as many back-edges as there are ticks, so that the loop
// itself only tests its own condition and LLVM can unroll and vectorise it. Number and order of fuel, deadline and
// interrupt checks are as if every back-edge were paid for separately.
//
// The start of a strip loads the data pointers and lengths of invariant arrays once, also those of invariant rows and
// fields. An access that these do not allow may still have to wait for a device, which changes the handle. Such an
// access continues in a second, careful copy of the loop's body, which has the usual checks, and whose next iteration
// starts a new strip of the first copy. The first copy has no calls at all then, which LLVM's loop passes require.
//
// If the index of an access grows with the counter, a strip ends before it would leave the array, and the access is not
// checked at all. The careful copy runs the iteration that would leave it. The same holds for bounds checks in the
// program's code, such as those of lists. If an access is conditional, the strip's start determines whether it is in
// range and keeps the answer: an iteration that reaches one out of range continues in the careful copy. References that
// every iteration loads from objects or arrays are loaded before the strip starts, or the careful copy runs.
//
// A loop with a small constant number of iterations runs in one strip, whose end LLVM knows, so that it can unroll the
// loop. If there are too few ticks for that, or an index would leave its array, the careful copy runs all iterations.
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
  // A loop's copy of an invariant reference, and of its handle if it is an array. Everything is 0 if it could not be
  // loaded, and in the handle of null.
  struct KeptReference {
    llvm::AllocaInst* there = nullptr;      // for a reference loaded from another: whether that was possible
    llvm::AllocaInst* reference = nullptr;  // the reference
    llvm::AllocaInst* data = nullptr;
    llvm::AllocaInst* readable = nullptr;
    llvm::AllocaInst* writable = nullptr;
    llvm::AllocaInst* length = nullptr;  // -1 if the array is null
    std::array<llvm::AllocaInst*, 3> dimensions = {};
  };

  explicit LoopStrips(Lowering& lowering);

  // Call these in order: before the first block is lowered, once the body can be entered, after all blocks.
  void make();
  void begin();
  void lower_carefully();

  // The number of the inner loop around the block, or nothing.
  std::optional<std::size_t> loop_of(std::uint32_t block) const;
  // The block that sets up a strip of the loop with this header; null for any other header.
  llvm::BasicBlock* begin_of(std::uint32_t header) const;
  // The number of back-edges that the current counted loop has paid for and not taken yet: an i64, or null outside such
  // loops.
  llvm::Value* back_edges_left();

  // Whether the careful copy is being lowered.
  bool is_careful() const { return careful_; }
  void enter_carefully(std::uint32_t pc);
  // In a loop with a careful copy: the block there that continues with an instruction whose check failed; for an
  // instruction of an inlined callee, with the call. Otherwise null.
  llvm::BasicBlock* careful_entry(const Instruction& i);

  // Whether an inner loop is being lowered, outside its careful copy.
  bool in_strip() const;
  // The block with the call, for an instruction of an inlined callee; otherwise null.
  llvm::BasicBlock* call_to_make(const Instruction& i);
  // Whether there are a tick and room on the stack for such a call: an i1, or null if both are known.
  llvm::Value* ready_for(const SeenCalls::Call& call);

  // The kept handle of the array that the instruction accesses, or null.
  const KeptReference* kept_array(const Instruction& i) const;
  // Whether the loop keeps the reference that the instruction loads; its register has been set then.
  bool take_reference(const Instruction& i);
  bool is_stepped(const Instruction& i) const;
  // Continues if the instruction's check is known to hold for the whole strip, and in the careful copy otherwise;
  // false, without emitting code, if the strip does not cover the instruction.
  bool go_on_if_covered(const Instruction& i);
  // Whether the block is a rare one of an inner loop, and exists in the careful copy only.
  bool is_careful_only(std::uint32_t block) const;

  void lower_latch(const Instruction& i, std::size_t loop);  // the latch of a counted loop
  void go_back(const Instruction& i, std::uint32_t successor);

 private:
  struct Strip {                            // the strip-mined form of an inner loop being lowered
    llvm::BasicBlock* begin = nullptr;      // sets up the next strip of iterations
    llvm::AllocaInst* end = nullptr;        // counted loops: the counter in the strip's last iteration
    llvm::AllocaInst* next = nullptr;       // with even strips: the counter at the start of the next one
    std::vector<KeptReference> references;  // by number
    std::vector<llvm::AllocaInst*>
        covered;  // by conditional part: whether its accesses need no check in this strip
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
