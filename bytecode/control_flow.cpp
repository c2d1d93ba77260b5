// SPDX-License-Identifier: Apache-2.0
#include "bytecode/control_flow.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "bytecode/instruction.h"

namespace dhpvm::bytecode {
namespace {

// The word of the handler for a trap of the instruction, or kNoIndex. A protect is itself a branch to the handler.
std::uint32_t handler_of(const Instruction& i, const std::vector<std::uint32_t>& handlers) {
  return handlers.empty() || !i.has(kTraps) ? kNoIndex : handlers[i.pc];
}

// The reachable words, and the leaders: words that start a block.
struct Reached {
  std::vector<bool> words;
  std::vector<bool> leaders;
};

Reached find_reached(const Module& module, const Function& function,
                     const std::vector<std::uint32_t>& handlers) {
  Reached reached{std::vector<bool>(function.code_size), std::vector<bool>(function.code_size)};
  std::vector<std::uint32_t> work = {0};
  reached.leaders[0] = true;
  while (!work.empty()) {
    std::uint32_t pc = work.back();
    work.pop_back();
    while (!reached.words[pc]) {
      reached.words[pc] = true;
      const Instruction i = decode(module, function, pc);
      if (handler_of(i, handlers) != kNoIndex) reached.leaders[pc] = true;
      if (i.is_branch()) {
        reached.leaders[i.target()] = true;
        work.push_back(i.target());
      }
      if (i.has(kEndsBlock)) break;
      pc = i.next();
      if (i.has(kBranch)) reached.leaders[pc] = true;
    }
  }
  return reached;
}

// The blocks in the order of the code.
std::vector<CodeBlock> cut_into_blocks(const Module& module, const Function& function,
                                       const std::vector<std::uint32_t>& handlers, const Reached& reached) {
  std::vector<CodeBlock> blocks;
  std::vector<std::uint32_t> number(function.code_size, kNoIndex);
  for (std::uint32_t pc = 0; pc < function.code_size; ++pc) {
    if (!reached.leaders[pc] || !reached.words[pc]) continue;
    number[pc] = static_cast<std::uint32_t>(blocks.size());
    blocks.emplace_back().begin = pc;
  }
  for (CodeBlock& block : blocks) {
    if (const std::uint32_t caught = handler_of(decode(module, function, block.begin), handlers);
        caught != kNoIndex)
      block.handler = number[caught];
    for (std::uint32_t pc = block.begin;;) {
      const Instruction i = decode(module, function, pc);
      pc = i.next();
      block.end = pc;
      const bool falls_through = !i.has(kEndsBlock);
      if (!i.is_branch() && falls_through && !reached.leaders[pc]) continue;
      if (falls_through) block.successors.push_back(number[pc]);
      if (i.is_branch()) block.successors.push_back(number[i.target()]);
      break;
    }
  }
  return blocks;
}

std::vector<std::uint32_t> reverse_postorder(const std::vector<CodeBlock>& blocks) {
  std::vector<std::uint32_t> order;
  std::vector<bool> seen(blocks.size());
  std::vector<std::pair<std::uint32_t, std::size_t>> stack = {{0, 0}};
  seen[0] = true;
  while (!stack.empty()) {
    auto& [block, next] = stack.back();
    const std::vector<std::uint32_t>& successors = blocks[block].successors;
    const bool is_caught = blocks[block].handler != kNoIndex;
    if (next == successors.size() + (is_caught ? 1 : 0)) {
      order.push_back(block);
      stack.pop_back();
      continue;
    }
    const std::uint32_t successor = next < successors.size() ? successors[next] : blocks[block].handler;
    ++next;
    if (seen[successor]) continue;
    seen[successor] = true;
    stack.emplace_back(successor, 0);
  }
  std::ranges::reverse(order);
  return order;
}

bool ends_in_back_edge(const Module& module, const Function& function, const CodeBlock& block) {
  Instruction i = decode(module, function, block.begin);
  while (i.next() < block.end) i = decode(module, function, i.next());
  return i.has(kBackEdge);
}

}  // namespace

std::vector<std::uint32_t> find_handlers(const Module& module, const Function& function) {
  std::vector<std::uint32_t> handlers;
  for (std::uint32_t pc = 0; pc < function.code_size;) {
    const Instruction i = decode(module, function, pc);
    pc = i.next();
    if (i.row->family != Family::kProtect) continue;
    handlers.resize(function.code_size, kNoIndex);
    // An inner protect comes later and overwrites the handler of the outer one.
    std::fill(handlers.begin() + pc, handlers.begin() + i.target(), i.target());
  }
  return handlers;
}

std::vector<CodeBlock> find_blocks(const Module& module, const Function& function) {
  const std::vector<std::uint32_t> handlers = find_handlers(module, function);
  std::vector<CodeBlock> found =
      cut_into_blocks(module, function, handlers, find_reached(module, function, handlers));
  const std::vector<std::uint32_t> order = reverse_postorder(found);
  std::vector<std::uint32_t> renumbered(found.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) renumbered[order[i]] = i;
  std::vector<CodeBlock> blocks;
  for (const std::uint32_t old : order) {
    CodeBlock& block = blocks.emplace_back(std::move(found[old]));
    for (std::uint32_t& successor : block.successors) successor = renumbered[successor];
    if (block.handler != kNoIndex) block.handler = renumbered[block.handler];
  }
  for (std::uint32_t number = 0; number < blocks.size(); ++number) {
    for (const std::uint32_t successor : blocks[number].successors)
      blocks[successor].predecessors.push_back(number);
    if (blocks[number].handler != kNoIndex) blocks[blocks[number].handler].predecessors.push_back(number);
    if (ends_in_back_edge(module, function, blocks[number]))
      blocks[blocks[number].successors.back()].is_loop_header = true;
  }
  return blocks;
}

}  // namespace dhpvm::bytecode
