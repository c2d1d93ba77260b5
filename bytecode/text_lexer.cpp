// SPDX-License-Identifier: Apache-2.0
#include "bytecode/text_lexer.h"

#include <fmt/format.h>

#include <algorithm>

namespace dhpvm::bytecode {
namespace {

// The C library's versions depend on the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The length of the bracketed word at the start of `text`, such as "[[f32], 2]"; 0 when there is none.
std::size_t bracketed(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c < ' ' || c > '~' || c == '"' || c == ';') return 0;
    if (c == '[') ++depth;
    if (c == ']' && --depth == 0) return i + 1;
    if (depth == 0) return 0;
  }
  return 0;
}

std::size_t word_length(std::string_view text) {
  if (text.empty()) return 0;
  if (text[0] == '[') return bracketed(text);
  if (!is_letter(text[0])) return 0;
  return static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), is_word) - text.begin());
}

// Letters and digits, and a sign behind an exponent: the parser of numbers decides what it means.
std::size_t number_length(std::string_view text) {
  std::size_t i = text[0] == '-' ? 1 : 0;
  if (i == text.size() || !is_digit(text[i])) return 0;
  const bool hex = text.substr(i, 2) == "0x";
  for (; i < text.size(); ++i) {
    const bool exponent = !hex && i != 0 && (text[i - 1] == 'e' || text[i - 1] == 'E');
    if (!is_word(text[i]) && !(exponent && (text[i] == '-' || text[i] == '+'))) break;
  }
  return i;
}

// The length of the quoted text at the start, quotes included; 0 when it does not end.
std::size_t quoted_length(std::string_view text) {
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      return i + 1;
    }
  }
  return 0;
}

Token next_token(std::string_view text, std::size_t& length) {
  const char c = text[0];
  if (c == '"') {
    length = quoted_length(text);
    if (length != 0) return {Token::Kind::kText, text.substr(1, length - 2)};
  } else if (c == '#' || c == '$') {
    const auto end = std::find_if_not(text.begin() + 1, text.end(), is_digit);
    length = static_cast<std::size_t>(end - text.begin());
    if (length > 1)
      return {c == '#' ? Token::Kind::kIndex : Token::Kind::kStringIndex, text.substr(1, length - 1)};
  } else if (text.substr(0, 2) == "->" || text.substr(0, 2) == "::") {
    length = 2;
    return {Token::Kind::kPunctuation, text.substr(0, 2)};
  } else if (c == ',' || c == ':' || c == '(' || c == ')') {
    length = 1;
    return {Token::Kind::kPunctuation, text.substr(0, 1)};
  } else if (const std::size_t word = word_length(text); word != 0) {
    length = word;
    return {Token::Kind::kWord, text.substr(0, length)};
  } else if (const std::size_t number = number_length(text); number != 0) {
    length = number;
    return {Token::Kind::kNumber, text.substr(0, length)};
  }
  length = c == '"' ? text.size() : 1;
  return {Token::Kind::kBad, text.substr(0, length)};
}

}  // namespace

TokenStream tokenize(std::string_view text) {
  TokenStream stream;
  std::uint32_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const auto first = static_cast<std::uint32_t>(stream.tokens.size());
    while (!line.empty() && line[0] != ';') {
      std::size_t length = 1;
      if (line[0] != ' ' && line[0] != '\t' && line[0] != '\r')
        stream.tokens.push_back(next_token(line, length));
      line.remove_prefix(length);
    }
    const auto count = static_cast<std::uint32_t>(stream.tokens.size()) - first;
    if (count != 0) stream.lines.push_back({number, first, count});
  }
  return stream;
}

bool unquote(std::string_view quoted, std::string& text) {
  text.clear();
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] != '\\') {
      text += quoted[i];
      continue;
    }
    if (++i == quoted.size()) return false;
    switch (quoted[i]) {
      case '"':
      case '\\': text += quoted[i]; break;
      case 'n': text += '\n'; break;
      case 't': text += '\t'; break;
      case 'x': {
        if (quoted.size() - i < 3) return false;
        const int high = hex_value(quoted[i + 1]);
        const int low = hex_value(quoted[i + 2]);
        if (high < 0 || low < 0) return false;
        text += static_cast<char>(high * 16 + low);
        i += 2;
        break;
      }
      default: return false;
    }
  }
  return true;
}

std::string quote(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (c < ' ' || c > '~') {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string spell_name(std::string_view name) {
  const bool bare = !name.empty() && name != "_" && word_length(name) == name.size();
  return bare ? std::string(name) : quote(name);
}

}  // namespace dhpvm::bytecode
