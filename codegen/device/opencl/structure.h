// SPDX-License-Identifier: Apache-2.0
// Structures the control flow of a function as loops and branches of C.
//
// The text of a block contains that of the blocks that it dominates, in the order in which control reaches them. A
// block that several branches reach follows the text with these branches, under a label; most of them end just before
// it and need no `goto`. The method is that of N. Ramsey, "Beyond Relooper" (2022); in C a `goto` can also leave
// several loops, so the code after a loop can follow it.
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
  const llvm::BasicBlock* label = nullptr;  // if not null, the line is its label
  bool jumps = false;                       // control never reaches the next line
  std::string otherwise;                    // of `if (..) break;`: the opposite condition
  bool has_constant = false;                // `otherwise` compares with one
  bool is_copy = false;                     // assigns a phi's variable, which may be dead
};

class Structure {
 public:
  // The control flow must be reducible, with branches and returns only.
  Structure(llvm::Function& function, Expressions& expressions);

  // The statements of the function, starting with the entry block.
  std::vector<Line> lines();
  // Whether a variable is declared at its assignment. The others must be declared at the beginning.
  bool is_declared_inside(const llvm::Instruction& instruction) const;
  // Further declarations at the beginning, known once the statements have been written: a line, or nothing.
  std::string_view declaration() const { return uses_more_ ? "  bool more;\n" : ""; }

 private:
  using Lines = std::vector<Line>;
  using Block = const llvm::BasicBlock;

  struct Context {
    unsigned depth = 1;
    Block* follow =
        nullptr;  // the block that control reaches by falling through; null at the end of the function
    Block* loop = nullptr;        // the header of the innermost loop; null outside loops
    Block* after_loop = nullptr;  // the target of `break`
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
      inside_;  // by dominator: blocks with a label after its own text
  llvm::DenseMap<Block*, std::vector<Block*>> after_loop_;  // by header: blocks with a label after the loop
  llvm::SmallPtrSet<Block*, 16> labelled_;
  llvm::SmallPtrSet<Block*, 16> used_;  // labels that are targets of a jump
  bool uses_more_ = false;
};

// The C type of the variable that holds the instruction's value.
const llvm::Type* variable_type(const llvm::Instruction& instruction);

}  // namespace dhpvm::codegen::opencl
