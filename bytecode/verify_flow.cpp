// SPDX-License-Identifier: Apache-2.0
// The second pass over a function: what the registers hold along every path.
#include <algorithm>
#include <bit>

#include "base/error.h"
#include "bytecode/isa_text.h"
#include "bytecode/verify_function.h"

namespace dhpvm::bytecode::verification {
namespace {

// States of one function, in cells of up to 8 bytes: 64 MiB at most. Ordinary functions need some thousands.
constexpr std::uint64_t kMostCells = std::uint64_t{1} << 23;

// See the order of RefState.
RefState merged(RefState a, RefState b) {
  if (a == b) return a;
  const RefState larger = std::max(a, b);
  if (larger >= kConflict) return larger;
  if (larger == kNullRef) return std::min(a, b);  // null and a type
  return kConflict;
}

}  // namespace

Status FunctionVerifier::run(std::uint32_t id) {
  function_ = &module_.functions[id];
  shape_ = &facts_.functions[id];
  code_ = module_.code.data() + function_->code_offset;
  size_ = function_->code_size;
  pc_ = 0;
  if (frame() && encoding() && flow()) return {};
  const std::uint16_t op = op_of(code_[pc_]);
  return error(ErrorCode::kUnverified, "{}, word {}, {}: {}", function_label(module_, id), pc_,
               op < kOpCount ? mnemonic_of(static_cast<Op>(op)) : "?", message_);
}

bool FunctionVerifier::flow() {
  slot_pc_.clear();
  if (slot_of_.size() < size_) slot_of_.resize(size_);
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    for (std::uint64_t left = targets_[i]; left != 0; left &= left - 1) {
      const auto pc = static_cast<std::uint32_t>(i * 64) + static_cast<std::uint32_t>(std::countr_zero(left));
      slot_of_[pc] = static_cast<std::uint32_t>(slot_pc_.size());
      slot_pc_.push_back(pc);
    }
  }
  const auto slots = static_cast<std::uint32_t>(slot_pc_.size());
  primitive_words_ = (function_->primitive_registers + 63u) / 64;
  const std::uint64_t cells = primitive_words_ + function_->reference_registers;
  // The entry state costs as much as that of a target.
  if ((slots + std::uint64_t{1}) * cells > kMostCells || !budget_.spend(cells + 16))
    return fail("the function is too complex: {} branch targets times {} registers", slots, cells);
  // Only grows, and is not cleared: a slot's state is written at its first visit.
  if (slot_primitives_.size() < slots * std::uint64_t{primitive_words_})
    slot_primitives_.resize(slots * std::size_t{primitive_words_});
  if (slot_references_.size() < slots * std::uint64_t{function_->reference_registers})
    slot_references_.resize(slots * std::size_t{function_->reference_registers});
  visited_.assign(slots / 64 + 1, 0);
  dirty_.assign(slots / 64 + 1, 0);
  first_dirty_ = 0;

  primitives_.assign(primitive_words_, 0);
  for (std::uint32_t i = 0; i < shape_->in.primitives; ++i) set_bit(primitives_, i);
  references_.assign(function_->reference_registers, kUnset);
  std::copy(shape_->in.references.begin(), shape_->in.references.end(), references_.begin());

  bool go_on = true;
  if (bit(targets_, 0) && !arrive(0, go_on)) return false;
  if (!walk(0)) return false;
  for (std::uint32_t i = first_dirty_ / 64; i < dirty_.size();) {
    if (dirty_[i] == 0) {
      ++i;
      continue;
    }
    const std::uint32_t slot = i * 64 + static_cast<std::uint32_t>(std::countr_zero(dirty_[i]));
    clear_bit(dirty_, slot);
    first_dirty_ = slot;
    std::copy_n(slot_primitives_.begin() + slot * std::ptrdiff_t{primitive_words_}, primitive_words_,
                primitives_.begin());
    std::copy_n(slot_references_.begin() + slot * static_cast<std::ptrdiff_t>(references_.size()),
                references_.size(), references_.begin());
    if (!walk(slot_pc_[slot])) return false;
    i = first_dirty_ / 64;  // a back-edge may have made an earlier one dirty
  }
  return true;
}

// Carries the state from `pc` on until control ends or a target's state does not change.
bool FunctionVerifier::walk(std::uint32_t pc) {
  const std::uint32_t begin = pc;
  for (bool go_on = true; go_on;) {
    pc_ = pc;
    const Word word = code_[pc];
    const DecodeRow& row = kDecode[op_of(word)];
    const Word x = row.words == 2 ? code_[pc + 1] : 0;
    if (!registers_read(row, word, x)) return false;
    if (!reaches_.empty() && (row.flags & kTraps) != 0 && !trap_to(pc, row, word)) return false;
    if (!row.is_plain && !rule(row, word, x)) return false;
    if (row.writes != 0) set_bit(primitives_, a_of(word));
    if (row.b == Operand::kOff32) {
      if (!branch_to(pc + static_cast<std::uint32_t>(bc_of(word)))) return false;
    } else if (row.c == Operand::kOff) {
      if (!branch_to(pc + static_cast<std::uint32_t>(static_cast<std::int16_t>(c_of(word))))) return false;
    }
    if ((row.flags & kEndsBlock) != 0) break;
    pc += row.words;
    if (bit(targets_, pc) && !arrive(pc, go_on)) return false;
  }
  return budget_.spend(pc - begin + 1) || fail("the module is too complex to verify");
}

