// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <charconv>

#include "bytecode/assembler_internal.h"

namespace dhpvm::bytecode::assembly {

void Mistakes::add(std::uint32_t line, std::string text) {
  if (++count_ <= kMostShown) shown_.emplace_back(line, std::move(text));
}

std::string Mistakes::text() const {
  std::string out;
  for (const auto& [line, text] : shown_)
    out += fmt::format("{}line {}: {}", out.empty() ? "" : "\n", line, text);
  if (count_ > kMostShown) out += fmt::format("\nand {} more", count_ - kMostShown);
  return out;
}

const Token* Cursor::take(std::string_view wanted) {
  if (!ok_) return nullptr;
  if (at_ == end_) return fail("the line ends where {} should follow", wanted), nullptr;
  if (at_->kind == Token::Kind::kBad) return fail("stray {}", quote(at_->text)), nullptr;
  return at_++;
}

bool Cursor::accept(Token::Kind kind, std::string_view spelling) {
  if (done() || !at_->is(kind, spelling)) return false;
  ++at_;
  return true;
}

void Cursor::expect_mark(std::string_view mark) {
  const Token* token = take(mark);
  if (token != nullptr && !token->is(Token::Kind::kPunctuation, mark))
    fail("'{}' where '{}' should follow", token->text, mark);
}

void Cursor::expect_end() {
  if (ok_ && at_ != end_) fail("'{}' after the end of the statement", at_->text);
}

std::string Cursor::name(std::string_view what) {
  if (const Token* next = peek(); next != nullptr && next->kind == Token::Kind::kText) return text(what);
  const Token* token = take(what);
  if (token == nullptr) return {};
  if (token->kind != Token::Kind::kWord) fail("'{}' is not {}", token->text, what);
  return std::string(token->text);
}

std::string Cursor::text(std::string_view what) {
  const Token* token = take(what);
  if (token == nullptr) return {};
  std::string out;
  if (token->kind != Token::Kind::kText)
    fail("'{}' is not {} in quotes", token->text, what);
  else if (!unquote(token->text, out))
    fail("an unknown escape in \"{}\"", token->text);
  return out;
}

namespace {

// Decimal or 0x; false when `text` is no integer of 64 bits.
bool parse_integer(std::string_view text, bool& negative, std::uint64_t& magnitude) {
  negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hex = text.starts_with("0x");
  if (hex) text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, hex ? 16 : 10);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

std::int64_t Cursor::integer(std::string_view what, std::int64_t least, std::int64_t most) {
  const Token* token = take(what);
  if (token == nullptr) return least;
  bool negative = false;
  std::uint64_t magnitude = 0;
  const std::uint64_t bound = std::uint64_t{1} << 63;
  if (token->kind != Token::Kind::kNumber || !parse_integer(token->text, negative, magnitude) ||
      magnitude > bound - (negative ? 0 : 1))
    return fail("'{}' is not {}", token->text, what), least;
  const auto value = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  if (value < least || value > most) return fail("{} is not between {} and {}", value, least, most), least;
  return value;
}

std::uint64_t Cursor::bits64() {
  const Token* token = take("a number");
  if (token == nullptr) return 0;
  bool negative = false;
  std::uint64_t magnitude = 0;
  if (token->kind == Token::Kind::kNumber && parse_integer(token->text, negative, magnitude))
    return negative ? 0 - magnitude : magnitude;
  std::string_view text = token->text;
  const bool single = text.ends_with('f');
  if (single) text.remove_suffix(1);
  float narrow = 0;
  double wide = 0;
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto result = single ? std::from_chars(begin, end, narrow) : std::from_chars(begin, end, wide);
  if (token->kind != Token::Kind::kNumber || result.ec != std::errc() || result.ptr != end)
    return fail("'{}' is not a number", token->text), 0;
  return single ? std::bit_cast<std::uint32_t>(narrow) : std::bit_cast<std::uint64_t>(wide);
}

void Names::add(std::string name, std::uint32_t index) {
  const auto [at, fresh] = ids_.emplace(std::move(name), index);
  if (!fresh) at->second = kNoIndex;
}

std::uint32_t Names::find(Cursor& in) const {
  if (const Token* next = in.peek(); next != nullptr && next->kind == Token::Kind::kIndex) {
    in.take("");
    std::uint32_t index = 0;
    const auto [end, error] =
        std::from_chars(next->text.data(), next->text.data() + next->text.size(), index);
    if (error != std::errc()) in.fail("#{} is too large", next->text);
    return index;
  }
  const std::string name = in.name(what_);
  if (!in.ok()) return 0;
  const auto at = ids_.find(name);
  if (at == ids_.end()) return in.fail("{} is not {}", quote(name), what_), 0;
  if (at->second == kNoIndex) return in.fail("{} is ambiguous: use #index", quote(name)), 0;
  return at->second;
}

std::uint32_t Scope::intern(const std::string& text) {
  const auto [at, fresh] = strings.emplace(text, static_cast<std::uint32_t>(module.strings.size()));
  if (fresh) module.strings.push_back(text);
  return at->second;
}

std::uint32_t Scope::string(Cursor& in, bool optional) {
  if (optional && in.accept_word("_")) return kNoIndex;
  if (const Token* next = in.peek(); next != nullptr && next->kind == Token::Kind::kStringIndex) {
    in.take("");
    std::uint32_t index = 0;
    const auto [end, error] =
        std::from_chars(next->text.data(), next->text.data() + next->text.size(), index);
    if (error != std::errc()) in.fail("${} is too large", next->text);
    return index;
  }
  const std::string text = in.name("a string");
  return in.ok() ? intern(text) : 0;
}

}  // namespace dhpvm::bytecode::assembly
