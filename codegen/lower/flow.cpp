// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/flow.h"

#include <algorithm>
#include <utility>

namespace dhpvm::codegen {

using bytecode::Family;
using bytecode::kNoIndex;
using bytecode::Op;

Flow::Flow(const bytecode::Module& module, const bytecode::Function& function, LoopSearch loops)
    : module_(module), function_(function) {
  find_blocks();
  find_types();
  find_liveness();
  if (loops != LoopSearch::kNone) find_loops(loops);
}

void Flow::find_blocks() {
  // Reachable words first, and where blocks must start.
  std::vector<bool> reached(function_.code_size, false);
  std::vector<bool> leader(function_.code_size, false);
  std::vector<std::uint32_t> work = {0};
  leader[0] = true;
  while (!work.empty()) {
    std::uint32_t pc = work.back();
    work.pop_back();
    while (!reached[pc]) {
      reached[pc] = true;
      const Instruction i = decode(module_, function_, pc);
      if (i.is_branch()) {
        leader[i.target()] = true;
        work.push_back(i.target());
      }
      if (i.has(bytecode::kEndsBlock)) break;
      pc = i.next();
      if (i.has(bytecode::kBranch)) leader[pc] = true;
    }
  }

  // Then the blocks in code order, numbered again below.
  std::vector<Block> found;
  std::vector<std::uint32_t> number(function_.code_size, kNoIndex);
  for (std::uint32_t pc = 0; pc < function_.code_size; ++pc) {
    if (!leader[pc] || !reached[pc]) continue;
    number[pc] = static_cast<std::uint32_t>(found.size());
    found.emplace_back().begin = pc;
  }
  for (Block& block : found) {
    for (std::uint32_t pc = block.begin;;) {
      const Instruction i = decode(module_, function_, pc);
      pc = i.next();
      block.end = pc;
      const bool falls_through = !i.has(bytecode::kEndsBlock);
      const bool ends = i.is_branch() || !falls_through || leader[pc];
      if (!ends) continue;
      if (falls_through) block.successors.push_back(number[pc]);
      if (i.is_branch()) block.successors.push_back(number[i.target()]);
      break;
    }
  }

  // Reverse postorder.
  std::vector<std::uint32_t> order;
  std::vector<std::uint8_t> state(found.size(), 0);
  std::vector<std::pair<std::uint32_t, std::size_t>> stack = {{0, 0}};
  state[0] = 1;
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    if (next == found[block].successors.size()) {
      order.push_back(block);
      stack.pop_back();
      continue;
    }
    const std::uint32_t successor = found[block].successors[next++];
    if (state[successor] == 0) {
      state[successor] = 1;
      stack.emplace_back(successor, 0);
    }
  }
  std::ranges::reverse(order);
  std::vector<std::uint32_t> renumbered(found.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) renumbered[order[i]] = i;
  block_of_.assign(function_.code_size, kNoIndex);
  for (const std::uint32_t old : order) {
    Block& block = blocks_.emplace_back(std::move(found[old]));
    for (std::uint32_t& successor : block.successors) successor = renumbered[successor];
    block_of_[block.begin] = static_cast<std::uint32_t>(blocks_.size() - 1);
  }
  for (std::uint32_t number_of = 0; number_of < blocks_.size(); ++number_of) {
    const Instruction last = last_of(blocks_[number_of]);
    for (const std::uint32_t successor : blocks_[number_of].successors) {
      blocks_[successor].predecessors.push_back(number_of);
    }
    if (last.has(bytecode::kBackEdge)) blocks_[blocks_[number_of].successors.back()].is_loop_header = true;
  }
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
    types[i.a] = result_type(*i.row);
  }
}

namespace {

SlotType meet(SlotType left, SlotType right) {
  if (left == right || right == SlotType::kUnset) return left;
  if (left == SlotType::kUnset) return right;
  if (left == SlotType::kBits) return right;
  if (right == SlotType::kBits) return left;
  return SlotType::kI64;
}

}  // namespace

void Flow::find_types() {
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
      for (const std::uint32_t successor : blocks_[number].successors) {
        std::vector<SlotType>& entry = blocks_[successor].entry_types;
        for (std::size_t r = 0; r < types.size(); ++r) {
          const SlotType met = meet(entry[r], types[r]);
          if (met == entry[r]) continue;
          entry[r] = met;
          dirty[successor] = true;
          changed = true;
        }
      }
    }
  }
}

void Flow::step_liveness(const Instruction& i, std::vector<bool>& live) const {
  for_each_reference_write(module_, i, [&](std::uint32_t reg) { live[reg] = false; });
  for_each_reference_read(module_, function_, i, [&](std::uint32_t reg) { live[reg] = true; });
}

void Flow::find_liveness() {
  std::vector<std::vector<bool>> live_in(blocks_.size(), std::vector<bool>(function_.reference_registers));
  for (Block& block : blocks_) block.live_out.assign(function_.reference_registers, false);
  if (function_.reference_registers == 0) return;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t number = blocks_.size(); number-- > 0;) {
      Block& block = blocks_[number];
      std::vector<bool> live(function_.reference_registers);
      for (const std::uint32_t successor : block.successors) {
        for (std::size_t r = 0; r < live.size(); ++r) live[r] = live[r] || live_in[successor][r];
      }
      block.live_out = live;
      std::vector<Instruction> instructions;
      for (std::uint32_t pc = block.begin; pc < block.end; pc = instructions.back().next()) {
        instructions.push_back(decode(module_, function_, pc));
      }
      for (std::size_t at = instructions.size(); at-- > 0;) step_liveness(instructions[at], live);
      if (live == live_in[number]) continue;
      live_in[number] = std::move(live);
      changed = true;
    }
  }
}

std::vector<std::uint32_t> Flow::live_after(const Block& block, std::uint32_t pc) const {
  std::vector<bool> live = block.live_out;
  std::vector<Instruction> later;
  const Instruction here = decode(module_, function_, pc);
  for (std::uint32_t at = here.next(); at < block.end; at = later.back().next()) {
    later.push_back(decode(module_, function_, at));
  }
  for (std::size_t at = later.size(); at-- > 0;) step_liveness(later[at], live);
  for_each_reference_write(module_, here, [&](std::uint32_t reg) { live[reg] = false; });
  std::vector<std::uint32_t> registers;
  for (std::uint32_t reg = 0; reg < live.size(); ++reg) {
    if (live[reg]) registers.push_back(reg);
  }
  return registers;
}

}  // namespace dhpvm::codegen
