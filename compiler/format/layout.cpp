// SPDX-License-Identifier: Apache-2.0
#include "compiler/format/layout.h"

#include <algorithm>
#include <cstddef>

#include "compiler/format/spacing.h"

namespace dhpvm::compiler {
namespace {

using K = TokenKind;

constexpr std::size_t kIndent = 4;
// A `{` stays on a line of its own if the previous line would become longer than this.
constexpr std::size_t kLineLength = 120;

bool opens(K kind) { return kind == K::kLeftParen || kind == K::kLeftBracket || kind == K::kLeftBrace; }
std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

bool closes(K kind) { return kind == K::kRightParen || kind == K::kRightBracket || kind == K::kRightBrace; }

// For each `{` and its `}`: whether they enclose statements or arms on several lines.
std::vector<bool> blocks_of_lines(const std::vector<Piece>& pieces) {
  struct Open {
    std::size_t at;
    bool has_lines = false;
    bool has_statements = false;
  };
  std::vector<bool> found(pieces.size());
  std::vector<Open> open;
  for (std::size_t n = 0; n < pieces.size(); ++n) {
    const Piece& piece = pieces[n];
    if (!open.empty() && piece.line_ends > 0) open.back().has_lines = true;
    if (piece.is_comment()) continue;
    if (!open.empty() && (piece.token == K::kSemicolon || piece.token == K::kFatArrow))
      open.back().has_statements = true;
    if (opens(piece.token)) open.push_back({n});
    if (!closes(piece.token) || open.empty()) continue;
    const Open last = open.back();
    open.pop_back();
    found[last.at] = found[n] = piece.token == K::kRightBrace && last.has_lines && last.has_statements;
    if (!open.empty() && last.has_lines) open.back().has_lines = true;
  }
  return found;
}

class LineWriter {
 public:
  explicit LineWriter(const std::vector<Piece>& pieces)
      : pieces_(pieces), is_block_(blocks_of_lines(pieces)) {}

  std::string run() {
    for (at_ = 0; at_ < pieces_.size(); ++at_) {
      const Piece& piece = pieces_[at_];
      if (at_ != 0 && !ends_line()) {
        put_blanks();
      } else {
        begin_line();
      }
      put(piece.text);
      if (!piece.is_comment()) note(piece.token);
    }
    if (!text_.empty()) text_ += '\n';
    return std::move(text_);
  }

 private:
  // An open bracket. `inside` is the indentation of lines within, `line` that of the line it belongs to.
  struct Open {
    K kind;
    std::size_t inside;
    std::size_t line;
    std::size_t line_number;
    bool is_block;
    // The first token of the statement that it stands in.
    K statement;
    bool is_annotated;
  };

  const Piece* before() const { return at_ == 0 ? nullptr : &pieces_[at_ - 1]; }
  bool in_braces() const { return open_.empty() || open_.back().kind == K::kLeftBrace; }
  bool in_block() const { return open_.empty() || open_.back().is_block; }

  // Whether a line ends before the current piece.
  bool ends_line() const {
    const Piece& left = *before();
    const Piece& right = pieces_[at_];
    if (left.kind == Piece::Kind::kLineComment) return true;
    const bool written = right.line_ends > 0;
    if (left.is_comment() || right.is_comment()) return written;
    if (right.token == K::kSemicolon || right.token == K::kComma) return false;
    if (opens(left.token) && closes(right.token)) return false;
    if (right.token == K::kLeftBrace && written && joins_line(left)) return false;
    if (goes_on_behind_brace() && written && left.token == K::kRightBrace)
      return !is_block_[at_ - 1] || !brace_begins_line_;
    if (is_block_[at_] && right.token == K::kRightBrace) return true;
    if (is_block_[at_ - 1] && left.token == K::kLeftBrace) return true;
    if (left.token == K::kSemicolon && in_block()) return true;
    return written;
  }
  // Whether the current piece is the `else` of an `if` (not of a `match`), or a `catch`.
  bool goes_on_behind_brace() const {
    if (pieces_[at_].is(K::kCatch)) return true;
    return pieces_[at_].is(K::kElse) && !(at_ + 1 < pieces_.size() && pieces_[at_ + 1].is(K::kFatArrow));
  }
  // Whether a `{` on a line of its own is moved behind `left`.
  bool joins_line(const Piece& left) const {
    if (left.token == K::kSemicolon || left.token == K::kComma || opens(left.token) ||
        left.token == K::kRightBrace)
      return false;
    return column_ + 2 <= kLineLength;
  }

