// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "base/error.h"
#include "bytecode/builder.h"
#include "bytecode/isa_table.h"
#include "bytecode/isa_text.h"

namespace dhpvm::bytecode {
namespace {

constexpr std::uint32_t kMostRegisters = 0xffff;

bool is_for(Op op) { return info(op).family == Family::kFor; }

// Words that the long form of a branch needs beyond the short one.
std::uint32_t long_form_extra(Op op) { return is_for(op) ? 2 : 1; }

bool has_offset32(const OpInfo& row) { return row.b == Operand::kOff32; }

struct Counts {
  std::uint32_t primitives = 0;
  std::uint32_t references = 0;
};

Counts count(const std::vector<ValueType>& values) {
  Counts counts;
  for (const ValueType& value : values) ++(value.is_ref() ? counts.references : counts.primitives);
  return counts;
}

Counts window_of(const Signature& signature) {
  const Counts in = count(signature.parameters);
  const Counts out = count(signature.results);
  return {std::max(in.primitives, out.primitives), std::max(in.references, out.references)};
}

struct Inverse {
  Op op = Op::kNop;
  bool swaps = false;
};

// The negation of a relation. A comparison with NaN is false, so on floats the negation of < is "not less" and not >=.
constexpr Operation negation(Operation relation, bool of_floats) {
  switch (relation) {
    case Operation::kEq: return Operation::kNe;
    case Operation::kNe: return Operation::kEq;
    case Operation::kLt: return of_floats ? Operation::kNotLt : Operation::kGe;
    case Operation::kLe: return of_floats ? Operation::kNotLe : Operation::kGt;
    case Operation::kNotLt:
    case Operation::kGe: return Operation::kLt;
    case Operation::kNotLe:
    case Operation::kGt: return Operation::kLe;
    default: return Operation::kNone;
  }
}

// The relation for swapped operands: a relation b if and only if b mirrored(relation) a.
constexpr Operation mirrored(Operation relation) {
  switch (relation) {
    case Operation::kGt: return Operation::kLt;
    case Operation::kGe: return Operation::kLe;
    default: return Operation::kNone;
  }
}

constexpr Inverse find_inverse(const OpInfo& branch) {
  const bool of_floats = branch.kind && is_float(*branch.kind);
  const Operation wanted = negation(branch.operation, of_floats);
  Inverse mirror;
  for (std::uint16_t op = 0; op < kOpCount; ++op) {
    const OpInfo& row = kInfo[op];
    if (row.family != branch.family || row.kind != branch.kind || row.b != branch.b) continue;
    if (row.operation == wanted) return {static_cast<Op>(op), false};
    const bool two_registers = row.b == Operand::kPs;
    if (two_registers && row.operation == mirrored(wanted)) mirror = {static_cast<Op>(op), true};
  }
  return mirror;
}

// A protect only leads forward, over the instructions that it protects.
constexpr bool is_condition(const OpInfo& row) {
  return row.has(kBranch) && !row.has(kBackEdge) && row.family != Family::kProtect;
}

constexpr auto kInverses = [] {
  std::array<Inverse, kOpCount> table{};
  for (std::uint16_t op = 0; op < kOpCount; ++op) {
    if (is_condition(kInfo[op])) table[op] = find_inverse(kInfo[op]);
  }
  return table;
}();

constexpr bool all_have_inverses() {
  for (std::uint16_t op = 0; op < kOpCount; ++op) {
    if (is_condition(kInfo[op]) && kInverses[op].op == Op::kNop) return false;
  }
  return true;
}
static_assert(all_have_inverses(), "a conditional branch has no inverse, and cannot be far from its target");

}  // namespace

Op inverse(Op op, bool& swap) {
  const Inverse& found = kInverses[static_cast<std::uint16_t>(op)];
  swap = found.swaps;
  return found.op;
}

FunctionBuilder::FunctionBuilder(ModuleBuilder& module, std::uint32_t function)
    : module_(module), function_(function) {
  const Signature& signature = module.module_.functions[function].signature;
  const Counts window = window_of(signature);
  require_registers(window.primitives, window.references);
}

void FunctionBuilder::fail(std::string_view what, Op op) {
  if (!mistake_.empty()) return;
  mistake_ = fmt::format("word {}, {}: {}", code_.size(), mnemonic_of(op), what);
}

void FunctionBuilder::touch_primitive(std::uint32_t reg, std::uint32_t count) {
  primitives_ = std::max(primitives_, reg + count);
}
void FunctionBuilder::touch_reference(std::uint32_t reg, std::uint32_t count) {
  references_ = std::max(references_, reg + count);
}
void FunctionBuilder::require_registers(std::uint32_t primitives, std::uint32_t references) {
  touch_primitive(0, primitives);
  touch_reference(0, references);
}

void FunctionBuilder::count_registers(const OpInfo& row, Word word, Word x) {
  const auto one = [this](Operand kind, std::uint16_t value) {
    switch (kind) {
      case Operand::kPd:
      case Operand::kPs:
      case Operand::kPm: touch_primitive(value); break;
      case Operand::kRd:
      case Operand::kRs: touch_reference(value); break;
      default: break;
    }
  };
  one(row.a, a_of(word));
  one(row.b, b_of(word));
  one(row.c, c_of(word));
  if (row.x == Operand::kP || row.x == Operand::kPP) touch_primitive(x0_of(x));
  if (row.x == Operand::kPP) touch_primitive(x1_of(x));
}

void FunctionBuilder::count_window(const OpInfo& row, Word word, Word x) {
  const Module& m = module_.module_;
  const std::uint16_t index = c_of(word);
  Counts window;
  switch (row.family) {
    case Family::kCall:
      if (index >= m.functions.size()) return fail("no such function", Op::kCall);
      window = window_of(m.functions[index].signature);
      break;
    case Family::kCallNative:
      if (index >= m.imports.size()) return fail("no such import", Op::kCallNative);
      window = window_of(m.imports[index].signature);
      break;
    case Family::kCallInterface:
      if (x >= m.types.size() || index >= m.types[x].methods.size())
        return fail("no such method", Op::kCallInterface);
      window = window_of(m.types[x].methods[index].signature);
      ++window.references;  // the receiver
      break;
    case Family::kParallelFor: {
      if (index >= m.kernels.size()) return fail("no such kernel", Op::kParallelFor);
      const KernelRecord& kernel = m.kernels[index];
      window = window_of(m.functions[kernel.function].signature);
      window.primitives += kernel.dimensions;  // two bounds for each index
      break;
    }
    case Family::kStringConcat: return touch_reference(b_of(word), index);
    case Family::kArrayCopy: return touch_primitive(index, 3);
    case Family::kNewArray:
      if (x < m.types.size()) touch_primitive(b_of(word), m.types[x].rank);
      return;
    default: return;
  }
  if (row.a == Operand::kPWin) touch_primitive(a_of(word), window.primitives);
  if (row.b == Operand::kRWin) touch_reference(b_of(word), window.references);
}

void FunctionBuilder::emit(Op op, std::uint16_t a, std::uint16_t b, std::uint16_t c, std::optional<Word> x) {
  const OpInfo& row = info(op);
  if (x.has_value() != (row.words() == 2)) return fail("the second word is missing or one too many", op);
  if (row.b == Operand::kOff32 || row.c == Operand::kOff) return fail("a branch needs a label", op);
  const Word word = encode(op, a, b, c);
  count_registers(row, word, x.value_or(0));
  count_window(row, word, x.value_or(0));
  code_.push_back(word);
  if (x) code_.push_back(*x);
  if ((row.flags & kEndsBlock) != 0) reachable_ = false;
}

void FunctionBuilder::emit32(Op op, std::uint16_t a, std::uint32_t bc) {
  const OpInfo& row = info(op);
  if (row.b != Operand::kImm32 && row.b != Operand::kString) return fail("has no 32-bit operand", op);
  emit(op, a, static_cast<std::uint16_t>(bc), static_cast<std::uint16_t>(bc >> 16));
}

void FunctionBuilder::load_integer(std::uint16_t a, std::int64_t value) {
  if (value == static_cast<std::int32_t>(value)) {
    emit32(Op::kImm, a, static_cast<std::uint32_t>(value));
  } else {
    emit(Op::kConst, a, 0, 0, static_cast<Word>(value));
  }
}

void FunctionBuilder::load_f32(std::uint16_t a, float value) {
  emit32(Op::kImm, a, std::bit_cast<std::uint32_t>(value));  // only the low half of the register counts
}

void FunctionBuilder::load_f64(std::uint16_t a, double value) {
  const Word bits = std::bit_cast<Word>(value);
  if (bits == 0) return emit32(Op::kImm, a, 0);
  emit(Op::kConst, a, 0, 0, bits);
}

Label FunctionBuilder::new_label() {
  labels_.emplace_back();
  return {static_cast<std::uint32_t>(labels_.size() - 1)};
}

void FunctionBuilder::bind(Label label) {
  if (label.id >= labels_.size()) return fail("bind of an unknown label", Op::kNop);
  LabelState& state = labels_[label.id];
  if (state.position != kNoIndex) return fail("label bound twice", Op::kNop);
  state = {size(), static_cast<std::uint32_t>(fixups_.size())};
  reachable_ = true;
}

void FunctionBuilder::add_fixup(Op op, std::uint16_t a, std::uint16_t b, Label label) {
  if (label.id >= labels_.size()) return fail("branch to an unknown label", op);
  const OpInfo& row = info(op);
  const bool backward = labels_[label.id].position != kNoIndex;
  const bool back_edge = (row.flags & kBackEdge) != 0;
  if (back_edge && !backward) return fail("a back-edge to a label that is not bound yet", op);
  count_registers(row, encode(op, a, b), 0);
  // Conditions may only lead forward: towards a bound label they take the long form, whose far part
  // is a Loop.
  fixups_.push_back({size(), label.id, backward && !back_edge});
  code_.push_back(encode(op, a, b));
  if ((row.flags & kEndsBlock) != 0) reachable_ = false;
}

void FunctionBuilder::jump(Label label) {
  const bool backward = label.id < labels_.size() && labels_[label.id].position != kNoIndex;
  add_fixup(backward ? Op::kLoop : Op::kJump, 0, 0, label);
}

void FunctionBuilder::branch(Op op, std::uint16_t a, Label label) {
  const OpInfo& row = info(op);
  if (!has_offset32(row) || row.family == Family::kJump) return fail("is not a branch with one operand", op);
  add_fixup(op, a, 0, label);
}

void FunctionBuilder::branch(Op op, std::uint16_t a, std::uint16_t b, Label label) {
  if (info(op).c != Operand::kOff) return fail("is not a branch with two operands", op);
  add_fixup(op, a, b, label);
}

void FunctionBuilder::mark_line(std::uint32_t file, std::uint32_t line, std::uint32_t column) {
  if (!lines_.empty()) {
    Line& last = lines_.back();
    if (last.file == file && last.line == line && last.column == column) return;
    if (last.pc == size()) {  // the previous position has no instructions
      last = {size(), file, line, column};
      return;
    }
  }
  lines_.push_back({size(), file, line, column});
}

std::uint16_t FunctionBuilder::add_local(Kind kind, std::uint32_t count) {
  locals_.push_back({kind, count});
  if (locals_.size() > kMostRegisters) fail("too many local arrays", Op::kNop);
  return static_cast<std::uint16_t>(locals_.size() - 1);
}

// extra_before[i]: the number of words that the long forms of the first i branches add. Lengthening one branch may push
// another out of reach, so this repeats until nothing changes; branches never shrink, so it ends.
void FunctionBuilder::find_far_branches(std::vector<std::uint32_t>& extra_before) {
  for (bool changed = true; changed;) {
    changed = false;
    extra_before.assign(fixups_.size() + 1, 0);
    for (std::size_t i = 0; i < fixups_.size(); ++i) {
      const Op op = static_cast<Op>(op_of(code_[fixups_[i].at]));
      extra_before[i + 1] = extra_before[i] + (fixups_[i].far ? long_form_extra(op) : 0);
    }
    for (std::size_t i = 0; i < fixups_.size(); ++i) {
      Fixup& fixup = fixups_[i];
      if (fixup.far || has_offset32(info(static_cast<Op>(op_of(code_[fixup.at]))))) continue;
      const LabelState& label = labels_[fixup.label];
      const auto target = std::int64_t{label.position} + extra_before[label.fixups_before];
      const auto distance = target - (std::int64_t{fixup.at} + extra_before[i]);
      if (distance != static_cast<std::int16_t>(distance)) changed = fixup.far = true;
    }
  }
}

void FunctionBuilder::write_code(const std::vector<std::uint32_t>& extra_before,
                                 std::vector<Word>& out) const {
  const std::size_t base = out.size();
  std::uint32_t copied = 0;
  for (std::size_t i = 0; i < fixups_.size(); ++i) {
    const Fixup& fixup = fixups_[i];
    out.insert(out.end(), code_.begin() + copied, code_.begin() + fixup.at);
    copied = fixup.at + 1;
    const LabelState& label = labels_[fixup.label];
    const auto target = std::int64_t{label.position} + extra_before[label.fixups_before];
    const auto distance_from_here = [&] {
      return static_cast<std::uint32_t>(target - static_cast<std::int64_t>(out.size() - base));
    };
    const Word word = code_[fixup.at];
    const Op op = static_cast<Op>(op_of(word));
    const std::uint16_t a = a_of(word);
    const std::uint16_t b = b_of(word);
    const bool backward = label.position <= fixup.at;
    const Op far_op = backward ? Op::kLoop : Op::kJump;
    if (!fixup.far) {
      out.push_back(has_offset32(info(op))
                        ? encode32(op, a, distance_from_here())
                        : encode(op, a, b, static_cast<std::uint16_t>(distance_from_here())));
      continue;
    }
    if (is_for(op)) {
      const bool wide = info(op).kind == Kind::kI64;
      out.push_back(encode(wide ? Op::kAddImmI64 : Op::kAddImmI32, a, a, 1));
      out.push_back(encode(wide ? Op::kJLeI64 : Op::kJLeI32, b, a, 2));
    } else {
      bool swap = false;
      const Op skip = inverse(op, swap);
      out.push_back(has_offset32(info(op)) ? encode32(skip, a, 2)
                                           : encode(skip, swap ? b : a, swap ? a : b, 2));
    }
    out.push_back(encode32(far_op, 0, distance_from_here()));
  }
  out.insert(out.end(), code_.begin() + copied, code_.end());
}

Status FunctionBuilder::finish() {
  for (const Fixup& fixup : fixups_) {
    if (labels_[fixup.label].position == kNoIndex)
      fail("a branch leads to a label that was never bound", Op::kNop);
  }
  if (primitives_ > kMostRegisters || references_ > kMostRegisters) fail("too many registers", Op::kNop);
  Module& m = module_.module_;
  Function& function = m.functions[function_];
  if (function.code_size != 0) fail("the function already has a body", Op::kNop);
  constexpr std::size_t kMostCode = std::numeric_limits<std::int32_t>::max();
  if (code_.size() + 2 * fixups_.size() > kMostCode - std::min(m.code.size(), kMostCode))
    fail("too much code", Op::kNop);
  if (!mistake_.empty())
    return error(ErrorCode::kInternal, "building function {}: {}", m.name_of(function), mistake_);

  std::vector<std::uint32_t> extra_before;
  find_far_branches(extra_before);
  function.code_offset = static_cast<std::uint32_t>(m.code.size());
  write_code(extra_before, m.code);
  function.code_size = static_cast<std::uint32_t>(m.code.size() - function.code_offset);
  function.primitive_registers = static_cast<std::uint16_t>(primitives_);
  function.reference_registers = static_cast<std::uint16_t>(references_);
  function.locals = std::move(locals_);

  std::size_t branch = 0;
  for (Line& line : lines_) {
    while (branch < fixups_.size() && fixups_[branch].at < line.pc) ++branch;
    line.pc += extra_before[branch];
  }
  // A position marked after the last instruction is dropped.
  if (!lines_.empty() && lines_.back().pc >= function.code_size) lines_.pop_back();
  function.lines = std::move(lines_);
  return {};
}

}  // namespace dhpvm::bytecode
