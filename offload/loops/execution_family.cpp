// SPDX-License-Identifier: Apache-2.0
#include "offload/loops/execution_family.h"

#include <algorithm>
#include <utility>

namespace dhpvm::offload {
namespace {

// Differences, and products with factors, fit where numbers are smaller than this.
constexpr std::int64_t kLarge = std::int64_t{1} << 48;
constexpr std::int64_t kMostFactor = 64;

bool is_large(std::int64_t number) { return number <= -kLarge || number >= kLarge; }

}  // namespace

ExecutionFamily::ExecutionFamily(std::span<const std::int64_t> numbers) {
  numbers_.reserve(numbers.size());
  for (const std::int64_t number : numbers) {
    const auto place = static_cast<std::uint32_t>(numbers_.size());
    numbers_.push_back({.least = number, .most = number, .base = place});
  }
}

// Only for numbers within the limits, which are not large.
bool ExecutionFamily::depends_as_ever(std::size_t place, std::span<const std::int64_t> numbers) const {
  const Number& number = numbers_[place];
  return number.base == place || numbers[place] == number.factor * numbers[number.base] + number.offset;
}

bool ExecutionFamily::contains(std::span<const std::int64_t> numbers) const {
  if (numbers.size() != numbers_.size()) return false;
  for (std::size_t place = 0; place < numbers.size(); ++place) {
    if (numbers[place] < numbers_[place].least || numbers[place] > numbers_[place].most) return false;
  }
  return std::ranges::all_of(dependent_,
                             [&](std::uint32_t place) { return depends_as_ever(place, numbers); });
}

std::size_t ExecutionFamily::differences(std::span<const std::int64_t> numbers) const {
  std::size_t count = 0;
  for (std::size_t place = 0; place < numbers.size(); ++place) {
    const Number& number = numbers_[place];
    const bool is_inside = numbers[place] >= number.least && numbers[place] <= number.most;
    const bool compares = !is_large(numbers[place]) && !is_large(numbers[number.base]);
    if (!is_inside || (number.base != place && !(compares && depends_as_ever(place, numbers)))) ++count;
  }
  return count;
}

// Numbers that have all been constant so far may change together: those that change by a multiple of the smallest
// change depend on the number that does.
void ExecutionFamily::relate(std::span<const std::uint32_t> places, std::span<const std::int64_t> numbers) {
  const auto change = [&](std::uint32_t place) { return numbers[place] - numbers_[place].least; };
  const auto size = [&](std::uint32_t place) { return change(place) < 0 ? -change(place) : change(place); };
  if (places.empty()) return;
  const std::uint32_t base = *std::ranges::min_element(places, {}, size);
  for (const std::uint32_t place : places) {
    if (place == base || change(place) % change(base) != 0) continue;
    const std::int64_t factor = change(place) / change(base);
    if (factor < -kMostFactor || factor > kMostFactor) continue;
    numbers_[place].base = base;
    numbers_[place].factor = factor;
    numbers_[place].offset = numbers[place] - factor * numbers[base];
  }
}

std::optional<ExecutionFamily> ExecutionFamily::with(std::span<const std::int64_t> numbers,
                                                     std::int64_t reach) const {
  if (numbers.size() != numbers_.size()) return std::nullopt;
  ExecutionFamily wider = *this;
  std::vector<std::uint32_t> changed;
  for (std::uint32_t place = 0; place < numbers.size(); ++place) {
    Number& number = wider.numbers_[place];
    const std::int64_t value = numbers[place];
    if (number.is_constant() && value == number.least) continue;
    if (is_large(value) || is_large(number.least) || is_large(number.most)) return std::nullopt;
    if (number.is_constant()) {
      changed.push_back(place);
    } else if (!is_large(numbers[number.base]) && !depends_as_ever(place, numbers)) {
      number = {.least = number.least, .most = number.most, .base = place};
    }
  }
  wider.relate(changed, numbers);
  wider.dependent_.clear();
  for (std::uint32_t place = 0; place < numbers.size(); ++place) {
    Number& number = wider.numbers_[place];
    if (number.base != place) wider.dependent_.push_back(place);
    const std::int64_t value = numbers[place];
    if (value < number.least) number.least = std::max(value - reach, -kLarge);
    if (value > number.most) number.most = std::min(value + reach, kLarge);
  }
  for (const std::uint32_t place : wider.dependent_) {
    Number& number = wider.numbers_[place];
    const Number& base = wider.numbers_[number.base];
    const std::int64_t ends[] = {number.factor * base.least + number.offset,
                                 number.factor * base.most + number.offset};
    number.least = std::min(ends[0], ends[1]);
    number.most = std::max(ends[0], ends[1]);
  }
  return wider;
}

bool ProvenFamilies::contain(std::span<const std::int64_t> numbers) {
  const auto found =
      std::ranges::find_if(entries_, [&](const Entry& entry) { return entry.family.contains(numbers); });
  if (found == entries_.end()) return false;
  if (found != entries_.begin()) std::rotate(entries_.begin(), found, found + 1);
  return true;
}

// As far as the last growth suggests, or half as far, and so on: the limits of a loop that goes on and on are found in
// few steps from either side.
bool ProvenFamilies::grow(Entry& entry, std::span<const std::int64_t> numbers, const Proof& holds) {
  constexpr std::int64_t kMostReach = std::int64_t{1} << 40;
  std::optional<ExecutionFamily> best = entry.family.with(numbers, 0);
  if (!best || !holds(*best)) return false;
  const std::int64_t first = entry.reach;
  entry.reach = 1;
  for (std::int64_t reach = first; reach > 0; reach /= 2) {
    std::optional<ExecutionFamily> wider = entry.family.with(numbers, reach);
    if (!wider || !holds(*wider)) continue;
    best = std::move(wider);
    entry.reach = reach == first ? std::min(2 * reach, kMostReach) : reach;
    break;
  }
  entry.family = *std::move(best);
  return true;
}

void ProvenFamilies::add(std::span<const std::int64_t> numbers, const Proof& holds) {
  constexpr unsigned kPatience = 4;
  constexpr unsigned kRarest = 16;
  if (failures_ > kPatience && ++waiting_ >> std::min(failures_ - kPatience, kRarest) == 0) return;
  waiting_ = 0;
  const auto nearest = std::ranges::min_element(
      entries_, {}, [&](const Entry& entry) { return entry.family.differences(numbers); });
  if (nearest != entries_.end() && grow(*nearest, numbers, holds)) {
    failures_ = 0;
    std::rotate(entries_.begin(), nearest, nearest + 1);
    return;
  }
  ++failures_;
  if (entries_.size() == kMost) entries_.pop_back();
  entries_.insert(entries_.begin(), {ExecutionFamily(numbers)});
}

}  // namespace dhpvm::offload
