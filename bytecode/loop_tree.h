// SPDX-License-Identifier: Apache-2.0
// The nesting of a function's loops, identified by their header blocks.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "bytecode/control_flow.h"

namespace dhpvm::bytecode {

class LoopTree {
 public:
  // `blocks`: those of find_blocks(), or more about each of them.
  explicit LoopTree(const std::vector<CodeBlock>& blocks);
  template <typename Block>
  explicit LoopTree(const std::vector<Block>& blocks)
      : LoopTree(std::vector<CodeBlock>(blocks.begin(), blocks.end())) {}

  // Numbers of the blocks that are loop headers; in increasing order.
  const std::vector<std::uint32_t>& headers() const { return headers_; }
  // The headers of the loops that no other loop contains; in increasing order.
  std::vector<std::uint32_t> outermost() const;
  // By block: whether the loop of `header` contains it.
  const std::vector<bool>& body(std::uint32_t header) const { return bodies_.at(header); }
  // The headers of all loops nested in the loop of `header`; in increasing order.
  std::vector<std::uint32_t> inside(std::uint32_t header) const;
  // The header of the outermost loop inside that of `outer` (kNoIndex: inside no loop) that contains the loop of
  // `inner`.
  std::uint32_t step(std::uint32_t outer, std::uint32_t inner) const;

 private:
  std::vector<std::uint32_t> headers_;
  std::map<std::uint32_t, std::vector<bool>> bodies_;
  std::map<std::uint32_t, std::uint32_t> parents_;  // kNoIndex of the outermost ones
};

}  // namespace dhpvm::bytecode
