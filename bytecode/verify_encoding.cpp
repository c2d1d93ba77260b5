// SPDX-License-Identifier: Apache-2.0
// The first pass over a function: every word, in order, whether it is reachable or not.
#include <algorithm>

#include "bytecode/verify_function.h"
#include "dhpvm/result.h"

namespace dhpvm::bytecode::verification {
namespace {

std::uint32_t limit(std::size_t count) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(count, 0x10000));
}

bool is_known_trap(std::uint16_t code) {
  return code <= static_cast<std::uint16_t>(kLastErrorCode) &&
         family_of(static_cast<ErrorCode>(code)) == ErrorFamily::kTrap;
}

}  // namespace

FunctionVerifier::FunctionVerifier(const Facts& facts, Budget& budget)
    : facts_(facts), module_(facts.module), budget_(budget) {
  // 16-bit operands that the table alone does not bound: immediates, halves of 32-bit operands, and operands whose
  // meaning depends on a type.
  std::fill(std::begin(limits_), std::end(limits_), 0x10000u);
  const auto set = [&](Operand kind, std::size_t count) {
    limits_[static_cast<std::size_t>(kind)] = limit(count);
  };
  set(Operand::kNone, 1);
  set(Operand::kFunc, module_.functions.size());
  set(Operand::kImport, module_.imports.size());
  set(Operand::kKernel, module_.kernels.size());
}

// The banks hold at least the parameters and results.
bool FunctionVerifier::frame() {
  const std::size_t primitives = std::max(shape_->in.primitives, shape_->out.primitives);
  const std::size_t references = std::max(shape_->in.references.size(), shape_->out.references.size());
  if (function_->primitive_registers < primitives || function_->reference_registers < references)
    return fail("{} primitive and {} reference registers cannot hold the parameters and results",
                function_->primitive_registers, function_->reference_registers);
  const auto set = [&](Operand kind, std::size_t count) {
    limits_[static_cast<std::size_t>(kind)] = limit(count);
  };
  for (const Operand kind : {Operand::kPd, Operand::kPs, Operand::kPm})
    set(kind, function_->primitive_registers);
  for (const Operand kind : {Operand::kRd, Operand::kRs}) set(kind, function_->reference_registers);
  // A window may be empty, and then lie behind the last register.
  set(Operand::kPWin, std::size_t{function_->primitive_registers} + 1);
  set(Operand::kRWin, std::size_t{function_->reference_registers} + 1);
  set(Operand::kLocal, function_->locals.size());
  return true;
}

bool FunctionVerifier::encoding() {
  starts_.assign(size_ / 64 + 1, 0);
  targets_.assign(size_ / 64 + 1, 0);
  reaches_.clear();
  std::uint8_t flags = 0;
  for (std::uint32_t pc = 0; pc < size_;) {
    pc_ = pc;
    const Word word = code_[pc];
    if (op_of(word) >= kOpCount) return fail("unknown opcode {}", op_of(word));
    const DecodeRow& row = kDecode[op_of(word)];
    if (row.words > size_ - pc) return fail("the second word is cut off");
    const Word x = row.words == 2 ? code_[pc + 1] : 0;
    set_bit(starts_, pc);
    if (!operands(row, word)) return false;
    if (row.x != Operand::kNone && !second_word(row, word, x)) return false;
    if (!row.is_plain && !references(row, word, x)) return false;
    if ((row.b == Operand::kOff32 || row.c == Operand::kOff) && !branch(row, word)) return false;
    flags = row.flags;
    pc += row.words;
  }
  if ((flags & kEndsBlock) == 0) return fail("control falls off the end of the function");
  return handlers_are_caught() && targets_are_instructions() && lines();
}

