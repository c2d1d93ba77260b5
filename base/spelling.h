// SPDX-License-Identifier: Apache-2.0
// Finds the name that was probably meant, for "did you mean ...?".
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace dhpvm {

// The number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`, in half edits: a
// change of case counts as one half edit, everything else as two. Gives up beyond `limit` and returns a number above
// it.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

// The candidate closest to `name`, if it is close enough to be a likely slip; otherwise empty. Ties go to
// the first candidate.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

}  // namespace dhpvm
