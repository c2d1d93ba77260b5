// SPDX-License-Identifier: Apache-2.0
// The control flow of one function, and what is known of its registers at each block: types of primitive
// registers (forwards), which reference registers are still needed (backwards), and loops.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "bytecode/control_flow.h"
#include "bytecode/module.h"
#include "bytecode/reference_liveness.h"
#include "codegen/lower/instruction.h"
#include "codegen/lower/rare_blocks.h"
#include "codegen/lower/reference_facts.h"
#include "codegen/lower/upper_halves.h"

namespace dhpvm::codegen {

class StatedValues;

struct Block : bytecode::CodeBlock {
  std::vector<SlotType> entry_types;  // by primitive register
};

// A reference that stays the same in a loop, and what the loop looks at if it is that of an array. It stands in a
// register that does not change, or the loop takes it from another of these: an element of an array at an index that
// does not change, such as the rows in m[i][k] + m[i - 1][k], or a field.
struct InvariantReference {
  enum class Origin : std::uint8_t { kRegister, kElement, kField };
  Origin origin = Origin::kRegister;
  std::uint32_t place = 0;   // the register; the register of the index; the offset of the field
  std::uint32_t parent = 0;  // kElement, kField: where it is taken from, an earlier one of the loop's
  std::uint32_t block = 0;   // kElement: the block and the word of the instruction that uses the index first
  std::uint32_t pc = 0;
  bool wanted = false;  // it is that of an array which the loop looks at, or one is taken from it
  bool read = false;
  bool written = false;
  bool length = false;
  unsigned dimensions = 0;
};

// An operation of a counted loop that can be checked for many iterations at once: it accesses an element, or checks
// indices, in an array that stays the same, with an index that stays the same or grows by one from iteration to
// iteration; it compares such an index with a limit that stays the same (IndexCheck); or it takes a
// reference that stays the same.
struct SteppedAccess {
  std::uint32_t block = 0;  // number
  std::uint32_t pc = 0;
  bool grows = false;
  // The number of the part of the loop where it stands, if not every iteration comes there.
  std::uint32_t arm = bytecode::kNoIndex;
};

// A check that the program makes itself, as a list does: a branch that seldom finds an index not below its limit, both
// as unsigned numbers.
struct IndexCheck {
  std::uint32_t index = 0;  // registers
  std::uint32_t limit = 0;
  std::uint32_t inside = 0;  // the block where control usually goes on
};

// An innermost loop that calls nothing, or only what it sees through; in kernels, nothing that has a loop.
struct InnerLoop {
  std::uint32_t header = 0;    // block number
  std::vector<bool> contains;  // by block
  // Closed by one `for` instruction, and counts with a register that nothing else in it writes up to a bound
  // that does not change in it.
  bool counted = false;
  std::uint32_t latch = 0;
  std::uint16_t counter = 0;  // registers
  std::uint16_t bound = 0;
  bool wide = false;  // 64 bits
  // The words where the calls begin that it sees through (seen_calls.h).
  std::vector<std::uint32_t> seen_calls;
  // The loop is a function's and contains rare blocks. All fields below describe its other blocks.
  bool has_rare_blocks = false;
  // Nothing in it changes the handle of an array, not even by a collection.
  bool keeps_handles = false;
  // If it keeps handles:
  std::vector<InvariantReference> references;
  std::map<std::uint32_t, std::uint32_t>
      arrays;  // by word of an instruction: the number of the array it accesses
  std::map<std::uint32_t, std::uint32_t>
      taken;  // by word of an instruction: the number of the reference it gives
  // If it is counted as well: by word of an instruction that takes a number from a field which the loop does not write,
  // the number of the object.
  std::map<std::uint32_t, std::uint32_t> fields;
  // In loops that are not counted, only the references that every iteration takes.
  std::vector<SteppedAccess> stepped;
  std::uint32_t arms = 0;  // parts of the loop with stepped accesses where not every iteration comes
  // It is counted and keeps handles, and probably has few iterations, always as many: all run in one stretch, which
  // LLVM can unroll, or in the careful copy.
  bool is_short = false;
};

// The loops that a Flow looks for: none; counted ones, of kernels; inner ones, of functions; those that would be inner
// ones if they saw through their calls.
enum class LoopSearch : std::uint8_t { kNone, kCounted, kInner, kSeeingThrough };

class Flow {
 public:
  Flow(const bytecode::Module& module, const bytecode::Function& function, LoopSearch loops,
       const SeenCalls& seen = kNoSeenCalls);

  // In the order of bytecode::find_blocks().
  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<InnerLoop>& loops() const { return loops_; }
  // The number of the block that starts at this word.
  std::uint32_t block_at(std::uint32_t pc) const { return block_of_[pc]; }

  // The reference registers that are read after the instruction at `pc` of `block` without having been
  // written by it or later; in increasing order.
  std::vector<std::uint32_t> live_after(std::uint32_t block, std::uint32_t pc) const;

  const ReferenceFacts& facts() const { return *facts_; }
  const RareBlocks& rare() const { return *rare_; }

  // The block that leads to this one alone, if no other leads here: of one that only a protect has cut off from what
  // comes before.
  std::optional<std::uint32_t> straight_before(std::uint32_t block) const;
  // The same where control does not go through rare blocks.
  std::optional<std::uint32_t> usually_before(std::uint32_t block) const;
  // The last instruction before `pc` of `block`, or of what usually comes before that block, that writes this
  // primitive register, or nothing.
  std::optional<Instruction> definition(std::uint32_t block, std::uint32_t pc, std::uint32_t reg) const;

  // The check that the instruction makes, if it is the last of `block` and makes one.
  std::optional<IndexCheck> index_check(std::uint32_t block, const Instruction& i) const;

  // Applies the effect of the instruction on the types of primitive registers.
  void step_types(const Instruction& instruction, std::vector<SlotType>& types) const;

 private:
  void find_types(const UpperHalves& upper_halves);
  void find_loops(LoopSearch search);
  Instruction last_of(const Block& block) const;
  bool find_body(InnerLoop& loop, LoopSearch search) const;
  bool may_call(const Instruction& i, std::uint32_t block, LoopSearch search, std::uint32_t& words) const;
  bool is_counted(InnerLoop& loop) const;
  void find_references(InnerLoop& loop) const;
  void find_stepped(InnerLoop& loop) const;
  std::map<std::uint32_t, std::uint32_t> arms_of(const InnerLoop& loop,
                                                 const std::vector<bool>& always) const;
  void find_taken_always(InnerLoop& loop) const;
  bool is_short(const InnerLoop& loop, const StatedValues& stated) const;
  std::vector<bool> blocks_of_all_iterations(const InnerLoop& loop) const;
  template <typename Visit>
  void for_each_instruction(const InnerLoop& loop, Visit&& visit) const;

  const bytecode::Module& module_;
  const bytecode::Function& function_;
  const SeenCalls& seen_;
  std::vector<Block> blocks_;
  std::optional<bytecode::ReferenceLiveness> liveness_;
  std::optional<ReferenceFacts> facts_;
  std::optional<RareBlocks> rare_;
  std::vector<std::uint32_t> block_of_;  // by word
  std::vector<InnerLoop> loops_;
};

}  // namespace dhpvm::codegen
