// SPDX-License-Identifier: Apache-2.0
// Liveness of a function's primitive registers: which of them may still be read after a place in its code. The
// footprint analysis merges only live registers where paths meet.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "bytecode/module.h"

namespace dhpvm::offload {

class Liveness {
 public:
  // The verifier must have found `function` pure. Takes time in proportion to code times registers.
  Liveness(const bytecode::Module& module, std::uint32_t function);

  // Whether `reg` is live at `pc`, the target of a branch, in words from the start of the function.
  bool live_at(std::uint32_t pc, std::uint32_t reg) const;
  // All back-edges: the place of the branch, and its target.
  const std::vector<std::pair<std::uint32_t, std::uint32_t>>& back_edges() const { return back_edges_; }
  bool is_header(std::uint32_t pc) const { return headers_.contains(pc); }

 private:
  using Set = std::vector<std::uint64_t>;
  std::map<std::uint32_t, Set> live_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> back_edges_;
  std::set<std::uint32_t> headers_;
};

// The target of the branch at `pc`, whose first word is `word`; kNoIndex if it is no branch.
std::uint32_t branch_target(bytecode::Word word, std::uint32_t pc);

// The number of primitives among these parameters or results.
std::uint32_t count_primitives(const std::vector<bytecode::ValueType>& types);

}  // namespace dhpvm::offload
