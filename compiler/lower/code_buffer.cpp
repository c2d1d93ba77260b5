// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/code_buffer.h"

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

void CodeBuffer::trap(std::uint32_t string) {
  append(Kind::kString, Op::kTrapText, 0, 0, 0, string, 0);
  reachable_ = false;
}

CodeBuffer::LabelId CodeBuffer::new_label() {
  labels_.emplace_back();
  return static_cast<LabelId>(labels_.size() - 1);
}

void CodeBuffer::bind(LabelId label) {
  labels_[label].bound = true;
  // A label without uses does not make dead code reachable.
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

std::size_t CodeBuffer::skip_labels(std::size_t at) const {
  while (at < instructions_.size() &&
         (instructions_[at].kind == Kind::kBind || instructions_[at].kind == Kind::kNothing))
    ++at;
  return at;
}

// Redirects jumps and branches to other jumps to the final target; removes jumps to the next instruction, and code that
// becomes unreachable.
void CodeBuffer::thread_jumps() {
  constexpr int kMostHops = 16;  // an empty endless loop is its own target
  std::vector<std::size_t> position(labels_.size());
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    if (instructions_[i].kind == Kind::kBind) position[instructions_[i].label] = i;
  }
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    Instruction& from = instructions_[i];
    if (from.kind != Kind::kJump && from.kind != Kind::kBranch) continue;
    for (int hop = 0; hop < kMostHops; ++hop) {
      const std::size_t to = skip_labels(position[from.label]);
      if (to >= instructions_.size() || instructions_[to].kind != Kind::kJump) break;
      const std::uint32_t next = instructions_[to].label;
      const bool back = position[next] < i;
      // A backward conditional branch costs as much as reaching the jump.
      if (next == from.label || (back && from.kind == Kind::kBranch)) break;
      from.label = next;
      if (back && from.op != Op::kLoop) {
        from.op = Op::kLoop;
        from.position = instructions_[to].position;
      }
    }
  }
  std::vector<bool> used(labels_.size());
  for (const Instruction& i : instructions_) {
    if (i.kind == Kind::kJump || i.kind == Kind::kBranch) used[i.label] = true;
  }
  bool reachable = true;
  for (std::size_t i = 0; i < instructions_.size(); ++i) {
    Instruction& at = instructions_[i];
    if (at.kind == Kind::kBind) {
      reachable |= used[at.label];
      continue;
    }
    const bool falls_through = at.kind == Kind::kJump && at.op == Op::kJump && position[at.label] > i &&
                               position[at.label] < skip_labels(i + 1);
    if (!reachable || falls_through) {
      at.kind = Kind::kNothing;
      continue;
    }
    if ((bytecode::info(at.op).flags & bytecode::kEndsBlock) != 0) reachable = false;
  }
}

void CodeBuffer::finish(bytecode::FunctionBuilder& out, std::uint32_t parameters,
                        const std::vector<std::uint32_t>& files, LinesOf lines) {
  thread_jumps();
  std::vector<bytecode::Label> labels;
  labels.reserve(labels_.size());
  for (std::size_t i = 0; i < labels_.size(); ++i) labels.push_back(out.new_label());
  std::vector<bool> passed(labels_.size());
  hir::Position marked;
  for (const Instruction& i : instructions_) {
    if (i.kind == Kind::kBind) passed[i.label] = true;
    // Only instructions that can trap, call or be interrupted need a position. A backward branch becomes a branch over
    // a back-edge, which can be interrupted.
    constexpr unsigned kNeedsPosition = bytecode::kTraps | bytecode::kCall | bytecode::kBackEdge;
    const bool back_edge = i.kind == Kind::kBranch && passed[i.label];
    const bool is_code = i.kind != Kind::kNothing && i.kind != Kind::kBind && i.kind != Kind::kConstants;
    const bool stops = (bytecode::info(i.op).flags & kNeedsPosition) != 0;
    if (back_edge || (is_code && (stops || lines == LinesOf::kInstructions))) {
      const hir::Position& at = i.position;
      if (at.line != 0 && (at.line != marked.line || at.column != marked.column || at.file != marked.file)) {
        out.mark_line(files[at.file], at.line, at.column);
        marked = at;
      }
    }
    write(i, out, parameters, labels);
  }
}

void CodeBuffer::write(const Instruction& i, bytecode::FunctionBuilder& out, std::uint32_t parameters,
                       const std::vector<bytecode::Label>& labels) const {
  const bytecode::OpInfo& row = bytecode::info(i.op);
  const auto primitive = [&](Operand kind, std::uint16_t value) {
    switch (kind) {
      case Operand::kPd:
      case Operand::kPs:
      case Operand::kPm:
      case Operand::kPWin: return renumber(value, parameters);
      default: return value;
    }
  };
  const std::uint16_t a = primitive(row.a, i.a);
  const std::uint16_t b = primitive(row.b, i.b);
  const std::uint16_t c = primitive(row.c, i.c);
  switch (i.kind) {
    case Kind::kOp: {
      if (row.x == Operand::kNone) return out.emit(i.op, a, b, c);
      std::uint64_t x = i.x;
      if (row.x == Operand::kP || row.x == Operand::kPP) {
        x = i.x >> 32 << 32 | renumber(bytecode::x0_of(i.x), parameters);
        if (row.x == Operand::kPP) x |= std::uint64_t{renumber(bytecode::x1_of(i.x), parameters)} << 16;
      }
      return out.emit(i.op, a, b, c, x);
    }
    case Kind::kBranch:
      if (row.b == Operand::kOff32) return out.branch(i.op, a, labels[i.label]);
      return out.branch(i.op, a, b, labels[i.label]);
    case Kind::kJump: return out.jump(labels[i.label]);
    case Kind::kLoad: return out.load_integer(a, static_cast<std::int64_t>(i.x));
    case Kind::kString: return out.emit32(i.op, a, i.label);
    case Kind::kBind: return out.bind(labels[i.label]);
    case Kind::kConstants:
      for (const auto& [number, value] : loops_[i.label])
        out.load_integer(static_cast<Register>(number + parameters), value);
      return;
    case Kind::kNothing: return;
  }
}

}  // namespace dhpvm::compiler
