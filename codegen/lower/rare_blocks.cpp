// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/rare_blocks.h"

#include <algorithm>

namespace dhpvm::codegen {

using bytecode::CodeBlock;
using bytecode::Family;
using bytecode::kNoIndex;

RareBlocks::RareBlocks(const bytecode::Module& module, const bytecode::Function& function,
                       const std::vector<CodeBlock>& blocks, const ReferenceFacts& facts,
                       const SeenCalls& seen)
    : rare_(blocks.size(), false), error_edge_(blocks.size(), kNoIndex) {
  find_origins(module, function, blocks, facts, seen);
  spread(blocks);
  // All of a function that always fails is as usual as its calls.
  if (rare_.front()) rare_.assign(blocks.size(), false);
}

void RareBlocks::find_origins(const bytecode::Module& module, const bytecode::Function& function,
                              const std::vector<CodeBlock>& blocks, const ReferenceFacts& facts,
                              const SeenCalls& seen) {
  for (std::uint32_t number = 0; number < blocks.size(); ++number) {
    const CodeBlock& block = blocks[number];
    if (seen.is_call(block.begin)) rare_[number] = true;
    if (block.handler != kNoIndex) rare_[block.handler] = true;
    ReferenceFacts::Facts known = facts.on_entry(number);
    for (std::uint32_t pc = block.begin; pc < block.end;) {
      const Instruction i = decode(module, function, pc);
      pc = i.next();
      switch (i.row->family) {
        case Family::kTrap:
        case Family::kTrapMessage:
        case Family::kTrapAgain: rare_[number] = true; break;
        case Family::kNew: rare_[number] = rare_[number] || facts.is_error(i.type()); break;
        case Family::kJumpNull:
          if (known.empty() || known[i.a] != ReferenceFact::kErrorOrNull) break;
          error_edge_[number] = i.row->operation == bytecode::Operation::kEq ? block.successors.front()
                                                                             : block.successors.back();
          break;
        default: break;
      }
      facts.step(i, known);
    }
  }
}

// A block is rare where all that follows is, or where only rare edges lead to it.
void RareBlocks::spread(const std::vector<CodeBlock>& blocks) {
  for (std::uint32_t number = static_cast<std::uint32_t>(blocks.size()); number-- > 0;) {
    const std::vector<std::uint32_t>& next = blocks[number].successors;
    if (!next.empty() && std::ranges::all_of(next, [&](std::uint32_t block) { return rare_[block]; }))
      rare_[number] = true;
  }
  std::vector<bool> usual(blocks.size(), false);
  std::vector<std::uint32_t> open = {0};
  usual[0] = true;
  while (!open.empty()) {
    const std::uint32_t block = open.back();
    open.pop_back();
    for (const std::uint32_t successor : blocks[block].successors) {
      if (usual[successor] || is_rare_edge(block, successor)) continue;
      usual[successor] = true;
      open.push_back(successor);
    }
  }
  for (std::size_t block = 1; block < blocks.size(); ++block) rare_[block] = !usual[block];
}

std::uint32_t usual_words(const bytecode::Module& module, const bytecode::Function& function,
                          const SeenCalls& seen) {
  const std::vector<CodeBlock> blocks = find_blocks(module, function);
  const RareBlocks rare(module, function, blocks, ReferenceFacts(module, function, blocks), seen);
  std::uint32_t words = 0;
  for (std::uint32_t block = 0; block < blocks.size(); ++block) {
    if (!rare.contains(block)) words += blocks[block].end - blocks[block].begin;
  }
  return words;
}

}  // namespace dhpvm::codegen
