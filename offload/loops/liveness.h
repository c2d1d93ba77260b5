// SPDX-License-Identifier: Apache-2.0
// Which primitive registers of a function are still read after a place in its code. The footprint analysis
// asks only where paths meet: what is not live there need not be merged.
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
  // `function` is pure, as the verifier has found. Takes time in proportion to code times registers.
  Liveness(const bytecode::Module& module, std::uint32_t function);

  // At the target of a branch, `pc` in words from the start of the function.
  bool live_at(std::uint32_t pc, std::uint32_t reg) const;
  // All back-edges: where they stand, and where they lead.
  const std::vector<std::pair<std::uint32_t, std::uint32_t>>& back_edges() const { return back_edges_; }
  bool is_header(std::uint32_t pc) const { return headers_.contains(pc); }

 private:
  using Set = std::vector<std::uint64_t>;
  std::map<std::uint32_t, Set> live_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> back_edges_;
  std::set<std::uint32_t> headers_;
};

// Where the branch at `pc`, with the first word `word`, leads, or kNoIndex if it is no branch.
std::uint32_t branch_target(bytecode::Word word, std::uint32_t pc);

// The number of primitives among the parameters or results.
std::uint32_t count_primitives(const std::vector<bytecode::ValueType>& types);

}  // namespace dhpvm::offload