// Only a trap enters a handler: each protect leads to its own `caught`, which is no branch's target and which the code
// before does not fall into. There is no other `caught`. Protects nest.
bool FunctionVerifier::handlers_are_caught() {
  std::size_t handlers = 0;
  bool falls_through = true;
  for (std::uint32_t pc = 0; pc < size_;) {
    pc_ = pc;
    const DecodeRow& row = kDecode[op_of(code_[pc])];
    if (row.family == Family::kCaught) {
      ++handlers;
      if (falls_through || bit(targets_, pc)) return fail("control reaches this without a trap");
    }
    falls_through = (row.flags & kEndsBlock) == 0;
    pc += row.words;
  }
  std::vector<std::uint32_t> ends;  // of the reaches around
  for (const Reach& reach : reaches_) {
    pc_ = reach.begin - 1;
    while (!ends.empty() && ends.back() <= pc_) ends.pop_back();
    if (!ends.empty() && ends.back() <= reach.end)
      return fail("it ends inside of a protect that it is not inside of");
    ends.push_back(reach.end);
    const bool leads_to_caught =
        bit(starts_, reach.end) && kDecode[op_of(code_[reach.end])].family == Family::kCaught;
    if (!leads_to_caught || bit(targets_, reach.end)) return fail("it does not lead to a caught of its own");
    set_bit(targets_, reach.end);
  }
  return handlers == reaches_.size() || fail("a caught that no protect leads to");
}

bool FunctionVerifier::operands(const DecodeRow& row, Word word) {
  const bool ok = a_of(word) < limits_[static_cast<std::size_t>(row.a)] &&
                  b_of(word) < limits_[static_cast<std::size_t>(row.b)] &&
                  c_of(word) < limits_[static_cast<std::size_t>(row.c)];
  if (ok) [[likely]]
    return true;
  return operand('a', row.a, a_of(word)) && operand('b', row.b, b_of(word)) &&
         operand('c', row.c, c_of(word));
}

bool FunctionVerifier::operand(char position, Operand kind, std::uint16_t value) {
  const std::uint32_t below = limits_[static_cast<std::size_t>(kind)];
  if (value < below) return true;
  switch (kind) {
    case Operand::kNone: return fail("operand {} is {}, and must be 0", position, value);
    case Operand::kFunc: return fail("function {} does not exist", value);
    case Operand::kImport: return fail("import {} does not exist", value);
    case Operand::kKernel: return fail("kernel {} does not exist", value);
    case Operand::kLocal: return fail("local array {} does not exist", value);
    case Operand::kRd:
    case Operand::kRs: return fail("R{} is outside the bank of {}", value, below);
    case Operand::kRWin: return fail("window R{} is outside the bank of {}", value, below - 1);
    case Operand::kPWin: return fail("window P{} is outside the bank of {}", value, below - 1);
    default: return fail("P{} is outside the bank of {}", value, below);
  }
}

bool FunctionVerifier::second_word(const DecodeRow& row, Word word, Word x) {
  // The field of an atomic update depends on the array; its registers do not.
  if (row.family == Family::kAtomic) x &= 0xffffffff;
  switch (row.x) {
    case Operand::kP:
      if (x >= function_->primitive_registers)
        return fail("second word {:#x} is not a register of the bank", x);
      return true;
    case Operand::kPP:
      if (x >> 32 != 0 || x0_of(x) >= function_->primitive_registers ||
          x1_of(x) >= function_->primitive_registers)
        return fail("second word {:#x} does not name two registers of the bank", x);
      return true;
    case Operand::kType: break;
    default: return true;  // Imm64: any; Element: depends on the array
  }
  if (x >= module_.types.size()) return fail("type {} does not exist", x);
  const Type& type = module_.types[x];
  const auto expect = [&](bool ok, std::string_view what) {
    return ok || fail("type {} ({}) is not {}", x, printable(type.name), what);
  };
  switch (row.family) {
    case Family::kNew: return expect(type.kind == TypeKind::kClass, "a class");
    case Family::kNewArray:
      if (!expect(type.kind == TypeKind::kArray, "an array")) return false;
      if (type.rank > function_->primitive_registers - b_of(word)) return fail("the sizes leave the bank");
      return true;
    case Family::kUpcast: return expect(type.kind == TypeKind::kInterface, "an interface");
    case Family::kCast:
    case Family::kIsType:
      return expect(type.kind == TypeKind::kClass || type.kind == TypeKind::kInterface,
                    "a class or interface");
    case Family::kNewWeak: return expect(type.kind == TypeKind::kWeak, "a weak reference");
    default: return expect(type.kind == TypeKind::kInterface, "an interface");  // CallInterface
  }
}

