// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/regions.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/ProfDataUtils.h>

#include <algorithm>
#include <functional>

namespace dhpvm::codegen::spmd {
namespace {

// The nodes reachable from the first one in reverse postorder. The successor that reaches fewer nodes comes first: few
// lanes wait for it. In the other order, a trap would be pending until the return.
std::vector<unsigned> topological(const std::vector<Node>& nodes) {
  const auto count = static_cast<unsigned>(nodes.size());
  std::vector<unsigned> order;
  std::vector<llvm::BitVector> reach(count);
  const std::function<void(unsigned)> reach_from = [&](unsigned node) {
    reach[node].resize(count);
    reach[node].set(node);
    for (const unsigned next : nodes[node].successors) {
      if (reach[next].empty()) reach_from(next);
      reach[node] |= reach[next];
    }
  };
  reach_from(0);
  llvm::BitVector seen(count);
  const std::function<void(unsigned)> visit = [&](unsigned node) {
    seen.set(node);
    llvm::SmallVector<unsigned, 2> next(nodes[node].successors);
    llvm::stable_sort(next, [&](unsigned a, unsigned b) { return reach[a].count() > reach[b].count(); });
    for (const unsigned to : next) {
      if (!seen.test(to)) visit(to);
    }
    order.push_back(node);
  };
  visit(0);
  std::reverse(order.begin(), order.end());
  return order;
}

// Immediate dominators of an acyclic graph, for nodes in topological order.
std::vector<unsigned> dominators(const std::vector<Node>& nodes, const std::vector<unsigned>& order) {
  std::vector<unsigned> position(nodes.size());
  for (unsigned i = 0; i < order.size(); ++i) position[order[i]] = i;
  std::vector<unsigned> result(nodes.size(), kNoNode);
  for (const unsigned node : order) {
    unsigned common = kNoNode;
    for (unsigned other : nodes[node].predecessors) {
      while (common != kNoNode && common != other) {
        unsigned& later = position[common] > position[other] ? common : other;
        later = result[later];
      }
      common = other;
    }
    result[node] = common;
  }
  return result;
}

void find_post_dominators(std::vector<Node>& nodes) {
  for (unsigned node = static_cast<unsigned>(nodes.size()); node-- > 0;) {
    unsigned common =
        nodes[node].leaves || nodes[node].successors.empty() ? kNoNode : nodes[node].successors[0];
    for (unsigned other : nodes[node].successors) {
      while (common != kNoNode && other != kNoNode && common != other) {
        unsigned& earlier = common < other ? common : other;
        earlier = nodes[earlier].post_dominator;
      }
      if (other == kNoNode) common = kNoNode;
    }
    nodes[node].post_dominator = common;
  }
}

// Reorders so that each node is followed by all nodes that it dominates. Nodes with the same immediate dominator keep
// their topological order: one that reaches another comes first.
void compact(std::vector<Node>& nodes) {
  const std::vector<unsigned> order = topological(nodes);
  const std::vector<unsigned> dominator = dominators(nodes, order);
  std::vector<llvm::SmallVector<unsigned, 4>> children(nodes.size());
  for (const unsigned node : order) {
    if (dominator[node] != kNoNode) children[dominator[node]].push_back(node);
  }
  std::vector<unsigned> place(nodes.size());
  unsigned next = 0;
  const std::function<void(unsigned)> visit = [&](unsigned node) {
    place[node] = next++;
    for (const unsigned child : children[node]) visit(child);
  };
  visit(0);
  std::vector<Node> sorted(nodes.size());
  for (unsigned node = 0; node < nodes.size(); ++node) {
    Node& target = sorted[place[node]];
    target = std::move(nodes[node]);
    for (unsigned& other : target.successors) other = place[other];
    for (unsigned& other : target.predecessors) other = place[other];
    target.dominator = dominator[node] == kNoNode ? kNoNode : place[dominator[node]];
  }
  nodes = std::move(sorted);
  find_post_dominators(nodes);
}

}  // namespace

bool Level::dominates(unsigned above, unsigned below) const {
  // A dominator comes earlier in the order.
  while (below != kNoNode && below > above) below = nodes[below].dominator;
  return below == above;
}

Regions::Regions(llvm::Function& function, const llvm::LoopInfo& loops) { build(function, loops, nullptr); }

Level* Regions::build(llvm::Function& function, const llvm::LoopInfo& loops, llvm::Loop* loop) {
  auto level = std::make_unique<Level>();
  level->loop = loop;
  llvm::DenseMap<const llvm::BasicBlock*, unsigned> index;
  llvm::DenseMap<const llvm::Loop*, unsigned> inner_index;
  const auto add = [&](llvm::BasicBlock* block) {
    llvm::Loop* innermost = loops.getLoopFor(block);
    if (innermost == loop) {
      index[block] = static_cast<unsigned>(level->nodes.size());
      level->nodes.emplace_back().block = block;
      return;
    }
    while (innermost->getParentLoop() != loop) innermost = innermost->getParentLoop();
    const auto [found, is_new] = inner_index.try_emplace(innermost, level->nodes.size());
    if (is_new) {
      Level* inner = build(function, loops, innermost);
      inner->parent = level.get();
      level->nodes.emplace_back().inner = inner;
    }
    index[block] = found->second;
  };
  // The header comes first, in a loop as in a function.
  if (loop != nullptr) {
    for (llvm::BasicBlock* block : loop->blocks()) add(block);
  } else {
    for (llvm::BasicBlock& block : function) add(&block);
  }

  const auto connect = [&](unsigned node, llvm::BasicBlock* to) {
    const auto found = index.find(to);
    if (found == index.end() || (loop != nullptr && to == loop->getHeader())) {
      level->nodes[node].leaves = true;
      return;
    }
    level->nodes[node].successors.push_back(found->second);
    level->nodes[found->second].predecessors.push_back(node);
  };
  for (unsigned node = 0; node < level->nodes.size(); ++node) {
    if (Level* inner = level->nodes[node].inner; inner != nullptr) {
      for (const ExitEdge& exit : inner->exits) {
        connect(node, exit.to);
        if (loop != nullptr && !loop->contains(exit.to)) level->exits.push_back(exit);
      }
      continue;
    }
    llvm::BasicBlock* block = level->nodes[node].block;
    if (llvm::succ_empty(block)) level->nodes[node].leaves = true;
    llvm::SmallVector<llvm::BasicBlock*, 2> ways(llvm::successors(block));
    // If both successors reach equally many nodes, the last one comes first in the order, so the rare one is made the
    // last.
    if (rare_side(block->getTerminator()) == 0U) std::swap(ways[0], ways[1]);
    for (llvm::BasicBlock* to : ways) {
      connect(node, to);
      if (loop != nullptr && !loop->contains(to)) level->exits.push_back({block, to});
    }
  }
  compact(level->nodes);
  for (unsigned node = 0; node < level->nodes.size(); ++node) {
    if (Level* inner = level->nodes[node].inner; inner != nullptr) inner->node_in_parent = node;
    if (const llvm::BasicBlock* block = level->nodes[node].block; block != nullptr) {
      places_[block] = {level.get(), node};
    }
  }
  levels_.push_back(std::move(level));
  return levels_.back().get();
}

std::optional<unsigned> rare_side(const llvm::Instruction* terminator) {
  const auto* branch = llvm::dyn_cast<llvm::BranchInst>(terminator);
  if (branch == nullptr || branch->isUnconditional()) return std::nullopt;
  std::uint64_t weights[2] = {0, 0};
  if (llvm::extractBranchWeights(*branch, weights[0], weights[1]) && weights[0] != weights[1])
    return weights[0] < weights[1] ? 0 : 1;
  const auto* compare = llvm::dyn_cast<llvm::ICmpInst>(branch->getCondition());
  if (compare == nullptr || !compare->isEquality()) return std::nullopt;
  return compare->getPredicate() == llvm::CmpInst::ICMP_EQ ? 0 : 1;
}

bool is_cold(const llvm::Instruction& instruction) {
  const auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  return call != nullptr && call->hasFnAttr(llvm::Attribute::Cold);
}

bool only_returns(const llvm::BasicBlock* block) {
  for (unsigned steps = 0; steps < 4; ++steps) {
    unsigned operations = 0;
    for (const llvm::Instruction& instruction : block->instructionsWithoutDebug()) {
      if (instruction.mayReadOrWriteMemory() && !is_cold(instruction)) return false;
      operations += llvm::isa<llvm::PHINode, llvm::InsertValueInst>(instruction) ? 0 : 1;
    }
    if (llvm::isa<llvm::ReturnInst>(block->getTerminator())) return true;
    if (operations > 4) return false;
    block = block->getUniqueSuccessor();
    if (block == nullptr) return false;
  }
  return false;
}

unsigned Regions::node_within(const Level& level, const llvm::BasicBlock* block) const {
  const Place place = places_.lookup(block);
  const Level* at = place.level;
  unsigned node = place.node;
  while (at != nullptr && at != &level) {
    node = at->node_in_parent;
    at = at->parent;
  }
  return at == nullptr ? kNoNode : node;
}

}  // namespace dhpvm::codegen::spmd
