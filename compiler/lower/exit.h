// SPDX-License-Identifier: Apache-2.0
// The ways out of blocks: `break`, `continue` and `return`, and the resources of `use` that are closed on the way.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

enum class LoopExit : std::uint8_t { kBreak, kContinue };

class ExitLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  // A loop or `use` begins around the statements lowered from now on, until leave_enclosing().
  void enter_loop(LabelId break_label, LabelId continue_label);
  void enter_use(const Expr& close);
  void leave_enclosing() { enclosing_.pop_back(); }

  // The innermost loop, or the one that lies `outwards` from there.
  void leave_loop(LoopExit how, unsigned outwards);
  // Where `body` jumps to if that is all it does, so that the condition before it can jump by itself.
  std::optional<LabelId> direct_exit(const std::vector<Stmt*>& body) const;
  void return_statement(const Stmt& s);
  void return_values(const Leaves& types, const Values& values);

 private:
  enum class Bank : std::uint8_t { kPrimitives, kReferences };
  struct Enclosing {
    enum class Kind : std::uint8_t { kLoop, kUse };
    Kind kind = Kind::kLoop;
    LabelId break_label = 0;
    LabelId continue_label = 0;
    const Expr* close = nullptr;  // kUse
  };

  void close_down_to(std::size_t depth);
  void return_value(const Expr& e);
  void move_at_once(const std::vector<std::pair<Register, Register>>& moves, Bank bank);

  std::vector<Enclosing> enclosing_;  // from the outermost to the innermost
};

}  // namespace dhpvm::compiler
