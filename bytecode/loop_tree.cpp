// SPDX-License-Identifier: Apache-2.0
#include "bytecode/loop_tree.h"

#include <algorithm>
#include <utility>

namespace dhpvm::bytecode {
namespace {

// The blocks that reach a back-edge to `header` without passing it.
std::vector<bool> body_of(const std::vector<CodeBlock>& blocks, std::uint32_t header) {
  std::vector<bool> body(blocks.size(), false);
  body[header] = true;
  std::vector<std::uint32_t> work;
  // In the order of the blocks, back-edges are those that do not go forward.
  for (const std::uint32_t block : blocks[header].predecessors) {
    if (block >= header) work.push_back(block);
  }
  while (!work.empty()) {
    const std::uint32_t block = work.back();
    work.pop_back();
    if (body[block]) continue;
    body[block] = true;
    work.insert(work.end(), blocks[block].predecessors.begin(), blocks[block].predecessors.end());
  }
  return body;
}

}  // namespace

LoopTree::LoopTree(const std::vector<CodeBlock>& blocks) {
  std::map<std::uint32_t, std::int64_t> sizes;
  for (std::uint32_t number = 0; number < blocks.size(); ++number) {
    if (!blocks[number].is_loop_header) continue;
    headers_.push_back(number);
    const std::vector<bool>& body = bodies_.emplace(number, body_of(blocks, number)).first->second;
    sizes.emplace(number, std::ranges::count(body, true));
  }
  // Irreducible loops may contain each other's headers. A total order makes a tree even of these.
  const auto order = [&](std::uint32_t header) { return std::pair(sizes.at(header), header); };
  for (const std::uint32_t header : headers_) {
    std::uint32_t parent = kNoIndex;
    for (const auto& [other, body] : bodies_) {
      if (!body[header] || order(other) <= order(header)) continue;
      if (parent == kNoIndex || order(other) < order(parent)) parent = other;
    }
    parents_.emplace(header, parent);
  }
}

std::vector<std::uint32_t> LoopTree::outermost() const {
  std::vector<std::uint32_t> found;
  for (const auto& [header, parent] : parents_) {
    if (parent == kNoIndex) found.push_back(header);
  }
  return found;
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

}  // namespace dhpvm::bytecode
