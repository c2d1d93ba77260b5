// SPDX-License-Identifier: Apache-2.0
// A family of executions of one kernel that share one proof. A loop inside another one often has different bounds in
// each execution, as in eliminations, along diagonals and in triangles. Evaluating the footprint for each execution
// takes longer than a short loop; checking that its numbers lie within limits that were proven before does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace dhpvm::offload {

// All executions whose numbers (numbers_of() in execution_memo.h) lie within limits, and depend on each other as in the
// executions seen so far: for example, the upper bound of a row of a triangle is a scalar plus 1.
class ExecutionFamily {
 public:
  struct Number {
    std::int64_t least = 0;
    std::int64_t most = 0;  // included
    // The number is `factor` times the number in place `base`, plus `offset`. A constant, or a number that depends on
    // no other, is its own base.
    std::uint32_t base = 0;
    std::int64_t factor = 1;
    std::int64_t offset = 0;

    bool is_constant() const { return least == most; }
  };

  // The family of this one execution.
  explicit ExecutionFamily(std::span<const std::int64_t> numbers);

  bool contains(std::span<const std::int64_t> numbers) const;
  // How many of the numbers are outside the limits or depend on others in a different way. `numbers` has as many as
  // the family.
  std::size_t differences(std::span<const std::int64_t> numbers) const;
  // A family that contains this one and `numbers`: limits that have to move move `reach` further, and numbers that
  // `numbers` shows to be independent become their own base. Nothing if numbers are too large to be compared.
  std::optional<ExecutionFamily> with(std::span<const std::int64_t> numbers, std::int64_t reach) const;

  std::span<const Number> numbers() const { return numbers_; }

 private:
  bool depends_as_ever(std::size_t place, std::span<const std::int64_t> numbers) const;
  void relate(std::span<const std::uint32_t> places, std::span<const std::int64_t> numbers);

  std::vector<Number> numbers_;
  std::vector<std::uint32_t> dependent_;  // those that are not their own base
};

// The families of one kernel's executions for which a property has been proven. Used by one thread at a time.
class ProvenFamilies {
 public:
  using Proof = std::function<bool(const ExecutionFamily&)>;

  bool contain(std::span<const std::int64_t> numbers);
  // Adds an execution that no family contains and for which the property holds: extends a family if the property holds
  // for the larger one, too, or else begins a new one.
  void add(std::span<const std::int64_t> numbers, const Proof& holds);

 private:
  static constexpr std::size_t kMost = 4;
  struct Entry {
    ExecutionFamily family;
    std::int64_t reach = 1;  // for the next attempt to extend it
  };
  static bool grow(Entry& entry, std::span<const std::int64_t> numbers, const Proof& holds);

  std::vector<Entry> entries_;  // the most recently used first
  // Failed attempts since the last success, and executions outside all families since the last attempt: if executions
  // have nothing in common, attempts become more and more rare.
  unsigned failures_ = 0;
  std::uint64_t waiting_ = 0;
};

}  // namespace dhpvm::offload
