// SPDX-License-Identifier: Apache-2.0
// Exits from blocks: `break`, `continue` and `return`, and closing the resources of `use` on the way.
#pragma once

#include "compiler/lower/lowering_part.h"

namespace dhpvm::compiler {

enum class LoopExit : std::uint8_t { kBreak, kContinue };

class ExitLowering : public LoweringPart {
 public:
  using LoweringPart::LoweringPart;

  // Begins a loop, `use` or `try` around the statements lowered from now on, until leave_enclosing().
  void enter_loop(LabelId break_label, LabelId continue_label);
  // `open`: the register is 1 while the resource is open.
  void enter_use(const Expr& close, Register open);
  void enter_try(LabelId end);
  void leave_enclosing() { enclosing_.pop_back(); }
  std::size_t depth() const { return enclosing_.size(); }

  // Leaves the innermost loop, or the one `outwards` levels out.
  void leave_loop(LoopExit how, unsigned outwards);
  // Jumps behind the innermost `try`.
  void leave_try();
  // Closes the resource of a `use` and marks it as closed.
  void close(const Expr& close, Register open);
  // Whether the function may catch a trap, so that variables must not change before their new value is computed.
  bool is_caught() const;
  // The target of `body` if it consists of a jump only, so that the condition before it can branch there directly.
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
