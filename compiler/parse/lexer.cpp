// SPDX-License-Identifier: Apache-2.0
#include "compiler/parse/lexer.h"

#include <algorithm>
#include <array>
#include <span>

#include "compiler/parse/lexer_impl.h"
#include "compiler/text/utf8.h"

namespace dhpvm::compiler {
namespace {

struct Spelling {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
};

constexpr Spelling kKeywords[] = {
#define X(name, text, ...) {TokenKind::name, text},
    DHPVM_KEYWORDS(X)
#undef X
};

constexpr Spelling kPunctuation[] = {
#define X(name, text) {TokenKind::name, text},
    DHPVM_PUNCTUATION(X)
#undef X
};

// The spellings by their first character, which is ASCII, longer ones first: few remain to compare.
template <std::size_t count>
class Spellings {
 public:
  constexpr explicit Spellings(const Spelling (&table)[count]) {
    std::ranges::copy(table, all_.begin());
    std::ranges::sort(all_, [](const Spelling& a, const Spelling& b) {
      return a.text[0] != b.text[0] ? a.text[0] < b.text[0] : a.text.size() > b.text.size();
    });
    std::size_t next = 0;
    for (std::size_t c = 0; c < begin_.size(); ++c) {
      while (next < count && static_cast<unsigned char>(all_[next].text[0]) < c) ++next;
      begin_[c] = static_cast<std::uint8_t>(next);
    }
  }
  constexpr std::span<const Spelling> beginning_with(char first) const {
    const auto c = static_cast<unsigned char>(first);
    if (c >= kCharacters) return {};
    return std::span(all_).subspan(begin_[c], begin_[c + 1u] - begin_[c]);
  }

