// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/flow.h"

#include <algorithm>
#include <utility>

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::kNoIndex;
using bytecode::Op;

Flow::Flow(const bytecode::Module& module, const bytecode::Function& function, LoopSearch loops,
           const SeenCalls& seen, std::uint32_t within)
    : module_(module), function_(function), seen_(seen) {
  std::vector<bytecode::CodeBlock> blocks = bytecode::find_blocks(module, function);
  liveness_.emplace(module, function, blocks);
  facts_.emplace(module, function, blocks);
  rare_.emplace(module, function, blocks, *facts_, seen);
  const UpperHalves upper_halves(module, function, blocks);
  block_of_.assign(function.code_size, kNoIndex);
  for (bytecode::CodeBlock& block : blocks) {
    block_of_[block.begin] = static_cast<std::uint32_t>(blocks_.size());
    blocks_.push_back({std::move(block), {}});
  }
  find_types(upper_halves);
  if (loops != LoopSearch::kNone) find_loops(loops, within);
}

// The header of a loop always has two predecessors: for the first block of a function, one is the entry.
std::optional<std::uint32_t> Flow::straight_before(std::uint32_t block) const {
  if (blocks_[block].is_loop_header || blocks_[block].predecessors.size() != 1) return std::nullopt;
  const std::uint32_t before = blocks_[block].predecessors.front();
  const Block& candidate = blocks_[before];
  if (candidate.successors.size() != 1 || candidate.successors.front() != block) return std::nullopt;
  return before;
}

// Rare blocks that branch back to a header have changed the values from before the loop.
std::optional<std::uint32_t> Flow::usually_before(std::uint32_t block) const {
  if (blocks_[block].is_loop_header) return std::nullopt;
  std::optional<std::uint32_t> before;
  for (const std::uint32_t predecessor : blocks_[block].predecessors) {
    if (rare_->contains(predecessor) || rare_->is_rare_edge(predecessor, block)) continue;
    if (before) return std::nullopt;
    before = predecessor;
  }
  if (!before) return std::nullopt;
  const bool goes_elsewhere = std::ranges::any_of(blocks_[*before].successors, [&](std::uint32_t successor) {
    return successor != block && !rare_->is_rare_edge(*before, successor);
  });
  return goes_elsewhere ? std::nullopt : before;
}

Instruction Flow::last_of(const Block& block) const {
  Instruction i = decode(module_, function_, block.begin);
  while (i.next() < block.end) i = decode(module_, function_, i.next());
  return i;
}

void Flow::step_types(const Instruction& i, std::vector<SlotType>& types) const {
  switch (i.row->family) {
    case Family::kCall:
    case Family::kCallNative:
    case Family::kCallInterface: {
      std::uint32_t reg = i.a;
      for (const bytecode::ValueType& result : called_signature(module_, i).results) {
        if (!result.is_ref()) types[reg++] = slot_type(result.kind);
      }
      return;
    }
    case Family::kParallelFor: {
      std::uint32_t reg = i.a;
      for (const bytecode::Reduction& reduction : module_.kernels[i.c].reductions) {
        types[reg++] = slot_type(reduction.kind);
      }
      return;
    }
    default: break;
  }
  if (i.op == Op::kMoveP) {
    types[i.a] = types[i.b];
  } else if (i.row->writes != 0) {
    types[i.a] = result_type(i);
  }
}

namespace {

SlotType meet(SlotType left, SlotType right) {
  if (left == right || right == SlotType::kUnset) return left;
  if (left == SlotType::kUnset) return right;
  if (left == SlotType::kBits) return right;
  if (right == SlotType::kBits) return left;
  // A u32 becomes a u64 without an instruction, so that a -1 of 64 bits may meet it: as an i32 it would lose half of
  // its bits.
  if (left == SlotType::kI32 || right == SlotType::kI32) return SlotType::kI64;
  if (left == SlotType::kWideBits) return right;
  if (right == SlotType::kWideBits) return left;
  return SlotType::kI64;
}

}  // namespace

void Flow::find_types(const UpperHalves& upper_halves) {
  for (Block& block : blocks_) block.entry_types.assign(function_.primitive_registers, SlotType::kUnset);
  std::uint32_t reg = 0;
  for (const bytecode::ValueType& parameter : function_.signature.parameters) {
    if (!parameter.is_ref()) blocks_[0].entry_types[reg++] = slot_type(parameter.kind);
  }
  std::vector<bool> dirty(blocks_.size(), true);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::uint32_t number = 0; number < blocks_.size(); ++number) {
      if (!dirty[number]) continue;
      dirty[number] = false;
      std::vector<SlotType> types = blocks_[number].entry_types;
      for (std::uint32_t pc = blocks_[number].begin; pc < blocks_[number].end;) {
        const Instruction i = decode(module_, function_, pc);
        step_types(i, types);
        pc = i.next();
      }
      const auto flow_to = [&](std::uint32_t successor, const std::vector<SlotType>& from) {
        std::vector<SlotType>& entry = blocks_[successor].entry_types;
        for (std::uint32_t r = 0; r < from.size(); ++r) {
          // -1 has 64 bits as an i32, too, but the upper half is dead.
          const bool is_cut = from[r] == SlotType::kWideBits && !upper_halves.are_needed(successor, r);
          const SlotType met = meet(entry[r], is_cut ? SlotType::kBits : from[r]);
          if (met == entry[r]) continue;
          entry[r] = met;
          dirty[successor] = true;
          changed = true;
        }
      };
      for (const std::uint32_t successor : blocks_[number].successors) flow_to(successor, types);
      if (blocks_[number].handler != kNoIndex)
        flow_to(blocks_[number].handler, std::vector<SlotType>(blocks_[number].entry_types));
    }
  }
  for (Block& block : blocks_) std::ranges::replace(block.entry_types, SlotType::kWideBits, SlotType::kBits);
}

std::vector<std::uint32_t> Flow::live_before(std::uint32_t block) const {
  const std::uint32_t pc = blocks_[block].begin;
  bytecode::RegisterSet live = liveness_->before(block, pc);
  liveness_->add_if_caught(block, pc, live);
  return members_of(live);
}

std::vector<std::uint32_t> Flow::live_after(std::uint32_t block, std::uint32_t pc) const {
  return members_of(liveness_->across(block, pc));
}

std::vector<std::uint32_t> Flow::members_of(const bytecode::RegisterSet& live) const {
  std::vector<std::uint32_t> registers;
  for (std::uint32_t reg = 0; reg < function_.reference_registers; ++reg) {
    if (bytecode::contains(live, reg)) registers.push_back(reg);
  }
  return registers;
}

}  // namespace dhpvm::codegen
