// SPDX-License-Identifier: Apache-2.0
// PTX text as tokens with their places.
#pragma once

#include <string_view>
#include <vector>

#include "dhpvm/result.h"
#include "offload/ptx/types.h"

namespace dhpvm::ptx {

enum class TokenKind : std::uint8_t {
  kName,       // add, %r1, $L__BB0_2
  kDirective,  // .global, with the dot
  kNumber,     // 12, 0x1F, 0d3FF0000000000000
  kString,
  kMark,  // one character
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string_view text;
  Place at;
};

// The message of a problem: "12:3: ...".
std::string placed(Place at, std::string_view message);

// The tokens of `text`, which must outlive them; the last is kEnd.
Result<std::vector<Token>> tokens_of(std::string_view text);

}  // namespace dhpvm::ptx