 private:
  static constexpr std::size_t kCharacters = 128;
  static_assert(count < 256);
  std::array<Spelling, count> all_{};
  std::array<std::uint8_t, kCharacters + 1> begin_{};
};

constexpr Spellings kKeywordsByFirst(kKeywords);
constexpr Spellings kPunctuationByFirst(kPunctuation);

// The ASCII character for one that text copied from a document or a chat contains in its place.
std::string_view ascii_for(char32_t value) {
  switch (value) {
    case U'\u201C':
    case U'\u201D':
    case U'\u201E':
    case U'\u00AB':
    case U'\u00BB': return "\"";
    case U'\u2018':
    case U'\u2019': return "'";
    case U'\u2013':
    case U'\u2014':
    case U'\u2212': return "-";
    case U'\u00D7': return "*";
    case U'\u00F7': return "/";
    case U'\u2264': return "<=";
    case U'\u2265': return ">=";
    case U'\u2260': return "!=";
    case U'\u2192': return "->";
    case U'\u2026': return "..";
    case U'\uFF1B':
    case U'\u037E': return ";";
    case U'\uFF0C': return ",";
    default: return {};
  }
}

bool is_invisible(char32_t value) {
  return value == 0xA0 || value == 0x3000 || (value >= 0x2000 && value <= 0x200F) || value == 0x2028 ||
         value == 0x2029 || (value >= 0x202A && value <= 0x202F) || (value >= 0x2060 && value <= 0x2069) ||
         value == 0xFEFF;
}

// A non-ASCII character that is meant as a letter.
bool starts_foreign_word(std::string_view text) {
  if (text.empty() || static_cast<unsigned char>(text.front()) < 0x80) return false;
  const CodePoint point = decode_utf8(text);
  return point.valid && !is_invisible(point.value) && ascii_for(point.value).empty();
}

}  // namespace

std::string_view describe(TokenKind kind) {
  switch (kind) {
    case TokenKind::kEnd: return "the end of the file";
    case TokenKind::kIdentifier: return "a name";
    case TokenKind::kInt:
    case TokenKind::kFloat: return "a number";
    case TokenKind::kByte: return "a character";
    case TokenKind::kString: return "a string";
    case TokenKind::kFormatBegin:
    case TokenKind::kFormatText:
    case TokenKind::kFormatOpen:
    case TokenKind::kFormatEnd: return "a formatted string";
    case TokenKind::kFormatSpec: return "a format specification";
    case TokenKind::kFormatClose: return "`}`";
    case TokenKind::kError: return "a mistake";
#define X(name, text, ...) \
  case TokenKind::name: return "`" text "`";
      DHPVM_KEYWORDS(X) DHPVM_PUNCTUATION(X)
#undef X
  }
  return "a token";
}

TokenStream lex(const SourceManager& sources, std::uint32_t file, Diagnostics& diagnostics) {
  return Lexer(sources, file, diagnostics).run();
}

TokenStream Lexer::run() {
  if (text_.starts_with("\xEF\xBB\xBF")) pos_ = 3;  // a byte order mark, as some editors write it
  const auto invalid = static_cast<std::uint32_t>(first_invalid_utf8(text_));
  if (invalid < text_.size()) {
    diagnostics_.error(range(invalid, invalid + 1), "this is not UTF-8 text")
        .help("save the file as UTF-8; any byte can be written in a string as `\\xHH`");
  }
  for (;;) {
    skip_blanks();
    if (at_end()) break;
    next();
  }
  if (!holes_.empty()) break_format();
  push(TokenKind::kEnd, pos_);
  return std::move(stream_);
}

void Lexer::push(TokenKind kind, std::uint32_t begin, std::uint32_t value) {
  stream_.tokens.push_back({kind, first_on_line_, begin, pos_, value});
  first_on_line_ = false;
}

void Lexer::push_string(TokenKind kind, std::uint32_t begin, std::string value) {
  stream_.strings.push_back(std::move(value));
  push(kind, begin, static_cast<std::uint32_t>(stream_.strings.size() - 1));
}

void Lexer::skip_blanks() {
  while (!at_end()) {
    const char c = current();
    if (c == '\n') {
      // A hole cannot span lines: one forgotten `}` would otherwise swallow the rest of the file.
      if (!holes_.empty()) break_format();
      first_on_line_ = true;
      ++pos_;
    } else if (c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
      ++pos_;
    } else if (c == '/' && at(pos_ + 1) == '/') {
      while (!at_line_end()) ++pos_;
    } else if (c == '/' && at(pos_ + 1) == '*') {
      skip_block_comment();
    } else {
      return;
    }
  }
}

void Lexer::skip_block_comment() {
  const std::uint32_t begin = pos_;
  std::uint32_t depth = 0;
  while (!at_end()) {
    if (current() == '/' && at(pos_ + 1) == '*') {
      ++depth;
      pos_ += 2;
    } else if (current() == '*' && at(pos_ + 1) == '/') {
      pos_ += 2;
      if (--depth == 0) return;
    } else {
      if (current() == '\n') first_on_line_ = true;
      ++pos_;
    }
  }
  diagnostics_.error(range(begin, begin + 2), "this comment is not closed")
      .help("write `*/` where it ends; comments nest, so that each `/*` inside it needs its own");
}

void Lexer::next() {
  const char c = current();
  if (c == 'f' && at(pos_ + 1) == '"') return format_begin();
  const bool raw = c == 'r' && at(pos_ + 1) == '"';
  // An expression in a formatted string ends on its line.
  if (holes_.empty() && text_.substr(pos_ + (raw ? 1 : 0)).starts_with(kBlockQuotes))
    return block_string(raw ? Escapes::kRaw : Escapes::kResolved);
  if (raw) return string(Escapes::kRaw);
  if (c == 'r' && at(pos_ + 1) == '#' && hashed_string()) return;
  if (is_letter(c)) return word();
  if (is_digit(c)) return number();
  if (c == '"') return string(Escapes::kResolved);
  if (c == '\'') return byte();
  if (!holes_.empty() && hole_punctuation()) return;
  punctuation();
}

void Lexer::word() {
  const std::uint32_t begin = pos_;
  while (is_word(current())) ++pos_;
  if (starts_foreign_word(text_.substr(pos_))) return foreign_word(begin);
  const std::string_view text = slice(begin, pos_);
  for (const Spelling& keyword : kKeywordsByFirst.beginning_with(text[0])) {
    if (keyword.text == text) return push(keyword.kind, begin);
  }
  push(TokenKind::kIdentifier, begin);
}

void Lexer::punctuation() {
  const std::string_view rest = text_.substr(pos_);
  for (const Spelling& spelling : kPunctuationByFirst.beginning_with(rest[0])) {
    if (!rest.starts_with(spelling.text)) continue;
    const std::uint32_t begin = pos_;
    pos_ += static_cast<std::uint32_t>(spelling.text.size());
    return push(spelling.kind, begin);
  }
  bad_character();
}

bool Lexer::hole_punctuation() {
  Hole& hole = holes_.back();
  const char c = current();
  if (c == '(' || c == '[' || c == '{') {
    ++hole.depth;
  } else if (hole.depth > 0) {
    if (c == ')' || c == ']' || c == '}') --hole.depth;
  } else if (c == '}') {
    const std::uint32_t begin = pos_++;
    push(TokenKind::kFormatClose, begin);
    const bool in_spec = hole.in_spec;
    holes_.pop_back();
    if (in_spec) {
      format_spec();
    } else {
      format_text();
    }
    return true;
  } else if (c == ':' && !hole.in_spec) {
    ++pos_;
    format_spec();
    return true;
  }
  return false;
}

void Lexer::bad_character() {
  const std::uint32_t begin = pos_;
  const CodePoint point = decode_utf8(text_.substr(pos_));
  pos_ += point.bytes;
  if (!point.valid) return;  // reported once for the whole file
  const std::string_view text = slice(begin, pos_);
  if (point.value == '#') {
    while (is_word(current())) ++pos_;
    const std::string_view directive = slice(begin, pos_);
    auto& error = diagnostics_.error(range(begin, pos_), "there is no `{}` in this language", directive);
    if (directive == "#include") {
      error.help("write `import name;` to use another file or module");
    } else {
      error.help("comments start with `//`; constants are written `const N = 1;`");
    }
    // A directive or a comment: the rest of its line is not code either.
    while (!at_line_end()) ++pos_;
    return;
  }
  if (point.value < 0x20 || point.value == 0x7F) {
    diagnostics_
        .error(range(begin, pos_), "a control character (code {}) in the source",
               static_cast<unsigned>(point.value))
        .help("remove it; in a string write it as `\\x{:02x}`", static_cast<unsigned>(point.value));
    return;
  }
  if (is_invisible(point.value)) {
    diagnostics_
        .error(range(begin, pos_), "an invisible character (U+{:04X}) in the source",
               static_cast<unsigned>(point.value))
        .help("remove it, or write a blank in its place");
    return;
  }
  if (const std::string_view ascii = ascii_for(point.value); !ascii.empty()) {
    diagnostics_.error(range(begin, pos_), "the character `{}` is not used in this language", text)
        .help("write `{}`", ascii);
    return;
  }
  if (starts_foreign_word(text_.substr(begin))) return foreign_word(begin);
  if (point.value == '`' && foreign_text(begin)) return;
  auto& problem = diagnostics_.error(range(begin, pos_), "`{}` means nothing in this language", text);
  if (point.value == '`' || point.value == '$') {
    problem.help("text is written in double quotes, with values in it `f\"x = {{x}}\"`");
  } else {
    problem.help("remove it");
  }
  // Stands for the operator or operand that may have been meant, so that the parser does not report its absence.
  push(TokenKind::kError, begin);
}

// A text in backquotes (JavaScript, or raw), as a whole. False if it does not end on its line.
bool Lexer::foreign_text(std::uint32_t begin) {
  const std::size_t end = text_.find_first_of("`\n", pos_);
  if (end == text_.npos || text_[end] != '`') return false;
  std::string inside(text_.substr(pos_, end - pos_));
  pos_ = static_cast<std::uint32_t>(end) + 1;
  const bool has_values = inside.find("${") != inside.npos;
  for (std::size_t at = 0; (at = inside.find("${", at)) != inside.npos;) inside.erase(at, 1);
  constexpr std::size_t kMost = 60;
  auto& problem = diagnostics_.error(range(begin, pos_), "text is written in double quotes");
  if (inside.size() <= kMost && inside.find('"') == inside.npos) {
    problem.help("write `{}\"{}\"`", has_values ? "f" : "", inside);
  } else {
    problem.help("write `\"...\"`, with values in it `f\"x = {{x}}\"`");
  }
  push(TokenKind::kError, begin);
  return true;
}

// One message for the whole word, which then counts as the name, so that the parser does not report its absence as
// well.
void Lexer::foreign_word(std::uint32_t begin) {
  for (;;) {
    if (is_word(current())) {
      ++pos_;
    } else if (starts_foreign_word(text_.substr(pos_))) {
      pos_ += decode_utf8(text_.substr(pos_)).bytes;
    } else {
      break;
    }
  }
  diagnostics_.error(range(begin, pos_), "`{}` is not a name in this language", slice(begin, pos_))
      .help("names are made of the letters A-Z, a-z, digits and `_`");
  push(TokenKind::kIdentifier, begin);
}

}  // namespace dhpvm::compiler
