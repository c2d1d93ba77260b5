// SPDX-License-Identifier: Apache-2.0
// The lexer's state, shared by lexer.cpp (words, punctuation, comments) and lexer_literals.cpp (numbers,
// strings). Include only there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/parse/token.h"
#include "compiler/text/diagnostics.h"
#include "compiler/text/source.h"

namespace dhpvm::compiler {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
constexpr bool is_word(char c) { return is_digit(c) || is_letter(c); }

class Lexer {
 public:
  Lexer(const SourceManager& sources, std::uint32_t file, Diagnostics& diagnostics)
      : file_(file), text_(sources.file(file).text()), diagnostics_(diagnostics) {}

  TokenStream run();

 private:
  static constexpr std::string_view kBlockQuotes = "\"\"\"";
  // An f-string whose `{` is open: what follows is an expression until its `}`.
  struct Hole {
    std::uint32_t brace = 0;  // of the {
    std::uint32_t depth = 0;  // brackets open inside the expression
    bool in_spec = false;     // a number of a format specification: {x:{width}}
  };

  // lexer.cpp
  void skip_blanks();
  void skip_block_comment();
  void next();
  void word();
  void punctuation();
  bool hole_punctuation();  // `}` and `:` that end the expression of an f-string
  void bad_character();
  bool foreign_text(std::uint32_t begin);
  void foreign_word(std::uint32_t begin);

  // lexer_literals.cpp
  void number();
  void radix_number(int radix, std::uint32_t begin);
  void integer_token(std::uint32_t begin, std::string_view digits, int radix, std::string_view suffix);
  void float_token(std::uint32_t begin, std::string_view digits, std::string_view suffix);
  std::string_view take_suffix(std::string_view digits);
  enum class Escapes : std::uint8_t { kResolved, kRaw };  // kRaw: r"..."
  void string(Escapes escapes);
  void block_string(Escapes escapes);
  bool hashed_string();
  void byte();
  void quoted_word(std::uint32_t begin, std::uint32_t end);
  void format_begin();
  void format_text();  // after f" or a hole: up to the next hole or the end
  void format_spec();  // after the colon of a hole
  void report_open_hole();
  void break_format();  // the line ended inside a hole
  void close_holes();   // adds the tokens that end every open hole and its string
  void escape(std::string& out);
  void unicode_escape(std::string& out, std::uint32_t begin);

  char at(std::uint32_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }
  char current() const { return at(pos_); }
  bool at_end() const { return pos_ >= text_.size(); }
  bool at_line_end() const { return at_end() || current() == '\n'; }
  std::string_view slice(std::uint32_t begin, std::uint32_t end) const {
    return text_.substr(begin, end - begin);
  }
  SourceRange range(std::uint32_t begin, std::uint32_t end) const { return {file_, begin, end}; }
  void push(TokenKind kind, std::uint32_t begin, std::uint32_t value = 0);
  void push_string(TokenKind kind, std::uint32_t begin, std::string value);

  std::uint32_t file_;
  std::string_view text_;
  Diagnostics& diagnostics_;
  std::uint32_t pos_ = 0;
  bool first_on_line_ = true;
  std::vector<Hole> holes_;
  TokenStream stream_;
};

}  // namespace dhpvm::compiler
