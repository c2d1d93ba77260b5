// SPDX-License-Identifier: Apache-2.0
#include "compiler/testing/token_mutation.h"

#include <cctype>
#include <utility>
#include <vector>

namespace dhpvm::compiler::testing {

namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// The end of the token that begins at `begin`. Blanks and comments count as tokens, so that nothing is lost.
std::size_t token_end(std::string_view source, std::size_t begin) {
  const auto run = [&](auto belongs) {
    std::size_t end = begin + 1;
    while (end < source.size() && belongs(source[end])) ++end;
    return end;
  };
  const char first = source[begin];
  if (std::isspace(static_cast<unsigned char>(first)) != 0)
    return run([](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; });
  if (source.substr(begin, 2) == "//") return run([](char c) { return c != '\n'; });
  if (is_word(first)) return run(is_word);
  if (first == '"') {
    std::size_t end = begin + 1;
    while (end < source.size() && source[end] != '"') end += source[end] == '\\' ? 2 : 1;
    return end + 1 < source.size() ? end + 1 : source.size();
  }
  for (const std::string_view known : {"..=", "<<=", ">>=", "..", "==", "!=", "<=", ">=", "&&", "||",
                                       "??",  "?.",  "=>",  "->", "<<", ">>", "+=", "-=", "*=", "/="})
    if (source.substr(begin, known.size()) == known) return begin + known.size();
  return begin + 1;
}

bool is_blank(std::string_view token) {
  return std::isspace(static_cast<unsigned char>(token[0])) != 0 || token.starts_with("//");
}

enum class TokenKind : std::uint8_t { kNumber, kText, kName, kTypeName, kOperator, kOther };

TokenKind kind_of(std::string_view token) {
  const auto first = static_cast<unsigned char>(token[0]);
  if (std::isdigit(first) != 0) return TokenKind::kNumber;
  if (first == '"') return TokenKind::kText;
  if (std::isupper(first) != 0) return TokenKind::kTypeName;
  if (is_word(token[0])) return TokenKind::kName;
  return std::string_view("+-*/%&|^<>=!").find(token[0]) != std::string_view::npos ? TokenKind::kOperator
                                                                                   : TokenKind::kOther;
}

// Keywords that change the meaning of a program, and operators.
constexpr const char* kWords[] = {
    "let",  "var",   "for",   "while", "parallel", "continue", "break", "return", "match", "enum", "null",
    "use",  "in",    "step",  "as",    "is",       "this",     "true",  "false",  "0",     "1",    "-1",
    "7u8",  "2.5",   "i64",   "i32",   "u8",       "f32",      "f64",   "bool",   "str",   "fn",   "if",
    "else", "..",    "..=",   "==",    "!=",       "<",        "&&",    "||",     "??",    "?.",   "!",
    "?",    "+",     "-",     "*",     "/",        "%",        "<<",    "+=",     "=",     "(",    ")",
    "[",    "]",     "{",     "}",     ",",        ";",        ":",     ".",      "=>",    "->",   "len",
    "math", "\"x\"", "1e300", "min",   "max",      "copy",     "close", "try",    "catch"};

}  // namespace

std::string mutate_tokens(std::string_view source, Decisions& decisions) {
  std::vector<std::string_view> tokens;
  for (std::size_t begin = 0; begin < source.size();) {
    const std::size_t end = token_end(source, begin);
    tokens.push_back(source.substr(begin, end - begin));
    begin = end;
  }
  std::vector<std::size_t> words;
  for (std::size_t n = 0; n < tokens.size(); ++n)
    if (!is_blank(tokens[n])) words.push_back(n);
  if (words.empty()) return std::string(source);
  // Two random bytes can select every token of a long program.
  const auto any = [&] { return words[(decisions.below(256) * 256 + decisions.below(256)) % words.size()]; };
  // A token of the same kind, so that the result may be a valid program.
  const auto alike = [&](std::size_t at) {
    std::vector<std::size_t> others;
    for (const std::size_t n : words)
      if (kind_of(tokens[n]) == kind_of(tokens[at]) && tokens[n] != tokens[at]) others.push_back(n);
    return others.empty() ? at : others[(decisions.below(256) * 256 + decisions.below(256)) % others.size()];
  };
  for (std::size_t changes = decisions.one_in(3) ? 3 : 1; changes > 0; --changes) {
    const std::size_t at = any();
    switch (decisions.below(8)) {
      case 0: tokens[at] = " "; break;
      case 1: std::swap(tokens[at], tokens[any()]); break;
      case 2: tokens[at] = kWords[decisions.below(std::size(kWords))]; break;
      default: tokens[at] = tokens[alike(at)]; break;
    }
  }
  std::string text;
  for (const std::string_view token : tokens) text += token;
  return text;
}

}  // namespace dhpvm::compiler::testing
