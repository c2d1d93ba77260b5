// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/rare_blocks.h"

#include <algorithm>
#include <set>

namespace dhpvm::codegen {

using bytecode::CodeBlock;
using bytecode::Family;
using bytecode::kNoIndex;
using bytecode::Op;

RareBlocks::RareBlocks(const bytecode::Module& module, const bytecode::Function& function,
                       const std::vector<CodeBlock>& blocks, const ReferenceFacts& facts,
                       const SeenCalls& seen)
    : rare_(blocks.size(), false), rare_edge_(blocks.size(), kNoIndex) {
  find_origins(module, function, blocks, facts, seen);
  find_full_arrays(module, function, blocks);
  spread(blocks);
  // If a function always fails, its blocks are as frequent as its calls.
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
          rare_edge_[number] = i.row->operation == bytecode::Operation::kEq ? block.successors.front()
                                                                            : block.successors.back();
          break;
        default: break;
      }
      facts.step(i, known);
    }
  }
}

namespace {

// Whether control from `from` always reaches the later `to`, without a loop.
bool is_detour(const bytecode::Module& module, const bytecode::Function& function,
               const std::vector<CodeBlock>& blocks, std::uint32_t from, std::uint32_t to) {
  if (from >= to) return false;
  std::vector<bool> seen(to - from, false);
  seen.front() = true;
  for (std::uint32_t number = from; number < to; ++number) {
    if (!seen[number - from]) continue;
    const CodeBlock& block = blocks[number];
    Instruction last = decode(module, function, block.begin);
    while (last.next() < block.end) last = decode(module, function, last.next());
    // A trap there does not return, and is rare.
    if (block.successors.empty() && !last.has(bytecode::kTraps)) return false;
    for (const std::uint32_t next : block.successors) {
      if (next <= number || next > to) return false;
      if (next < to) seen[next - from] = true;
    }
  }
  return true;
}

}  // namespace

// The number of elements rarely equals the length of the array: then it is full, and a larger one is made, or the count
// restarts. Only detours are recognised by this: loops and recursions end when an index reaches a length.
void RareBlocks::find_full_arrays(const bytecode::Module& module, const bytecode::Function& function,
                                  const std::vector<CodeBlock>& blocks) {
  std::set<std::uint32_t> lengths;  // registers
  for (std::uint32_t number = 0; number < blocks.size(); ++number) {
    const CodeBlock& block = blocks[number];
    lengths.clear();
    for (std::uint32_t pc = block.begin; pc < block.end;) {
      const Instruction i = decode(module, function, pc);
      pc = i.next();
      if (i.op == Op::kJNeI64 && lengths.contains(i.a) != lengths.contains(i.b) &&
          is_detour(module, function, blocks, block.successors.front(), block.successors.back())) {
        rare_edge_[number] = block.successors.front();
      }
      if (i.row->writes != 0) lengths.erase(i.a);
      if (i.row->family == Family::kArrayLength) lengths.insert(i.a);
    }
  }
}

// A block is rare if all its successors are, or if only rare edges lead to it.
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
