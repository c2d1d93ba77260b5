// SPDX-License-Identifier: Apache-2.0
// The ways out of blocks: `break`, `continue` and `return`, and the resources of `use` that are closed on the way.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

enum class LoopExit : std::uint8_t { kBreak, kContinue };

class ExitLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  // A loop, `use` or `try` begins around the statements lowered from now on, until leave_enclosing().
  void enter_loop(LabelId break_label, LabelId continue_label);
  // `open`: holds 1 until it is closed.
  void enter_use(const Expr& close, Register open);
  void enter_try(LabelId end);
  void leave_enclosing() { enclosing_.pop_back(); }
  std::size_t depth() const { return enclosing_.size(); }

  // The innermost loop, or the one that lies `outwards` from there.
  void leave_loop(LoopExit how, unsigned outwards);
  // Goes on behind the innermost `try`.
  void leave_try();
  // Closes what a `use` has opened. From now on it is not open.
  void close(const Expr& close, Register open);
  // Whether a trap may be caught in the function, so that variables must not change before their new value is known.
  bool is_caught() const;
  // Where `body` jumps to if that is all it does, so that the condition before it can jump by itself.
  std::optional<LabelId> direct_exit(const std::vector<Stmt*>& body) const;
  void return_statement(const Stmt& s);
  void return_values(const Leaves& types, const Values& values);

 private:
  enum class Bank : std::uint8_t { kPrimitives, kReferences };
  struct Enclosing {
    enum class Kind : std::uint8_t { kLoop, kUse, kTry };
    Kind kind = Kind::kLoop;
    LabelId break_label = 0;  // kTry: its end
    LabelId continue_label = 0;
    const Expr* close = nullptr;  // kUse
    Register open = 0;
  };

  void close_down_to(std::size_t depth);
  void return_value(const Expr& e);
  void move_at_once(const std::vector<std::pair<Register, Register>>& moves, Bank bank);

  std::vector<Enclosing> enclosing_;  // from the outermost to the innermost
};

}  // namespace dhpvm::compiler
