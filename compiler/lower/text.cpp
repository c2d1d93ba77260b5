// SPDX-License-Identifier: Apache-2.0
#include "compiler/lower/text.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "compiler/lower/function_parts.h"

namespace dhpvm::compiler {

using hir::ExprKind;

namespace {

// The native function that inserts the text of a number between two others.
std::string between_of(const hir::Expr& number_text) {
  return "str.with" + number_text.native->name.substr(std::string_view("str.from").size());
}

// Each number is a call, which copies all text before it.
constexpr std::ptrdiff_t kMostNumbers = 4;

bool is_literal(const hir::Expr* e) { return e->kind == ExprKind::kString; }

}  // namespace

void TextLowering::join(Operands operands, Register to, bool fresh) {
  std::vector<hir::Expr*> parts;
  add_parts(operands, parts);
  if (has_numbers_between_texts(parts)) return join_numbers(parts, to, fresh);
  join_texts(parts, to, fresh);
}

void TextLowering::add_parts(Operands operands, std::vector<hir::Expr*>& parts) const {
  for (hir::Expr* const e : operands) {
    const auto named = state_.facts.named_texts.find(e->local);
    if (e->kind == ExprKind::kLocal && named != state_.facts.named_texts.end()) {
      add_parts(named->second->operands, parts);
    } else {
      parts.push_back(e);
    }
  }
}

// Whether each text but the last precedes a number. Each further number copies the text before it again, so that must
// be short: literals and numbers. Only the first and the last may be other texts, and the first only before one number.
bool TextLowering::has_numbers_between_texts(Operands operands) {
  const auto is_number = [](const Expr* e) { return is_number_text(*e); };
  const auto numbers = std::ranges::count_if(operands, is_number);
  if (numbers == 0 || numbers > kMostNumbers || operands.size() == 1) return false;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const bool is_last = i + 1 == operands.size();
    if (is_number(operands[i])) continue;
    if (!is_last && !is_number(operands[i + 1])) return false;
    const bool may_be_long = is_last || (i == 0 && numbers == 1);
    if (!may_be_long && !is_literal(operands[i])) return false;
  }
  return true;
}

// Each call has its window: the text before the number, which becomes the result, the number, and the text after it.
void TextLowering::join_numbers(Operands operands, Register to, bool fresh) {
  const bool on_top = fresh && to + 1 == registers_.next_reference();
  const Register before = on_top ? to : registers_.reference();
  const Register after = registers_.reference();
  const Register number = registers_.primitive();
  const auto text_at = [&](std::size_t i, Register reg) {
    const bool is_text = i < operands.size() && !is_number_text(*operands[i]);
    if (is_text) {
      into(*operands[i], reg);
    } else {
      code_.load_string(reg, module_.builder().string(""));
    }
    return is_text;
  };
  std::size_t next = text_at(0, before) ? 1 : 0;
  while (next < operands.size()) {
    const Expr& of_number = *operands[next++];
    into(*of_number.operands[0], number);
    next += text_at(next, after) ? 1 : 0;
    const Type* const str = of_number.type;
    const hir::Native with{between_of(of_number), {str, of_number.operands[0]->type, str}, str};
    code_.emit(Op::kCallNative, number, before, module_.native(with));
  }
  if (!on_top) code_.move_reference(to, before);
}

void TextLowering::join_texts(Operands operands, Register to, bool fresh) {
  // The parts are in consecutive registers. If `to` is at the top, it can be the first of them.
  const bool on_top = fresh && to + 1 == registers_.next_reference();
  const Register first = on_top ? to : registers_.next_reference();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Register part = i == 0 && on_top ? to : registers_.reference();
    into(*operands[i], part);
  }
  code_.emit(Op::kStringConcat, to, first, static_cast<std::uint32_t>(operands.size()));
}

}  // namespace dhpvm::compiler