inline bool FunctionVerifier::registers_read(const DecodeRow& row, Word word, Word x) {
  if ((row.reads & kInA) != 0 && !is_assigned(a_of(word))) return unassigned_primitive(a_of(word));
  if ((row.reads & kInB) != 0 && !is_assigned(b_of(word))) return unassigned_primitive(b_of(word));
  if ((row.reads & kInC) != 0 && !is_assigned(c_of(word))) return unassigned_primitive(c_of(word));
  if ((row.reads & kInX0) != 0 && !is_assigned(x0_of(x))) return unassigned_primitive(x0_of(x));
  if ((row.reads & kInX1) != 0 && !is_assigned(x1_of(x))) return unassigned_primitive(x1_of(x));
  if ((row.ref_reads & kInA) != 0 && references_[a_of(word)] >= kConflict)
    return unusable_reference(a_of(word));
  if ((row.ref_reads & kInB) != 0 && references_[b_of(word)] >= kConflict)
    return unusable_reference(b_of(word));
  if ((row.ref_reads & kInC) != 0 && references_[c_of(word)] >= kConflict)
    return unusable_reference(c_of(word));
  return true;
}

// Merges the current state into that of a target.
bool FunctionVerifier::merge(std::uint32_t slot, Merge& outcome) {
  if (!budget_.spend(primitive_words_ + references_.size() + 1))
    return fail("the module is too complex to verify");
  std::uint64_t* primitives = slot_primitives_.data() + slot * std::size_t{primitive_words_};
  RefState* references = slot_references_.data() + slot * references_.size();
  if (!bit(visited_, slot)) {
    set_bit(visited_, slot);
    std::copy(primitives_.begin(), primitives_.end(), primitives);
    std::copy(references_.begin(), references_.end(), references);
    outcome = Merge::kFirst;
    return true;
  }
  bool changed = false;
  for (std::size_t i = 0; i < primitive_words_; ++i) {
    const std::uint64_t both = primitives[i] & primitives_[i];
    changed |= both != primitives[i];
    primitives[i] = both;
  }
  for (std::size_t i = 0; i < references_.size(); ++i) {
    if (references[i] == references_[i]) continue;
    const RefState both = merged(references[i], references_[i]);
    changed |= both != references[i];
    references[i] = both;
  }
  outcome = changed ? Merge::kChanged : Merge::kSame;
  return true;
}

bool FunctionVerifier::branch_to(std::uint32_t pc) {
  const std::uint32_t slot = slot_of_[pc];
  Merge outcome;
  if (!merge(slot, outcome)) return false;
  if (outcome == Merge::kSame) return true;
  set_bit(dirty_, slot);
  first_dirty_ = std::min(first_dirty_, slot);
  return true;
}

// Merges the state before the instruction, without the registers that a call clobbers, into that of its handler.
bool FunctionVerifier::trap_to(std::uint32_t pc, const DecodeRow& row, Word word) {
  if (!budget_.spend(reaches_.size())) return fail("the module is too complex to verify");
  const Reach* innermost = nullptr;
  for (const Reach& reach : reaches_) {
    if (reach.begin <= pc && pc < reach.end) innermost = &reach;
  }
  if (innermost == nullptr) return true;
  if ((row.flags & kCall) == 0) return branch_to(innermost->end);
  const std::vector<std::uint64_t> primitives = primitives_;
  const std::vector<RefState> references = references_;
  clobber_from(a_of(word), b_of(word));
  const bool ok = branch_to(innermost->end);
  primitives_ = primitives;
  references_ = references;
  return ok;
}

// Control falls through to a target. The walk continues from there with the merged state.
bool FunctionVerifier::arrive(std::uint32_t pc, bool& go_on) {
  const std::uint32_t slot = slot_of_[pc];
  Merge outcome;
  if (!merge(slot, outcome)) return false;
  if (outcome == Merge::kChanged) {
    clear_bit(dirty_, slot);
    std::copy_n(slot_primitives_.begin() + slot * std::ptrdiff_t{primitive_words_}, primitive_words_,
                primitives_.begin());
    std::copy_n(slot_references_.begin() + slot * static_cast<std::ptrdiff_t>(references_.size()),
                references_.size(), references_.begin());
  }
  go_on = outcome != Merge::kSame;
  return true;
}

Status verify_functions(const Facts& facts, Budget& budget) {
  FunctionVerifier verifier(facts, budget);
  for (std::uint32_t id = 0; id < facts.module.functions.size(); ++id) DHPVM_TRY(verifier.run(id));
  return {};
}

}  // namespace dhpvm::bytecode::verification
