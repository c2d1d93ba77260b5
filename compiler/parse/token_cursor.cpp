// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/token_cursor.h"

namespace dhpvm::compiler {

bool TokenCursor::after_broken_string() const {
  if (!token().first_on_line || position_ == 0) return false;
  const Token& last = token_at(position_ - 1);
  if (last.kind == TokenKind::kFormatEnd) return last.begin == last.end;
  return last.kind == TokenKind::kString &&
         (last.end - last.begin == 1 || source_[last.end - 1] != source_[last.begin]);
}

std::string_view TokenCursor::rest_of_line(std::uint32_t offset) const {
  std::string_view rest = source_.substr(offset);
  rest = rest.substr(0, rest.find_first_of("\r\n"));
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
  return rest.substr(0, rest.find_last_not_of(" \t") + 1);
}

std::uint32_t TokenCursor::indentation(std::uint32_t offset) const {
  const std::size_t end_before = offset == 0 ? source_.npos : source_.rfind('\n', offset - 1);
  const std::size_t start = end_before == source_.npos ? 0 : end_before + 1;
  const std::size_t first = std::min(source_.find_first_not_of(" \t", start), source_.size());
  return static_cast<std::uint32_t>(first - start);
}

void TokenCursor::advance() {
  previous_begin_ = token().begin;
  previous_end_ = token().end;
  is_split_ = false;
  if (position_ + 1 < stream_.tokens.size()) ++position_;
}

bool TokenCursor::accept_greater() {
  TokenKind rest = TokenKind::kEnd;
  switch (kind()) {
    case TokenKind::kGreater: advance(); return true;
    case TokenKind::kShiftRight: rest = TokenKind::kGreater; break;
    case TokenKind::kGreaterEqual: rest = TokenKind::kEqual; break;
    case TokenKind::kShiftRightEqual: rest = TokenKind::kGreaterEqual; break;
    default: return false;
  }
  Token second = token();
  previous_begin_ = second.begin;
  previous_end_ = ++second.begin;
  second.kind = rest;
  second.first_on_line = false;
  split_ = second;
  is_split_ = true;
  return true;
}

void TokenCursor::jump_to(std::uint32_t position) {
  is_split_ = false;
  position_ = position;
}

}  // namespace dhpvm::compiler
