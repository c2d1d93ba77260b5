// SPDX-License-Identifier: Apache-2.0
#include "base/spelling.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace dhpvm {
namespace {

constexpr std::size_t kEdit = 2;        // in half edits
constexpr std::size_t kCaseChange = 1;  // `Width` for `width`
// Names beyond this are machine-made; comparing them would cost time for nothing.
constexpr std::size_t kLongestName = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::size_t replacement_cost(char a, char b) {
  if (a == b) return 0;
  return lower(a) == lower(b) ? kCaseChange : kEdit;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit) {
  const std::size_t length_difference = a.size() > b.size() ? a.size() - b.size() : b.size() - a.size();
  if (length_difference * kEdit > limit || a.size() > kLongestName || b.size() > kLongestName) {
    return limit + 1;
  }
  // Three rows of the usual table: two back for swaps of neighbours.
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j * kEdit;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i * kEdit;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] =
          std::min({last[j] + kEdit, row[j - 1] + kEdit, last[j - 1] + replacement_cost(a[i - 1], b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before_last[j - 2] + kEdit);
      }
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return std::min(last[b.size()], limit + 1);
}

std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates) {
  // A third of the letters may be wrong: `lenght` finds `length`, `x` finds only `X`.
  std::size_t best = kEdit * (name.size() / 3) + (name.size() < 3 ? kCaseChange : 0);
  std::string_view found;
  for (std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate, best);
    if (distance > best || candidate == name) continue;
    if (distance == best && !found.empty()) continue;
    best = distance;
    found = candidate;
  }
  return found;
}

}  // namespace dhpvm
