// SPDX-License-Identifier: Apache-2.0
// Placeholders of other languages in a text, `%5.2f` and `{}`, and the formatted string that is meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace dhpvm::compiler {

// Whether the text contains a format of C, `%d` or `%.3f`.
bool has_percent_format(std::string_view text);

// Whether the text contains a placeholder of another language, `{}` or `{0}` or `{:.3f}`.
bool has_brace_format(std::string_view text);

// The first `{name}` of the text, without its braces; empty when there is none.
std::string_view name_in_braces(std::string_view text);

// The formatted string for a string literal with placeholders and the values behind it, all as in the source: `f"{n:5}
// apples"` for `"%5d apples"` and `n`. Empty if there are more or fewer values than placeholders, or if one of them
// cannot stand in a formatted string.
std::string formatted_string_for(std::string_view literal, std::span<const std::string_view> values);

}  // namespace dhpvm::compiler
