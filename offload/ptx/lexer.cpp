// SPDX-License-Identifier: Apache-2.0
#include "offload/ptx/lexer.h"

#include "base/error.h"

namespace dhpvm::ptx {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '%';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    while (true) {
      DHPVM_TRY(skip_blanks());
      if (at_ == text_.size()) break;
      DHPVM_TRY(scan());
    }
    add(TokenKind::kEnd, at_);
    return std::move(tokens_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  Place place_of(std::size_t at) const { return {line_, static_cast<std::uint32_t>(at - line_begin_ + 1)}; }
  void add(TokenKind kind, std::size_t begin) {
    tokens_.push_back({kind, text_.substr(begin, at_ - begin), place_of(begin)});
  }
  void next_line() {
    ++line_;
    line_begin_ = at_ + 1;
  }

  Status skip_blanks() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') next_line();
      if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        ++at_;
      } else if (c == '/' && peek(1) == '/') {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else if (c == '/' && peek(1) == '*') {
        DHPVM_TRY(skip_comment());
      } else {
        break;
      }
    }
    return {};
  }

  Status skip_comment() {
    const Place begin = place_of(at_);
    for (at_ += 2; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\n') next_line();
      if (text_[at_] == '*' && peek(1) == '/') {
        at_ += 2;
        return {};
      }
    }
    return Error(ErrorCode::kCompile, placed(begin, "this comment has no end"));
  }

  void scan_word() {
    while (is_letter(peek()) || is_digit(peek()) || (peek() == ':' && peek(1) == ':')) {
      at_ += peek() == ':' ? 2 : 1;
    }
  }

  Status scan() {
    const std::size_t begin = at_;
    const char c = text_[at_];
    if (is_letter(c)) {
      while (is_letter(peek()) || is_digit(peek())) ++at_;
      add(TokenKind::kName, begin);
    } else if (c == '.' && is_letter(peek(1))) {
      ++at_;
      scan_word();
      add(TokenKind::kDirective, begin);
    } else if (is_digit(c)) {
      scan_number();
      add(TokenKind::kNumber, begin);
    } else if (c == '"') {
      const std::size_t end = text_.find_first_of("\"\n", at_ + 1);
      if (end == std::string_view::npos || text_[end] == '\n')
        return Error(ErrorCode::kCompile, placed(place_of(begin), "this string has no end"));
      at_ = end + 1;
      add(TokenKind::kString, begin);
    } else if (std::string_view(",;:()[]{}<>+-*|!=@~").find(c) != std::string_view::npos) {
      ++at_;
      add(TokenKind::kMark, begin);
    } else {
      const std::string shown = c > ' ' && c < 0x7f
                                    ? fmt::format("'{}'", c)
                                    : fmt::format("byte {:#04x}", static_cast<unsigned char>(c));
      return Error(ErrorCode::kCompile, placed(place_of(begin), shown + " has no meaning in PTX"));
    }
    return {};
  }

  // Digits with what belongs to them: 0x1F, 0d3FF0000000000000, 1.5e-3, 12U.
  void scan_number() {
    bool is_decimal = true;
    if (peek() == '0' && is_letter(peek(1))) is_decimal = false;
    while (is_letter(peek()) || is_digit(peek()) || (is_decimal && peek() == '.' && is_digit(peek(1)))) {
      const bool exponent = is_decimal && (peek() == 'e' || peek() == 'E');
      ++at_;
      if (exponent && (peek() == '-' || peek() == '+')) ++at_;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_begin_ = 0;
  std::uint32_t line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

std::string placed(Place at, std::string_view message) {
  return fmt::format("{}:{}: {}", at.line, at.column, message);
}

Result<std::vector<Token>> tokens_of(std::string_view text) { return Lexer(text).run(); }

}  // namespace dhpvm::ptx
