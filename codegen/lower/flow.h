// SPDX-License-Identifier: Apache-2.0
// The control flow of one function, and dataflow facts at each block: types of primitive registers (forward), live
// reference registers (backward), and loops.
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

// A loop-invariant reference and, if the loop accesses it as an array, its handle. It is in a register that does not
// change, or the loop loads it from another invariant reference: an element of an array at an invariant index, such as
// the rows in m[i][k] + m[i - 1][k], or a field.
struct InvariantReference {
  enum class Origin : std::uint8_t { kRegister, kElement, kField };
  Origin origin = Origin::kRegister;
  std::uint32_t place = 0;  // the register; the register of the index; the offset of the field
  std::uint32_t parent =
      0;  // kElement, kField: the reference that it is loaded from, an earlier one of the loop
  std::uint32_t block = 0;  // kElement: the block and the word of the first instruction that uses the index
  std::uint32_t pc = 0;
  bool wanted = false;  // the loop accesses it as an array, or loads another reference from it
  bool read = false;
  bool written = false;
  bool length = false;
  unsigned dimensions = 0;
};

// An operation of a counted loop that can be checked for many iterations at once: it accesses an element, or checks
// indices, in an invariant array with an index that is invariant or grows by one per iteration; it compares such an
// index with an invariant limit (IndexCheck); or it loads an invariant reference.
struct SteppedAccess {
  std::uint32_t block = 0;  // number
  std::uint32_t pc = 0;
  bool grows = false;
  // The number of the conditional part of the loop that contains it, or kNoIndex if every iteration executes it.
  std::uint32_t arm = bytecode::kNoIndex;
};

// A bounds check in the program's own code, such as a list's: a branch that is rarely taken if an index is not below
// its limit, both unsigned.
struct IndexCheck {
  std::uint32_t index = 0;  // registers
  std::uint32_t limit = 0;
  std::uint32_t inside = 0;  // the block for an index in range
};

// An innermost loop without calls, or only with inlined ones (seen_calls.h); in kernels, without calls of functions
// with loops.
struct InnerLoop {
  std::uint32_t header = 0;    // block number
  std::vector<bool> contains;  // by block
  // Closed by one `for` instruction, with a counter that nothing else in the loop writes, and an invariant bound.
  bool counted = false;
  std::uint32_t latch = 0;
  std::uint16_t counter = 0;  // registers
  std::uint16_t bound = 0;
  bool wide = false;  // 64 bits
  // The words where its inlined calls begin (seen_calls.h).
  std::vector<std::uint32_t> seen_calls;
  // The loop belongs to a function and contains rare blocks. All fields below describe its other blocks.
  bool has_rare_blocks = false;
  // Nothing in it changes the handle of an array, not even a collection.
  bool keeps_handles = false;
  // If it keeps handles:
  std::vector<InvariantReference> references;
  std::map<std::uint32_t, std::uint32_t>
      arrays;  // by word of an instruction: the number of the array it accesses
  std::map<std::uint32_t, std::uint32_t>
      taken;  // by word of an instruction: the number of the reference that it loads
  // If it is also counted: by word of an instruction that loads a number from a field which the loop does not write,
  // the number of the object.
  std::map<std::uint32_t, std::uint32_t> fields;
  // In loops that are not counted, only the references that every iteration loads.
  std::vector<SteppedAccess> stepped;
  std::uint32_t arms = 0;  // number of conditional parts with stepped accesses
  // It is counted and keeps handles, and probably has a small constant number of iterations: all run in one strip,
  // which LLVM can unroll, or in the careful copy.
  bool is_short = false;
};

// The loops that a Flow searches for: none; counted ones, for kernels; innermost ones, for functions; those that would
// be innermost if their calls were inlined.
enum class LoopSearch : std::uint8_t { kNone, kCounted, kInner, kSeeingThrough };

class Flow {
 public:
  // `within`: the header of the loop to search, or kNoIndex for the whole function.
  Flow(const bytecode::Module& module, const bytecode::Function& function, LoopSearch loops,
       const SeenCalls& seen = kNoSeenCalls, std::uint32_t within = bytecode::kNoIndex);

  // In reverse postorder, as bytecode::find_blocks() returns them.
  const std::vector<Block>& blocks() const { return blocks_; }
  const std::vector<InnerLoop>& loops() const { return loops_; }
  // The number of the block that starts at this word.
  std::uint32_t block_at(std::uint32_t pc) const { return block_of_[pc]; }

  // The reference registers that are live at the start of the block; in increasing order.
  std::vector<std::uint32_t> live_before(std::uint32_t block) const;
  // The reference registers that are live after the instruction at `pc` of `block` and not written by it; in increasing
  // order.
  std::vector<std::uint32_t> live_after(std::uint32_t block, std::uint32_t pc) const;

  const ReferenceFacts& facts() const { return *facts_; }
  const RareBlocks& rare() const { return *rare_; }

  // The only predecessor of the block, if the block is its only successor: a protect may have separated the two.
  std::optional<std::uint32_t> straight_before(std::uint32_t block) const;
  // The same, ignoring rare blocks.
  std::optional<std::uint32_t> usually_before(std::uint32_t block) const;
  // The last instruction before `pc` in `block`, or in its usual predecessors, that writes this primitive register, or
  // nothing.
  std::optional<Instruction> definition(std::uint32_t block, std::uint32_t pc, std::uint32_t reg) const;

  // The bounds check that the instruction makes, if it is the last of `block` and makes one.
  std::optional<IndexCheck> index_check(std::uint32_t block, const Instruction& i) const;

  // Applies the instruction's effect to the types of primitive registers.
  void step_types(const Instruction& instruction, std::vector<SlotType>& types) const;

 private:
  void find_types(const UpperHalves& upper_halves);
  std::vector<std::uint32_t> members_of(const bytecode::RegisterSet& live) const;
  void find_loops(LoopSearch search, std::uint32_t within);
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
