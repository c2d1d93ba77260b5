// SPDX-License-Identifier: Apache-2.0
#include "compiler/code_buffer.h"

namespace dhpvm::compiler {

using bytecode::Op;
using bytecode::Operand;

void CodeBuffer::append(Kind kind, Op op, std::uint32_t a, std::uint32_t b, std::uint32_t c,
                        std::uint32_t label, std::uint64_t x) {
  if (!reachable_) return;
  instructions_.push_back({kind, op, static_cast<std::uint16_t>(a), static_cast<std::uint16_t>(b),
                           static_cast<std::uint16_t>(c), label, x, position_});
}

void CodeBuffer::emit(Op op, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint64_t x) {
  append(Kind::kOp, op, a, b, c, 0, x);
  if ((bytecode::info(op).flags & bytecode::kEndsBlock) != 0) reachable_ = false;
}

void CodeBuffer::move_primitive(Register to, Register from) {
  if (to != from) emit(Op::kMoveP, to, from);
}

void CodeBuffer::move_reference(Register to, Register from) {
  if (to != from) emit(Op::kMoveR, to, from);
}

void CodeBuffer::load(Register to, std::int64_t value) {
  append(Kind::kLoad, Op::kImm, to, 0, 0, 0, static_cast<std::uint64_t>(value));
}

void CodeBuffer::load_string(Register to, std::uint32_t string) {
  append(Kind::kString, Op::kConstString, to, 0, 0, string, 0);
}

CodeBuffer::LabelId CodeBuffer::new_label() {
  labels_.emplace_back();
  return static_cast<LabelId>(labels_.size() - 1);
}

void CodeBuffer::bind(LabelId label) {
  labels_[label].bound = true;
  // A label that nothing leads to does not bring dead code back to life.
  if (labels_[label].used) reachable_ = true;
  append(Kind::kBind, Op::kNop, 0, 0, 0, label, 0);
}

void CodeBuffer::jump(LabelId label) {
  if (!reachable_) return;
  append(Kind::kJump, labels_[label].bound ? Op::kLoop : Op::kJump, 0, 0, 0, label, 0);
  labels_[label].used = true;
  reachable_ = false;
}

void CodeBuffer::branch(Op op, std::uint32_t a, std::uint32_t b, LabelId label) {
  if (!reachable_) return;
  append(Kind::kBranch, op, a, b, 0, label, 0);
  labels_[label].used = true;
}

void CodeBuffer::begin_loop() {
  if (loop_depth_++ > 0) return;
  append(Kind::kConstants, Op::kNop, 0, 0, 0, static_cast<std::uint32_t>(loops_.size()), 0);
  loops_.emplace_back();
}

Register CodeBuffer::constant(std::int64_t value) {
  const auto number =
      constants_.try_emplace(value, static_cast<std::uint32_t>(constants_.size())).first->second;
  loops_.back().emplace(number, value);
  return static_cast<Register>(kMostRegisters + number);
}

Register CodeBuffer::renumber(std::uint16_t number, std::uint32_t parameters) const {
  if (number >= kMostRegisters) return static_cast<Register>(number - kMostRegisters + parameters);
  if (number < parameters) return number;
  return static_cast<Register>(number + constants_.size());
}

void CodeBuffer::finish(bytecode::FunctionBuilder& out, std::uint32_t parameters,
                        const std::vector<std::uint32_t>& files) const {
  std::vector<bytecode::Label> labels;
  labels.reserve(labels_.size());
  for (std::size_t i = 0; i < labels_.size(); ++i) labels.push_back(out.new_label());
  const auto primitive = [&](Operand kind, std::uint16_t value) {
    switch (kind) {
      case Operand::kPd:
      case Operand::kPs:
      case Operand::kPm:
      case Operand::kPWin: return renumber(value, parameters);
      default: return value;
    }
  };
  hir::Position marked;
  for (const Instruction& i : instructions_) {
    const bytecode::OpInfo& row = bytecode::info(i.op);
    // Only what can trap, call or be stopped at needs to know where it came from.
    if ((row.flags & (bytecode::kTraps | bytecode::kCall | bytecode::kBackEdge)) != 0) {
      const hir::Position& at = i.position;
      if (at.line != 0 && (at.line != marked.line || at.column != marked.column || at.file != marked.file)) {
        out.mark_line(files[at.file], at.line, at.column);
        marked = at;
      }
    }
    const std::uint16_t a = primitive(row.a, i.a);
    const std::uint16_t b = primitive(row.b, i.b);
    const std::uint16_t c = primitive(row.c, i.c);
    switch (i.kind) {
      case Kind::kOp: {
        std::uint64_t x = i.x;
        if (row.x == Operand::kP || row.x == Operand::kPP) {
          const auto low = renumber(bytecode::x0_of(i.x), parameters);
          const auto high = row.x == Operand::kPP ? renumber(bytecode::x1_of(i.x), parameters) : Register{0};
          x = low | static_cast<std::uint64_t>(high) << 16;
        }
        if (row.x == Operand::kNone) {
          out.emit(i.op, a, b, c);
        } else {
          out.emit(i.op, a, b, c, x);
        }
        break;
      }
      case Kind::kBranch:
        if (row.b == Operand::kOff32) {
          out.branch(i.op, a, labels[i.label]);
        } else {
          out.branch(i.op, a, b, labels[i.label]);
        }
        break;
      case Kind::kJump: out.jump(labels[i.label]); break;
      case Kind::kLoad: out.load_integer(a, static_cast<std::int64_t>(i.x)); break;
      case Kind::kString: out.emit32(Op::kConstString, a, i.label); break;
      case Kind::kBind: out.bind(labels[i.label]); break;
      case Kind::kConstants:
        for (const auto& [number, value] : loops_[i.label])
          out.load_integer(static_cast<Register>(number + parameters), value);
        break;
    }
  }
}

}  // namespace dhpvm::compiler
