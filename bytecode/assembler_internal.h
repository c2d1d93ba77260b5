// SPDX-License-Identifier: Apache-2.0
// The assembler's parts: a cursor over the tokens of one line that collects mistakes, the tables of declared
// names, and the parser of instructions.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "bytecode/decode.h"
#include "bytecode/field_place.h"
#include "bytecode/module.h"
#include "bytecode/text_lexer.h"

namespace dhpvm::bytecode::assembly {

// The mistakes of a run, in the order of their discovery.
class Mistakes {
 public:
  void add(std::uint32_t line, std::string text);
  bool any() const { return count_ != 0; }
  std::string text() const;

 private:
  static constexpr std::size_t kMostShown = 20;
  std::vector<std::pair<std::uint32_t, std::string>> shown_;
  std::size_t count_ = 0;
};

// Reads the tokens of one line. After the first mistake every reading method returns a default and reports nothing
// more, so that callers need not check each step.
class Cursor {
 public:
  Cursor(const TokenStream& stream, const TokenLine& line, Mistakes& mistakes)
      : at_(stream.tokens.data() + line.first),
        end_(at_ + line.count),
        line_(line.number),
        mistakes_(mistakes) {}

  bool ok() const { return ok_; }
  bool done() const { return at_ == end_ || !ok_; }
  std::uint32_t line() const { return line_; }
  const Token* peek() const { return done() ? nullptr : at_; }

  template <typename... Args>
  void fail(fmt::format_string<Args...> format, Args&&... args) {
    if (ok_) mistakes_.add(line_, fmt::format(format, std::forward<Args>(args)...));
    ok_ = false;
  }
  // The next token, or null after an error that names the expected one.
  const Token* take(std::string_view wanted);
  bool accept(Token::Kind kind, std::string_view spelling);  // takes the token if it is this one
  bool accept_word(std::string_view word) { return accept(Token::Kind::kWord, word); }
  bool accept_mark(std::string_view mark) { return accept(Token::Kind::kPunctuation, mark); }
  void expect_mark(std::string_view mark);
  void expect_end();

  std::string name(std::string_view what);  // a bare word or a quoted text
  std::string text(std::string_view what);  // a quoted text
  std::int64_t integer(std::string_view what, std::int64_t least, std::int64_t most);
  std::uint64_t bits64();  // an integer of either signedness, or a float: 1.5 is f64, 1.5f is f32
  template <typename E, std::size_t N>
  E enumerator(const std::array<std::string_view, N>& names, std::string_view what) {
    const Token* token = take(what);
    for (std::size_t i = 0; token != nullptr && i < N; ++i) {
      if (token->is(Token::Kind::kWord, names[i])) return static_cast<E>(i);
    }
    if (token != nullptr) fail("'{}' is not {}", token->text, what);
    return E{};
  }

 private:
  const Token* at_;
  const Token* end_;
  std::uint32_t line_;
  Mistakes& mistakes_;
  bool ok_ = true;
};

// The declared names of one table. "#n" is taken as it is, without a check.
class Names {
 public:
  explicit Names(std::string_view what) : what_(what) {}
  void add(std::string name, std::uint32_t index);
  std::uint32_t find(Cursor& in) const;

 private:
  std::string_view what_;
  std::unordered_map<std::string, std::uint32_t> ids_;
};

// The tables of names that operands refer to.
struct Scope {
  explicit Scope(Module& m) : module(m) {}

  Module& module;
  Names types{"a type"};
  Names imports{"an import"};
  Names functions{"a function"};
  std::unordered_map<std::string, std::uint32_t> strings;  // the first entry of each text

  std::uint32_t intern(const std::string& text);
  // "text" or $n; `_` gives kNoIndex where a string is optional.
  std::uint32_t string(Cursor& in, bool optional);
};

// The body of one function.
class Body {
 public:
  Body(Scope& scope, Function& function, Mistakes& mistakes)
      : scope_(scope), function_(function), mistakes_(mistakes) {
    function_.code_offset = static_cast<std::uint32_t>(scope.module.code.size());
  }
  void line(Cursor& in);  // a label, a position, a raw word or an instruction
  void finish();          // resolves the labels

 private:
  struct Fixup {
    std::uint32_t pc;
    std::uint32_t line;
    std::string label;
  };
  std::uint32_t size() const;
  void emit(Word word);
  void instruction(Cursor& in, std::string_view mnemonic);
  std::uint32_t operand(Cursor& in, Operand kind);
  std::uint32_t index_of_register(Cursor& in, char bank);
  std::uint32_t offset(Cursor& in, bool wide);
  std::uint32_t trap_code(Cursor& in);
  Word second_word(Cursor& in, Operand kind);
  FieldPlace updated_field(Cursor& in);
  std::uint32_t method(Cursor& in, std::uint32_t interface);

  Scope& scope_;
  Function& function_;
  Mistakes& mistakes_;
  std::unordered_map<std::string, std::uint32_t> labels_;
  std::vector<Fixup> fixups_;
};

}  // namespace dhpvm::bytecode::assembly
