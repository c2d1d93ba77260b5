// SPDX-License-Identifier: Apache-2.0
// Numbers, characters, strings and formatted strings.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "compiler/parse/lexer_impl.h"
#include "compiler/text/utf8.h"

namespace dhpvm::compiler {
namespace {

constexpr std::string_view kIntegerSuffixes[] = {"i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"};
constexpr std::string_view kFloatSuffixes[] = {"f32", "f64"};

template <std::size_t N>
bool is_one_of(std::string_view text, const std::string_view (&list)[N]) {
  return std::find(std::begin(list), std::end(list), text) != std::end(list);
}

int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

std::string without_underscores(std::string_view digits) {
  std::string clean;
  for (char c : digits) {
    if (c != '_') clean += c;
  }
  return clean;
}

// For a decimal number whose double is out of range: whether it is too large rather than too close to zero.
bool is_too_large(std::string_view digits) {
  const std::size_t exponent_at = digits.find_first_of("eE");
  const std::string_view mantissa = digits.substr(0, exponent_at);
  if (exponent_at != std::string_view::npos) {
    const bool negative = digits[exponent_at + 1] == '-';
    // A mantissa long enough to outweigh the exponent is not distinguished.
    return !negative;
  }
  return mantissa.find('.') == std::string_view::npos || mantissa.find_first_not_of('0') < mantissa.find('.');
}

// The suffix here for one of another language; empty when it is unknown.
std::string_view suffix_meaning(std::string_view suffix, bool fraction) {
  std::string lower;
  for (char c : suffix) lower += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (lower == "f") return "f32";
  if (lower == "d") return "f64";
  if (fraction) return {};
  if (lower == "l" || lower == "ll" || lower == "n") return "i64";
  if (lower == "u") return "u32";
  if (lower == "ul" || lower == "ull" || lower == "lu" || lower == "llu" || lower == "usize") return "u64";
  return {};
}

}  // namespace

// ---------------------------------------------------------------------------------------------- numbers

void Lexer::number() {
  const std::uint32_t begin = pos_;
  if (current() == '0') {
    const char letter = static_cast<char>(at(pos_ + 1) | 0x20);
    if (letter == 'x') return radix_number(16, begin);
    if (letter == 'b') return radix_number(2, begin);
    if (letter == 'o') return radix_number(8, begin);
  }
  const auto digits = [&] {
    while (is_digit(current()) || current() == '_') ++pos_;
  };
  digits();
  bool fraction = false;
  if (current() == '.' && is_digit(at(pos_ + 1))) {  // not `0..n`, not `1.max`
    fraction = true;
    ++pos_;
    digits();
  }
  if (current() == 'e' || current() == 'E') {
    const bool sign = at(pos_ + 1) == '+' || at(pos_ + 1) == '-';
    if (is_digit(at(pos_ + (sign ? 2 : 1)))) {
      fraction = true;
      pos_ += sign ? 2 : 1;
      digits();
    }
  }
  const std::string_view text = slice(begin, pos_);
  const std::uint32_t suffix_begin = pos_;
  while (is_word(current())) ++pos_;
  std::string_view suffix = slice(suffix_begin, pos_);
  const bool float_suffix = is_one_of(suffix, kFloatSuffixes);
  if (!suffix.empty() && !float_suffix && (fraction || !is_one_of(suffix, kIntegerSuffixes))) {
    auto& error = diagnostics_.error(range(suffix_begin, pos_), "`{}` is no suffix for {}", suffix,
                                     fraction ? "a number with a fraction" : "a number");
    const std::string_view meaning = suffix_meaning(suffix, fraction);
    if (!meaning.empty()) {
      const bool whole_to_float = !fraction && meaning.front() == 'f';
      error.help("write `{}{}{}`", text, whole_to_float ? ".0" : "", meaning);
    } else if (fraction) {
      error.help("the suffixes are f32 and f64; put a blank or an operator between a number and a name");
    } else {
      error.help("the suffixes are i8 i16 i32 i64, u8 u16 u32 u64, f32 f64");
    }
    suffix = {};
  }
  if (fraction || float_suffix) return float_token(begin, text, suffix);
  const bool octal_habit =
      text.size() > 1 && text.front() == '0' && text.find_first_not_of("0_") != text.npos;
  if (octal_habit) {
    const std::string_view rest = text.substr(text.find_first_not_of("0_"));
    diagnostics_.error(range(begin, pos_), "a decimal number does not start with 0")
        .help("write `0o{}` for the octal number, `{}` for the decimal one", rest, rest);
  }
  integer_token(begin, text, 10, suffix);
}

void Lexer::radix_number(int radix, std::uint32_t begin) {
  pos_ += 2;
  const std::uint32_t digits_begin = pos_;
  // In binary and octal all decimal digits are read, so that the message can name a wrong one.
  const auto is_part = [&](char c) { return c == '_' || (radix == 16 ? digit_value(c) < 16 : is_digit(c)); };
  while (is_part(current())) ++pos_;
  const std::string_view digits = slice(digits_begin, pos_);
  const std::uint32_t suffix_begin = pos_;
  while (is_word(current())) ++pos_;
  std::string_view suffix = slice(suffix_begin, pos_);
  if (!suffix.empty() && !is_one_of(suffix, kIntegerSuffixes)) {
    diagnostics_.error(range(suffix_begin, pos_), "`{}` belongs to no number in base {}", suffix, radix)
        .help("the suffixes here are i8 i16 i32 i64 and u8 u16 u32 u64");
    suffix = {};
  }
  if (digits.find_first_not_of('_') == digits.npos) {
    diagnostics_.error(range(begin, pos_), "there are no digits after `{}`", slice(begin, digits_begin))
        .help("write for example `{}1`", slice(begin, digits_begin));
    return integer_token(begin, "0", 10, suffix);
  }
  for (std::uint32_t i = digits_begin; i < suffix_begin; ++i) {
    if (at(i) != '_' && digit_value(at(i)) >= radix) {
      diagnostics_.error(range(i, i + 1), "`{}` is no digit in base {}", at(i), radix)
          .help("the digits are 0 to {}", radix - 1);
      return integer_token(begin, "0", 10, suffix);
    }
  }
  integer_token(begin, digits, radix, suffix);
}

void Lexer::integer_token(std::uint32_t begin, std::string_view digits, int radix, std::string_view suffix) {
  std::uint64_t value = 0;
  const auto base = static_cast<std::uint64_t>(radix);
  for (char c : digits) {
    if (c == '_') continue;
    const auto digit = static_cast<std::uint64_t>(digit_value(c));
    if (value > (UINT64_MAX - digit) / base) {
      diagnostics_.error(range(begin, pos_), "this number is larger than any integer type holds")
          .help("the largest is 18446744073709551615, `u64.max`; write `1e30` for a float");
      value = 0;
      break;
    }
    value = value * base + digit;
  }
  stream_.integers.push_back({value, suffix});
  push(TokenKind::kInt, begin, static_cast<std::uint32_t>(stream_.integers.size() - 1));
}

void Lexer::float_token(std::uint32_t begin, std::string_view digits, std::string_view suffix) {
  const std::string clean = without_underscores(digits);
  double value = 0;
  const auto [end, code] = std::from_chars(clean.data(), clean.data() + clean.size(), value);
  if (code == std::errc::result_out_of_range) {
    value = 0;
    if (is_too_large(clean)) {
      diagnostics_.error(range(begin, pos_), "this number is larger than an f64 holds")
          .help("the largest is `f64.max`; write `f64.infinity` for infinity");
    }
  }
  stream_.numbers.push_back({value, suffix});
  push(TokenKind::kFloat, begin, static_cast<std::uint32_t>(stream_.numbers.size() - 1));
}

// ---------------------------------------------------------------------------------- strings, characters

void Lexer::escape(std::string& out) {
  const std::uint32_t begin = pos_;
  ++pos_;
  if (at_line_end()) return;  // the caller reports the missing quote
  const char c = current();
  ++pos_;
  switch (c) {
    case 'n': out += '\n'; return;
    case 't': out += '\t'; return;
    case 'r': out += '\r'; return;
    case '0': out += '\0'; return;
    case '\\':
    case '"':
    case '\'': out += c; return;
    case 'u': return unicode_escape(out, begin);
    case 'x': {
      const int high = digit_value(current());
      const int low = high < 16 ? digit_value(at(pos_ + 1)) : 99;
      if (low < 16) {
        pos_ += 2;
        out += static_cast<char>(high * 16 + low);
        return;
      }
      diagnostics_.error(range(begin, pos_), "`\\x` needs two hexadecimal digits")
          .help("write for example `\\x0a`");
      return;
    }
    default: break;
  }
  pos_ = begin + 1;
  pos_ += std::min(decode_utf8(text_.substr(pos_)).bytes, static_cast<std::uint32_t>(text_.size()) - pos_);
  auto& error = diagnostics_.error(range(begin, pos_), "unknown escape `{}`", slice(begin, pos_));
  if (c == '{' || c == '}') {
    error.help("write `{}{}` for a brace in a formatted string; in other strings it needs no escape", c, c);
  } else if (c == '(') {
    error.help("write a formatted string: `f\"... {{x}} ...\"`");
  } else if (c == 'e') {
    error.help("write `\\x1b` for the escape character");
  } else {
    error.help(
        "write `\\\\` for a backslash; the escapes are \\n \\t \\r \\0 \\\\ \\\" \\' \\xHH \\u{{HEX}}");
  }
}

void Lexer::unicode_escape(std::string& out, std::uint32_t begin) {
  char32_t value = 0;
  std::uint32_t count = 0;
  if (current() == '{') {
    ++pos_;
    while (digit_value(current()) < 16 && count < 8) {
      value = value * 16 + static_cast<char32_t>(digit_value(current()));
      ++count;
      ++pos_;
    }
  }
  if (count == 0 || current() != '}') {
    diagnostics_.error(range(begin, pos_), "`\\u` needs a code point in braces")
        .help("write for example `\\u{{20ac}}`");
    return;
  }
  ++pos_;
  if (value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
    diagnostics_.error(range(begin, pos_), "`{}` is not a Unicode code point", slice(begin, pos_))
        .help("code points are 0 to 10ffff, without d800 to dfff; `\\xHH` writes single bytes");
    return;
  }
  append_utf8(out, value);
}

void Lexer::string(Escapes escapes) {
  const std::uint32_t begin = pos_;
  pos_ += escapes == Escapes::kRaw ? 2 : 1;
  std::string value;
  bool goes_on = false;  // behind `\"` in a raw string, as the character behind it shows
  while (!at_line_end()) {
    if (current() == '"') {
      const bool belongs = goes_on || is_word(at(pos_ + 1)) || at(pos_ + 1) == '(' || at(pos_ + 1) == '\\';
      if (escapes != Escapes::kRaw || at(pos_ - 1) != '\\' || !belongs) break;
      if (!std::exchange(goes_on, true)) {
        diagnostics_
            .error(range(pos_ - 1, pos_ + 1), "a backslash is a backslash here: the quote ends the text")
            .help("write `r\"\"\"...\"\"\"`, in which quotes may stand");
      }
    }
    if (current() == '\\' && escapes == Escapes::kResolved) {
      escape(value);
    } else {
      value += text_[pos_++];
    }
  }
  const bool ended = !at_line_end();
  if (ended) {
    ++pos_;
  } else if (holes_.empty()) {
    std::uint32_t end = pos_;
    if (end > begin + 1 && at(end - 1) == '\r') --end;
    diagnostics_.error(range(begin, end), "this string is not closed before the line ends")
        .help("write `\"` where it ends, and `\\n` for a line end inside it");
  } else {
    // This quote was probably meant to end the formatted string.
    report_open_hole();
  }
  push_string(TokenKind::kString, begin, std::move(value));
  if (!ended) close_holes();
}

// Text of several lines between triple quotes. The line ends after the opening and before the closing quotes do not
// belong to it, nor does the indentation of the line with the closing quotes.
void Lexer::block_string(Escapes escapes) {
  const std::uint32_t begin = pos_;
  const bool raw = escapes == Escapes::kRaw;
  pos_ += (raw ? 1 : 0) + static_cast<std::uint32_t>(kBlockQuotes.size());
  std::uint32_t end = pos_;
  while (end < text_.size() && !text_.substr(end).starts_with(kBlockQuotes))
    end += !raw && at(end) == '\\' ? 2 : 1;
  const bool closed = end < text_.size();
  end = std::min(end, static_cast<std::uint32_t>(text_.size()));
  if (!closed) {
    diagnostics_.error(range(begin, pos_), "this text of several lines is not closed")
        .help("write `\"\"\"` where it ends");
  }
  const auto is_blank = [&](std::uint32_t from, std::uint32_t to) {
    return slice(from, to).find_first_not_of(" \t\r") == std::string_view::npos;
  };
  std::uint32_t last_line = end;
  while (last_line > pos_ && at(last_line - 1) != '\n') --last_line;
  const bool ends_alone = last_line > pos_ && is_blank(last_line, end);
  const std::uint32_t indentation = ends_alone ? end - last_line : 0;
  const std::uint32_t content_end = ends_alone ? last_line - 1 : end;
  std::uint32_t first_end = pos_;
  while (first_end < content_end && at(first_end) != '\n') ++first_end;
  const bool begins_alone = is_blank(pos_, first_end) && at(first_end) == '\n';

  std::string value;
  const auto skip_indentation = [&] {
    const std::uint32_t most = std::min(pos_ + indentation, content_end);
    while (pos_ < most && (current() == ' ' || current() == '\t')) ++pos_;
  };
  if (begins_alone) {
    pos_ = first_end + 1;
    skip_indentation();
  }
  while (pos_ < content_end) {
    const char c = current();
    if (c == '\\' && !raw) {
      if (at(pos_ + 1) == '\n' || at(pos_ + 1) == '\r') {
        diagnostics_.error(range(pos_, pos_ + 1), "a `\\` at the end of a line escapes nothing")
            .help("write `\\\\` for a backslash, or `r\"\"\"` where they are many");
      }
      escape(value);
    } else if (c == '\r' && at(pos_ + 1) == '\n') {
      ++pos_;
    } else {
      value += c;
      ++pos_;
      if (c == '\n') skip_indentation();
    }
  }
  pos_ = closed ? end + static_cast<std::uint32_t>(kBlockQuotes.size()) : end;
  push_string(TokenKind::kString, begin, std::move(value));
}

// r#"..."#: Rust's raw strings with quotes. False if there is none on this line.
bool Lexer::hashed_string() {
  const std::uint32_t begin = pos_;
  std::uint32_t quote = pos_ + 1;
  while (at(quote) == '#') ++quote;
  if (at(quote) != '"') return false;
  const std::string end = "\"" + std::string(slice(begin + 1, quote));
  const std::size_t found = text_.find(end, quote + 1);
  if (found == std::string_view::npos || found > text_.find('\n', begin)) return false;
  pos_ = static_cast<std::uint32_t>(found + end.size());
  diagnostics_.error(range(begin, quote + 1), "there is no `{}` in this language", slice(begin, quote + 1))
      .help("write `r\"\"\"...\"\"\"`, in which a quote is a quote");
  push_string(TokenKind::kString, begin, std::string(slice(quote + 1, static_cast<std::uint32_t>(found))));
  return true;
}

void Lexer::byte() {
  const std::uint32_t begin = pos_++;
  std::string value;
  const std::uint32_t content = pos_;
  while (!at_line_end() && current() != '\'') {
    if (current() == '\\') {
      escape(value);
    } else {
      value += text_[pos_++];
    }
  }
  const std::uint32_t content_end = pos_;
  if (at_line_end()) {
    // Only the quote is wrong: the rest of the line may be correct code.
    pos_ = content;
    diagnostics_.error(range(begin, content), "this `'` is not closed")
        .help("a character is written `'a'`, a string `\"text\"`");
    return push(TokenKind::kError, begin);
  }
  ++pos_;
  if (content == content_end) {
    diagnostics_.error(range(begin, pos_), "there is no character between these quotes")
        .help("write `\"\"` for an empty string, `'\\''` for the quote itself");
    return push(TokenKind::kByte, begin);
  }
  if (value.size() == 1) return push(TokenKind::kByte, begin, static_cast<unsigned char>(value.front()));
  if (value.empty()) return push(TokenKind::kByte, begin);  // a bad escape, reported
  quoted_word(content, content_end);
  push_string(TokenKind::kString, begin, std::move(value));
}

void Lexer::quoted_word(std::uint32_t begin, std::uint32_t end) {
  const std::string_view text = slice(begin, end);
  const CodePoint point = decode_utf8(text);
  if (point.valid && point.bytes == text.size()) {
    diagnostics_.error(range(begin - 1, end + 1), "the character `{}` does not fit in one byte", text)
        .help("write the string `\"{}\"`, or its code point `0x{:x}`", text,
              static_cast<unsigned>(point.value));
  } else {
    diagnostics_.error(range(begin - 1, end + 1), "single quotes hold one character")
        .help("write `{}\"{}\"` for a string", begin >= 2 && text_[begin - 2] == 'f' ? "f" : "", text);
  }
}

// ------------------------------------------------------------------------------------ formatted strings

void Lexer::format_begin() {
  const std::uint32_t begin = pos_;
  pos_ += 2;
  push(TokenKind::kFormatBegin, begin);
  format_text();
}

void Lexer::format_text() {
  const std::uint32_t begin = pos_;
  std::string value;
  while (!at_line_end() && current() != '"') {
    const char c = current();
    if (c == '\\') {
      escape(value);
    } else if ((c == '{' || c == '}') && at(pos_ + 1) == c) {
      value += c;
      pos_ += 2;
    } else if (c == '{') {
      break;
    } else {
      if (c == '}') {
        diagnostics_.error(range(pos_, pos_ + 1), "a `}}` without its `{{` in a formatted string")
            .help("write `}}}}` for the character");
      }
      value += c;
      ++pos_;
    }
  }
  if (!value.empty()) push_string(TokenKind::kFormatText, begin, std::move(value));
  if (current() == '{' && !at_line_end()) {
    const std::uint32_t brace = pos_++;
    push(TokenKind::kFormatOpen, brace);
    holes_.push_back({brace, 0, false});
    return;
  }
  const std::uint32_t end = pos_;
  if (at_line_end()) {
    diagnostics_.error(range(begin, end), "this formatted string is not closed before the line ends")
        .help("write `\"` where it ends, and `\\n` for a line end inside it");
  } else {
    ++pos_;
  }
  push(TokenKind::kFormatEnd, end);
}

void Lexer::format_spec() {
  const std::uint32_t begin = pos_;
  while (!at_line_end() && current() != '{' && current() != '}' && current() != '"') {
    // A brace as the fill character would be the only `}` that does not end the hole; it is not supported, because
    // formatted strings would become hard to read.
    pos_ += std::min(decode_utf8(text_.substr(pos_)).bytes, static_cast<std::uint32_t>(text_.size()) - pos_);
  }
  push(TokenKind::kFormatSpec, begin);
  if (current() == '{' && !at_end()) {
    const std::uint32_t brace = pos_++;
    push(TokenKind::kFormatOpen, brace);
    holes_.push_back({brace, 0, true});
    return;
  }
  if (current() == '}' && !at_end()) {
    const std::uint32_t brace = pos_++;
    push(TokenKind::kFormatClose, brace);
    holes_.pop_back();
    format_text();
    return;
  }
  break_format();
  if (current() == '"') ++pos_;
}

void Lexer::break_format() {
  report_open_hole();
  close_holes();
}

void Lexer::report_open_hole() {
  const std::uint32_t brace = holes_.back().brace;
  diagnostics_.error(range(brace, brace + 1), "this `{{` of a formatted string is not closed")
      .help("write `}}` after the expression, on the same line; write `{{{{` for the character itself");
}

void Lexer::close_holes() {
  while (!holes_.empty()) {
    push(TokenKind::kFormatClose, pos_);
    if (!holes_.back().in_spec) push(TokenKind::kFormatEnd, pos_);
    holes_.pop_back();
  }
}

}  // namespace dhpvm::compiler
