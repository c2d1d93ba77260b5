// SPDX-License-Identifier: Apache-2.0
#include "bytecode/assembler_internal.h"
#include "bytecode/isa_text.h"
#include "bytecode/names.h"
#include "dhpvm/result.h"

namespace dhpvm::bytecode::assembly {
namespace {

bool is_wide(const DecodeRow& row) {
  return row.b == Operand::kImm32 || row.b == Operand::kOff32 || row.b == Operand::kString;
}

}  // namespace

std::uint32_t Body::size() const {
  return static_cast<std::uint32_t>(scope_.module.code.size() - function_.code_offset);
}

void Body::emit(Word word) { scope_.module.code.push_back(word); }

void Body::line(Cursor& in) {
  const Token* first = in.take("an instruction");
  if (first == nullptr) return;
  if (first->kind != Token::Kind::kWord) return in.fail("'{}' is not an instruction", first->text);
  if (in.accept_mark(":")) {
    if (!labels_.emplace(first->text, size()).second) in.fail("label {} is defined twice", first->text);
    return in.expect_end();
  }
  if (first->text == "line") {
    Line entry;
    entry.pc = size();
    entry.file = scope_.string(in, true);
    entry.line = static_cast<std::uint32_t>(in.integer("a line", 0, kNoIndex));
    in.expect_mark(":");
    entry.column = static_cast<std::uint32_t>(in.integer("a column", 0, kNoIndex));
    in.expect_end();
    function_.lines.push_back(entry);
  } else if (first->text == "word") {
    emit(in.bits64());
    in.expect_end();
  } else {
    instruction(in, first->text);
  }
}

void Body::instruction(Cursor& in, std::string_view mnemonic) {
  const Op op = find_mnemonic(mnemonic);
  if (static_cast<std::uint16_t>(op) == kOpCount) return in.fail("unknown instruction '{}'", mnemonic);
  const DecodeRow& row = kDecode[static_cast<std::uint16_t>(op)];
  bool first = true;
  const auto next = [&] {
    if (!first) in.expect_mark(",");
    first = false;
  };
  std::uint32_t values[3] = {};
  const Operand kinds[3] = {row.a, row.b, is_wide(row) ? Operand::kNone : row.c};
  Word x = 0;
  for (int i = 0; i < 3; ++i) {
    if (kinds[i] == Operand::kNone) continue;
    next();
    if (kinds[i] == Operand::kMethod) {  // Interface::method names both words' operands
      const std::uint32_t interface = scope_.types.find(in);
      in.expect_mark("::");
      values[i] = method(in, interface);
      x = interface;
    } else {
      values[i] = operand(in, kinds[i]);
    }
  }
  if (row.x != Operand::kNone && row.c != Operand::kMethod) {
    next();
    x = second_word(in, row.x);
    if (row.family == Family::kAtomic && in.accept_mark(",")) x |= atomic_place(updated_field(in));
  }
  in.expect_end();
  if (!in.ok()) return;
  const auto a = static_cast<std::uint16_t>(values[0]);
  emit(is_wide(row)
           ? encode32(op, a, values[1])
           : encode(op, a, static_cast<std::uint16_t>(values[1]), static_cast<std::uint16_t>(values[2])));
  if (row.x != Operand::kNone) emit(x);
}

std::uint32_t Body::index_of_register(Cursor& in, char bank) {
  const Token* token = in.take("an operand");
  if (token == nullptr) return 0;
  std::uint32_t value = 0;
  bool ok = token->kind == Token::Kind::kWord && token->text.size() > 1 && token->text.size() < 7 &&
            token->text[0] == bank;
  for (std::size_t i = 1; ok && i < token->text.size(); ++i) {
    const char c = token->text[i];
    ok = c >= '0' && c <= '9';
    value = value * 10 + static_cast<std::uint32_t>(c - '0');
  }
  if (!ok || value > 0xffff)
    return in.fail("'{}' where {}0 to {}65535 should stand", token->text, bank, bank), 0;
  return value;
}

std::uint32_t Body::offset(Cursor& in, bool wide) {
  if (const Token* next = in.peek(); next != nullptr && next->kind == Token::Kind::kWord) {
    fixups_.push_back({size(), in.line(), std::string(in.take("")->text)});
    return 0;
  }
  return static_cast<std::uint32_t>(wide ? in.integer("a label or offset", INT32_MIN, INT32_MAX)
                                         : in.integer("a label or offset", INT16_MIN, INT16_MAX));
}

std::uint32_t Body::trap_code(Cursor& in) {
#define X(name, text, family, meaning) \
  if (in.accept_word(#name)) return static_cast<std::uint32_t>(ErrorCode::name);
  DHPVM_ERROR_CODES(X)
#undef X
  return static_cast<std::uint32_t>(in.integer("the name of a trap", 0, 0xffff));
}

// A 16-bit operand, or both halves of a 32-bit one.
std::uint32_t Body::operand(Cursor& in, Operand kind) {
  const auto index = [&](std::uint32_t value) {
    if (value > 0xffff) in.fail("#{} does not fit in 16 bits", value);
    return value;
  };
  switch (kind) {
    case Operand::kPd:
    case Operand::kPs:
    case Operand::kPm:
    case Operand::kPWin: return index_of_register(in, 'p');
    case Operand::kRd:
    case Operand::kRs:
    case Operand::kRWin: return index_of_register(in, 'r');
    case Operand::kLocal: return index_of_register(in, 'l');
    case Operand::kImm: return static_cast<std::uint32_t>(in.integer("a number", INT16_MIN, INT16_MAX));
    case Operand::kImm32: return static_cast<std::uint32_t>(in.integer("a number", INT32_MIN, INT32_MAX));
    case Operand::kField: return static_cast<std::uint32_t>(in.integer("an offset", 0, 0xffff));
    case Operand::kOff: return offset(in, false);
    case Operand::kOff32: return offset(in, true);
    case Operand::kString: return scope_.string(in, false);
    case Operand::kFunc: return index(scope_.functions.find(in));
    case Operand::kImport: return index(scope_.imports.find(in));
    case Operand::kKernel: return index(Names("a kernel's #index").find(in));
    case Operand::kTrapCode: return trap_code(in);
    default: return 0;
  }
}

std::uint32_t Body::method(Cursor& in, std::uint32_t interface) {
  Names names("a method");
  if (interface < scope_.module.types.size()) {
    const std::vector<Method>& methods = scope_.module.types[interface].methods;
    for (std::uint32_t i = 0; i < methods.size(); ++i) names.add(methods[i].name, i);
  }
  const std::uint32_t index = names.find(in);
  if (index > 0xffff) in.fail("#{} does not fit in 16 bits", index);
  return index;
}

Word Body::second_word(Cursor& in, Operand kind) {
  switch (kind) {
    case Operand::kType: return scope_.types.find(in);
    case Operand::kImm64: return in.bits64();
    case Operand::kP: return index_of_register(in, 'p');
    case Operand::kPP: {
      const Word x0 = index_of_register(in, 'p');
      in.expect_mark(",");
      return x0 | Word{index_of_register(in, 'p')} << 16;
    }
    default: {
      const auto offset = static_cast<Word>(in.integer("an offset", 0, kNoIndex));
      in.expect_mark(":");
      return offset | static_cast<Word>(in.integer("a size", 0, kNoIndex)) << 32;
    }
  }
}

// The place of the field that an atomic update changes, as Element operands are written.
FieldPlace Body::updated_field(Cursor& in) {
  FieldPlace place;
  place.offset = static_cast<std::uint32_t>(in.integer("an offset", 0, kMaxAtomicStruct));
  in.expect_mark(":");
  place.size = static_cast<std::uint32_t>(in.integer("a size", 0, kMaxAtomicStruct));
  if ((place.offset | place.size) % kAtomicUnit != 0)
    in.fail("{}:{} are not multiples of {}", place.offset, place.size, kAtomicUnit);
  return place;
}

void Body::finish() {
  function_.code_size = size();
  Word* code = scope_.module.code.data() + function_.code_offset;
  for (const Fixup& fixup : fixups_) {
    const auto label = labels_.find(fixup.label);
    if (label == labels_.end()) {
      mistakes_.add(fixup.line, fmt::format("label {} is not defined", fixup.label));
      continue;
    }
    // A line with a mistake further on left its fixup behind, but no instruction.
    if (fixup.pc >= function_.code_size) continue;
    const std::int64_t distance = std::int64_t{label->second} - fixup.pc;
    Word& word = code[fixup.pc];
    if (op_of(word) >= kOpCount) continue;
    const DecodeRow& row = kDecode[op_of(word)];
    if (row.b == Operand::kOff32) {
      word = encode32(static_cast<Op>(op_of(word)), a_of(word), static_cast<std::uint32_t>(distance));
    } else if (row.c == Operand::kOff) {
      if (distance != static_cast<std::int16_t>(distance))
        mistakes_.add(fixup.line, fmt::format("label {} is too far for this instruction", fixup.label));
      word =
          encode(static_cast<Op>(op_of(word)), a_of(word), b_of(word), static_cast<std::uint16_t>(distance));
    }
  }
}

}  // namespace dhpvm::bytecode::assembly
