// SPDX-License-Identifier: Apache-2.0
#include "offload/ptx/scopes.h"

#include <charconv>

namespace dhpvm::ptx {
namespace {

bool find_in_family(const std::map<std::string, Symbol, std::less<>>& level, std::string_view name,
                    Symbol& symbol) {
  const std::size_t digits = name.find_last_not_of("0123456789") + 1;
  if (digits == 0 || digits >= name.size()) return false;
  // A family's name may end in digits itself.
  for (std::size_t split = digits; split < name.size(); ++split) {
    const auto found = level.find(name.substr(0, split));
    if (found == level.end() || found->second.count == 0) continue;
    std::uint64_t number = 0;
    const auto [rest, problem] = std::from_chars(name.data() + split, name.data() + name.size(), number);
    if (problem != std::errc() || number >= found->second.count) continue;
    symbol = found->second;
    symbol.slot += static_cast<std::int32_t>(number);
    return true;
  }
  return false;
}

}  // namespace

bool Scopes::find(std::string_view name, Symbol& symbol) const {
  for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
    const auto found = level->find(name);
    if (found != level->end() && found->second.count == 0) {
      symbol = found->second;
      return true;
    }
    if (find_in_family(*level, name, symbol)) return true;
  }
  return false;
}

}  // namespace dhpvm::ptx