// Operands that name something outside the registers, and windows.
bool FunctionVerifier::references(const DecodeRow& row, Word word, Word x) {
  const std::uint16_t c = c_of(word);
  switch (row.family) {
    case Family::kTrap:
      if (row.b == Operand::kString) return string(word);
      return is_known_trap(a_of(word)) || fail("{} is not the code of a trap", a_of(word));
    case Family::kConstString: return string(word);
    case Family::kCall: return window(row, word, facts_.functions[c]);
    case Family::kCallNative: return window(row, word, facts_.imports[c]);
    case Family::kCallInterface:
      if (c >= facts_.methods[x].size())
        return fail("method {} of {} does not exist", c, printable(module_.types[x].name));
      return window(row, word, facts_.methods[x][c]);
    case Family::kParallelFor: {
      const KernelRecord& kernel = module_.kernels[c];
      return window(row, word, facts_.functions[kernel.function], kernel.dimensions);
    }
    case Family::kLocalLoad:
    case Family::kLocalStore: {
      const std::uint16_t index = row.a == Operand::kLocal ? a_of(word) : b_of(word);
      const Kind kind = function_->locals[index].kind;
      return (row.kinds >> static_cast<unsigned>(kind) & 1) != 0 ||
             fail("local array {} holds other elements", index);
    }
    case Family::kArrayCopy:
      return 3 <= function_->primitive_registers - c || fail("the three primitive operands leave the bank");
    case Family::kStringConcat: {
      const auto count = static_cast<std::int16_t>(c);
      return (count >= 1 && count <= function_->reference_registers - b_of(word)) ||
             fail("{} strings from R{} on are not a range of the bank", count, b_of(word));
    }
    default: return true;
  }
}

bool FunctionVerifier::string(Word word) {
  const auto index = static_cast<std::uint32_t>(bc_of(word));
  return index < module_.strings.size() || fail("string {} does not exist", index);
}

bool FunctionVerifier::window(const DecodeRow& row, Word word, const Shape& shape,
                              std::uint32_t extra_primitives) {
  const std::size_t primitives = std::max(shape.in.primitives + extra_primitives, shape.out.primitives);
  const std::size_t references = std::max(shape.in.references.size(), shape.out.references.size());
  if (primitives > std::size_t{function_->primitive_registers} - a_of(word))
    return fail("{} arguments or results in a window from P{} on leave the bank", primitives, a_of(word));
  if (row.b == Operand::kRWin && references > std::size_t{function_->reference_registers} - b_of(word))
    return fail("{} arguments or results in a window from R{} on leave the bank", references, b_of(word));
  return true;
}

bool FunctionVerifier::branch(const DecodeRow& row, Word word) {
  const std::int64_t offset = row.b == Operand::kOff32 ? bc_of(word) : static_cast<std::int16_t>(c_of(word));
  const bool back_edge = (row.flags & kBackEdge) != 0;
  if (back_edge != (offset <= 0))
    return fail("a {} may not lead {}", back_edge ? "back-edge" : "branch",
                back_edge ? "forward" : "backward");
  const std::int64_t target = pc_ + offset;
  if (target < 0 || target >= size_) return fail("the branch leads to word {}, outside the function", target);
  if (row.family == Family::kProtect) {
    reaches_.push_back({pc_ + 1, static_cast<std::uint32_t>(target)});
    return true;  // see handlers_are_caught()
  }
  set_bit(targets_, static_cast<std::uint32_t>(target));
  return true;
}

bool FunctionVerifier::targets_are_instructions() {
  for (std::size_t i = 0; i < targets_.size(); ++i) {
    const std::uint64_t wrong = targets_[i] & ~starts_[i];
    if (wrong == 0) continue;
    pc_ = static_cast<std::uint32_t>(i * 64) + static_cast<std::uint32_t>(__builtin_ctzll(wrong));
    return fail("a branch leads into the middle of an instruction");
  }
  return true;
}

bool FunctionVerifier::lines() {
  for (std::size_t i = 0; i < function_->lines.size(); ++i) {
    const Line& line = function_->lines[i];
    if (line.pc >= size_ || (i != 0 && line.pc <= function_->lines[i - 1].pc) || !bit(starts_, line.pc))
      return fail("line entry {} is out of order or not at an instruction", i);
    if (line.file != kNoIndex && line.file >= module_.strings.size())
      return fail("line entry {}: file {} does not exist", i, line.file);
  }
  return true;
}

}  // namespace dhpvm::bytecode::verification
