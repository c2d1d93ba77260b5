// SPDX-License-Identifier: Apache-2.0
// Which loops of a function lie in which, by the blocks that they begin with.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "codegen/lower/flow.h"

namespace dhpvm::codegen {

class LoopTree {
 public:
  // The blocks of a Flow.
  explicit LoopTree(const std::vector<Block>& blocks);

  // Numbers of the blocks that are loop headers; in increasing order.
  const std::vector<std::uint32_t>& headers() const { return headers_; }
  // The headers of all loops in the loop of `header`; in increasing order.
  std::vector<std::uint32_t> inside(std::uint32_t header) const;
  // On the way from the loop of `outer` (kNoIndex: from outside of all loops) into that of `inner`, which
  // lies in it: the header of the first loop that is entered.
  std::uint32_t step(std::uint32_t outer, std::uint32_t inner) const;

 private:
  std::vector<std::uint32_t> headers_;
  std::map<std::uint32_t, std::uint32_t> parents_;  // kNoIndex of the outermost ones
};

}  // namespace dhpvm::codegen
