// SPDX-License-Identifier: Apache-2.0
// The instructions of one function before registers of constants are known.
//
// This buffer stands between lowering and bytecode::FunctionBuilder because the constants of a loop are known only once
// its body is lowered, but must be loaded before it. Lowering refers to them by separate numbers (constant()); finish()
// assigns them the registers after the parameters, renumbers all other registers, and loads each before the outermost
// loop that uses it. finish() also removes jumps to jumps.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "bytecode/builder.h"
#include "compiler/hir/hir.h"
#include "compiler/lower/lowering.h"
#include "compiler/lower/registers.h"

namespace dhpvm::compiler {

class CodeBuffer {
 public:
  using Op = bytecode::Op;
  using LabelId = std::uint32_t;

  // The position of the instructions emitted from now on.
  void set_position(const hir::Position& position) { position_ = position; }
  const hir::Position& position() const { return position_; }

  // Nothing is emitted while the end of the code is unreachable.
  bool reachable() const { return reachable_; }

  void emit(Op op, std::uint32_t a = 0, std::uint32_t b = 0, std::uint32_t c = 0, std::uint64_t x = 0);
  void move_primitive(Register to, Register from);
  void move_reference(Register to, Register from);
  void load(Register to, std::int64_t value);
  void load_string(Register to, std::uint32_t string);
  void trap(std::uint32_t string);

  LabelId new_label();
  void bind(LabelId label);
  void jump(LabelId label);
  void branch(Op op, std::uint32_t a, LabelId label) { branch(op, a, 0, label); }
  void branch(Op op, std::uint32_t a, std::uint32_t b, LabelId label);

  // Loops nest; the loads of constants are placed before the outermost one.
  void begin_loop();
  void end_loop() { --loop_depth_; }
  bool in_loop() const { return loop_depth_ > 0; }
  // A register that holds `value` throughout the outermost enclosing loop, and must not be written. Requires in_loop()
  // and has_room_for_constant().
  Register constant(std::int64_t value);
  bool has_room_for_constant() const { return constants_.size() < kMostConstants; }

  // The final register of `number`, once all constants are known.
  Register renumber(std::uint16_t number, std::uint32_t parameters) const;
  // Writes everything to `out`. `parameters`: the number of primitive registers of the parameters. `files`: the string
  // index of each source file.
  void finish(bytecode::FunctionBuilder& out, std::uint32_t parameters,
              const std::vector<std::uint32_t>& files, LinesOf lines);

 private:
  enum class Kind : std::uint8_t { kOp, kBranch, kJump, kLoad, kString, kBind, kConstants, kNothing };
  struct Instruction {
    Kind kind;
    Op op;
    std::uint16_t a, b, c;
    std::uint32_t label;  // kBranch, kJump, kBind; kString: the string; kConstants: index into loops_
    std::uint64_t x;
    hir::Position position;
  };
  struct LabelState {
    bool used = false;
    bool bound = false;
  };
  // Constants are numbered from the top down to kMostRegisters.
  static constexpr std::size_t kMostConstants = 256;

  void append(Kind kind, Op op, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t label,
              std::uint64_t x);
  void thread_jumps();
  std::size_t skip_labels(std::size_t at) const;
  void write(const Instruction& i, bytecode::FunctionBuilder& out, std::uint32_t parameters,
             const std::vector<bytecode::Label>& labels) const;

  std::vector<Instruction> instructions_;
  std::vector<LabelState> labels_;
  std::map<std::int64_t, std::uint32_t> constants_;           // value to number
  std::vector<std::map<std::uint32_t, std::int64_t>> loops_;  // by outermost loop: its constants
  unsigned loop_depth_ = 0;
  bool reachable_ = true;
  hir::Position position_;
};

}  // namespace dhpvm::compiler
