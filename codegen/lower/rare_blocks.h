// SPDX-License-Identifier: Apache-2.0
// The blocks of a function that are rarely executed: those that trap, make, propagate or handle an error, calls that
// loops inline (seen_calls.h), and the growth of full arrays. They are placed out of line, nothing is inlined into
// them, and they do not count for the size of a function.
#pragma once

#include <cstdint>
#include <vector>

#include "bytecode/control_flow.h"
#include "codegen/lower/reference_facts.h"
#include "codegen/lower/seen_calls.h"

namespace dhpvm::codegen {

class RareBlocks {
 public:
  RareBlocks(const bytecode::Module& module, const bytecode::Function& function,
             const std::vector<bytecode::CodeBlock>& blocks, const ReferenceFacts& facts,
             const SeenCalls& seen);

  bool contains(std::uint32_t block) const { return rare_[block]; }
  // Whether control rarely goes from a block to this successor.
  bool is_rare_edge(std::uint32_t block, std::uint32_t successor) const {
    return rare_[successor] || rare_edge_[block] == successor;
  }

 private:
  void find_origins(const bytecode::Module& module, const bytecode::Function& function,
                    const std::vector<bytecode::CodeBlock>& blocks, const ReferenceFacts& facts,
                    const SeenCalls& seen);
  void find_full_arrays(const bytecode::Module& module, const bytecode::Function& function,
                        const std::vector<bytecode::CodeBlock>& blocks);
  void spread(const std::vector<bytecode::CodeBlock>& blocks);

  std::vector<bool> rare_;                // by block
  std::vector<std::uint32_t> rare_edge_;  // by block: the successor for an error or a full array, or kNoIndex
};

// The number of words in the function's code outside its rare blocks.
std::uint32_t usual_words(const bytecode::Module& module, const bytecode::Function& function,
                          const SeenCalls& seen);

}  // namespace dhpvm::codegen
