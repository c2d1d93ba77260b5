// SPDX-License-Identifier: Apache-2.0
#include "vm/code_map.h"

#include <algorithm>
#include <charconv>
#include <iterator>

namespace dhpvm::vm {
namespace {

// "body.12" is a function, "loop.12.40" one of its loops, "continue.12.48" the entry of a loop that was running.
// "enter.12", a stub that only leads to the body, does not belong to a function of the program.
std::optional<std::uint32_t> function_of(std::string_view name) {
  for (const std::string_view prefix : {"body.", "loop.", "continue."}) {
    if (!name.starts_with(prefix)) continue;
    std::uint32_t function = 0;
    const auto end = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), function);
    if (end.ec == std::errc()) return function;
  }
  return std::nullopt;
}

}  // namespace

void CodeMap::add(const void* begin, std::size_t size, std::string_view name) {
  const std::optional<std::uint32_t> function = function_of(name);
  if (!function || size == 0) return;
  const auto low = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t high = low + size;
  const std::lock_guard lock(mutex_);
  // The code that was here has been freed.
  auto at = parts_.upper_bound(low);
  if (at != parts_.begin() && std::prev(at)->second.end > low) --at;
  while (at != parts_.end() && at->first < high) at = parts_.erase(at);
  parts_[low] = {high, *function};
  lowest_ = std::min(lowest_.load(), low);
  highest_ = std::max(highest_.load(), high);
}

std::optional<std::uint32_t> CodeMap::find(std::uintptr_t address) const {
  if (address < lowest_.load(std::memory_order_relaxed) ||
      address >= highest_.load(std::memory_order_relaxed))
    return std::nullopt;
  const std::lock_guard lock(mutex_);
  const auto next = parts_.upper_bound(address);
  if (next == parts_.begin()) return std::nullopt;
  const Part& part = std::prev(next)->second;
  return address < part.end ? std::optional(part.function) : std::nullopt;
}

}  // namespace dhpvm::vm
