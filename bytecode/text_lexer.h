// SPDX-License-Identifier: Apache-2.0
// The words of assembly text, for the assembler; and their spelling, for the disassembler.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dhpvm::bytecode {

struct Token {
  enum class Kind : std::uint8_t {
    kWord,         // add.i32  main  io.write  [f32, 2]
    kText,         // "quoted"; `text` is what stands between the quotes
    kNumber,       // 12  -7  0x1f  1.5
    kIndex,        // #12: an entry of a table; `text` is the number
    kStringIndex,  // $12: an entry of the string table; `text` is the number
    kPunctuation,  // , : :: ( ) ->
    kBad,          // anything else; `text` is what it is
  };
  Kind kind;
  std::string_view text;

  bool is(Kind wanted, std::string_view spelling) const { return kind == wanted && text == spelling; }
};

// One non-empty line of text: tokens [first, first + count).
struct TokenLine {
  std::uint32_t number;  // 1-based
  std::uint32_t first;
  std::uint32_t count;
};

struct TokenStream {
  std::vector<Token> tokens;  // refer to the text given to tokenize()
  std::vector<TokenLine> lines;
};

// Never fails: what is not a token becomes kBad. Comments run from ';' to the end of the line.
TokenStream tokenize(std::string_view text);

// The text behind what stands between quotes: \" \\ \n \t \xHH. False for other escapes.
bool unquote(std::string_view quoted, std::string& text);
std::string quote(std::string_view text);

// `name` as one token: bare when it can be read back as a kWord, quoted otherwise. The word "_" stands for
// "no name", so a name of that spelling is quoted.
std::string spell_name(std::string_view name);

}  // namespace dhpvm::bytecode
