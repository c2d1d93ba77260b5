// SPDX-License-Identifier: Apache-2.0
// The control flow of a function as loops and branches of C.
//
// A block that dominates others contains their text, in the order in which control reaches them. Where
// several branches meet, the block stands behind the text that branches to it, under a label; most of these
// branches end just there and need no `goto`. The method is that of N. Ramsey, "Beyond Relooper" (2022); what
// C has in addition is that a `goto` may leave several loops at once, so that what follows a loop can stand
// behind it.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Function.h>

#include <string>
#include <string_view>
#include <vector>

#include "codegen/device/opencl/expressions.h"

namespace dhpvm::codegen::opencl {

struct Line {
  unsigned depth = 0;  // of indentation
  std::string text;
  const llvm::BasicBlock* label = nullptr;  // the line is its label
  bool jumps = false;                       // control never comes to the line behind it
  std::string otherwise;                    // of `if (..) break;`: the opposite condition
  bool has_constant = false;                // `otherwise` compares with one
  bool is_copy = false;                     // gives a phi's variable its value, which may be dead
};

class Structure {
 public:
  // The control flow must be reducible, with branches and returns only.
  Structure(llvm::Function& function, Expressions& expressions);

  // The statements of the function, from the first block on.
  std::vector<Line> lines();
  // Whether a variable is declared where it gets its value. The others must be declared at the beginning.
  bool is_declared_inside(const llvm::Instruction& instruction) const;
  // Further declarations at the beginning, known once the statements have been written: a line, or nothing.
  std::string_view declaration() const { return uses_more_ ? "  bool more;\n" : ""; }

 private:
  using Lines = std::vector<Line>;
  using Block = const llvm::BasicBlock;

  struct Context {
    unsigned depth = 1;
    Block* follow = nullptr;  // where control comes if nothing is written; null at the end of the function
    Block* loop = nullptr;    // the header of the innermost loop; null outside of all
    Block* after_loop = nullptr;  // where `break` leads
  };

  void place_blocks(llvm::Function& function);
  void write_node(Block& block, const Context& context, Lines& out);
  bool move_test_to_end(Lines& body, const Context& inside) const;
  bool is_read_behind(const llvm::Instruction& variable, Block& header) const;
  bool can_be_in_vain(const llvm::Value& value) const;
  void write_block(Block& block, const Context& context, Lines& out);
  void write_statements(Block& block, const Context& context, Lines& out);
  void write_branch(Block& block, const Context& context, Lines& out);
  void write_jump(Block& from, Block& to, const Context& context, Lines& out);
  void write_phis(Block& from, Block& to, const Context& context, Lines& out);
  std::string label(Block& block) const;
  bool only_returns(Block& block) const;
  bool always_returns(Block& block) const;
  void add(Lines& out, const Context& context, std::string text, bool jumps = false) const;

  Expressions& expressions_;
  Block* entry_ = nullptr;
  llvm::DominatorTree dominators_;
  llvm::LoopInfo loops_;
  llvm::DenseMap<Block*, unsigned> order_;  // in reverse post-order
  llvm::DenseMap<Block*, std::vector<Block*>>
      inside_;  // by dominator: blocks with a label behind its own text
  llvm::DenseMap<Block*, std::vector<Block*>> after_loop_;  // by header: blocks with a label behind the loop
  llvm::SmallPtrSet<Block*, 16> labelled_;
  llvm::SmallPtrSet<Block*, 16> used_;  // labels that something jumps to
  bool uses_more_ = false;
};

// The C type of the variable that holds what the instruction computes.
const llvm::Type* variable_type(const llvm::Instruction& instruction);

}  // namespace dhpvm::codegen::opencl