  void put_blanks() {
    const Piece& piece = pieces_[at_];
    if (!has_blank_before(pieces_, at_)) return;
    // Comments after code keep their columns.
    put(std::string(
        piece.kind == Piece::Kind::kLineComment && piece.line_ends == 0 ? std::max(piece.blanks, 1U) : 1,
        ' '));
  }

  void begin_line() {
    const Piece& piece = pieces_[at_];
    if (at_ != 0) {
      text_ += '\n';
      const bool at_end_of_block = before()->is(K::kLeftBrace) || piece.is(K::kRightBrace);
      if (piece.line_ends > 1 && !at_end_of_block) text_ += '\n';
      ++line_number_;
    }
    column_ = 0;
    const std::size_t indent = indentation();
    line_ = indent;
    brace_begins_line_ = piece.is(K::kRightBrace);
    put(std::string(indent, ' '));
  }

  std::size_t indentation() const {
    const Piece& piece = pieces_[at_];
    if (open_.empty()) return goes_on() ? kIndent : 0;
    const Open& open = open_.back();
    if (!piece.is_comment() && closes(piece.token))
      return open.kind == K::kLeftBrace || open.inside == open.line + kIndent ? open.line : open.inside;
    return open.inside + (in_braces() && goes_on() ? kIndent : 0);
  }

  // Whether the new line continues a statement or a declaration.
  bool goes_on() const {
    const Piece& piece = pieces_[at_];
    if (!piece.is_comment() && (piece.token == K::kElse || piece.token == K::kCatch) &&
        last_ == K::kRightBrace)
      return false;
    if (piece.is(K::kLeftBrace) && last_ != K::kFatArrow && last_ != K::kEqual) return false;
    if (is_annotated_) return false;
    switch (last_) {
      case K::kEnd:
      case K::kSemicolon:
      case K::kLeftBrace: return false;
      case K::kRightBrace:
        return piece.is(K::kDot) || piece.is(K::kQuestionDot) || piece.is(K::kQuestionQuestion) ||
               piece.is(K::kAmpersandAmpersand) || piece.is(K::kPipePipe);
      case K::kComma: return begins_statement(statement_) || begins_declaration(statement_);
      default: return true;
    }
  }

  // Keeps track of brackets and statements.
  void note(K kind) {
    const bool begins =
        in_braces() &&
        (last_ == K::kEnd || last_ == K::kSemicolon || last_ == K::kLeftBrace || last_ == K::kRightBrace ||
         (last_ == K::kComma && !goes_on_behind_comma()) || (is_annotated_ && begins_line()));
    if (begins && kind != K::kElse && kind != K::kCatch) {
      statement_ = kind;
      is_annotated_ = kind == K::kAt;
    }
    last_ = kind;
    if (opens(kind)) {
      const bool ends_its_line = at_ + 1 == pieces_.size() || pieces_[at_ + 1].line_ends > 0 ||
                                 pieces_[at_ + 1].kind == Piece::Kind::kLineComment;
      const std::size_t inside = kind == K::kLeftBrace || ends_its_line ? line_ + kIndent : column_;
      open_.push_back({kind, inside, line_, line_number_, is_block_[at_], statement_, is_annotated_});
      if (kind == K::kLeftBrace) {
        statement_ = K::kEnd;
        is_annotated_ = false;
      }
    } else if (closes(kind) && !open_.empty()) {
      const Open& open = open_.back();
      // The rest belongs to the line of the opening bracket.
      if (open.line_number != line_number_) line_ = open.line;
      statement_ = open.statement;
      is_annotated_ = open.is_annotated;
      open_.pop_back();
    }
  }
  bool goes_on_behind_comma() const { return begins_statement(statement_) || begins_declaration(statement_); }
  bool begins_line() const { return pieces_[at_].line_ends > 0; }

  void put(std::string_view text) {
    text_ += text;
    const std::size_t line_end = text.rfind('\n');
    if (line_end != text.npos) column_ = 0;
    column_ += code_points(line_end == text.npos ? text : text.substr(line_end + 1));
  }

  const std::vector<Piece>& pieces_;
  const std::vector<bool> is_block_;
  std::size_t at_ = 0;
  std::string text_;
  std::size_t column_ = 0;  // the end of the current line
  std::size_t line_ = 0;    // its indentation, or that of the line which it completes
  std::size_t line_number_ = 0;
  bool brace_begins_line_ = false;
  std::vector<Open> open_;
  K last_ = K::kEnd;       // the last token
  K statement_ = K::kEnd;  // the first token of the statement
  bool is_annotated_ = false;
};

}  // namespace

std::string lay_out(const std::vector<Piece>& pieces) { return LineWriter(pieces).run(); }

}  // namespace dhpvm::compiler
