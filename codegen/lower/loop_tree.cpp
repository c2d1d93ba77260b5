// SPDX-License-Identifier: Apache-2.0
#include "codegen/lower/loop_tree.h"

#include <utility>

namespace dhpvm::codegen {

using bytecode::kNoIndex;

namespace {

struct Loop {
  std::vector<bool> contains;  // by block
  std::size_t size = 0;        // blocks
};

// The blocks that reach a back-edge to `header` without passing it.
Loop body_of(const std::vector<Block>& blocks, std::uint32_t header) {
  Loop loop;
  loop.contains.assign(blocks.size(), false);
  loop.contains[header] = true;
  loop.size = 1;
  std::vector<std::uint32_t> work;
  // In the order of the blocks, back-edges are those that do not go forward.
  for (const std::uint32_t block : blocks[header].predecessors) {
    if (block >= header) work.push_back(block);
  }
  while (!work.empty()) {
    const std::uint32_t block = work.back();
    work.pop_back();
    if (loop.contains[block]) continue;
    loop.contains[block] = true;
    ++loop.size;
    work.insert(work.end(), blocks[block].predecessors.begin(), blocks[block].predecessors.end());
  }
  return loop;
}

}  // namespace

LoopTree::LoopTree(const std::vector<Block>& blocks) {
  std::map<std::uint32_t, Loop> loops;
  for (std::uint32_t number = 0; number < blocks.size(); ++number) {
    if (!blocks[number].is_loop_header) continue;
    headers_.push_back(number);
    loops.emplace(number, body_of(blocks, number));
  }
  // Irreducible loops may contain each other's headers. A total order makes a tree even of these.
  const auto order = [&](std::uint32_t header) { return std::pair(loops.at(header).size, header); };
  for (const std::uint32_t header : headers_) {
    std::uint32_t parent = kNoIndex;
    for (const auto& [other, loop] : loops) {
      if (!loop.contains[header] || order(other) <= order(header)) continue;
      if (parent == kNoIndex || order(other) < order(parent)) parent = other;
    }
    parents_.emplace(header, parent);
  }
}

std::vector<std::uint32_t> LoopTree::inside(std::uint32_t header) const {
  std::vector<std::uint32_t> found;
  for (const std::uint32_t inner : headers_) {
    std::uint32_t at = parents_.at(inner);
    while (at != kNoIndex && at != header) at = parents_.at(at);
    if (at == header) found.push_back(inner);
  }
  return found;
}

std::uint32_t LoopTree::step(std::uint32_t outer, std::uint32_t inner) const {
  while (parents_.at(inner) != outer) inner = parents_.at(inner);
  return inner;
}

}  // namespace dhpvm::codegen
