// SPDX-License-Identifier: Apache-2.0
// Executions of a kernel that one proof is for. Loops inside of others often have other bounds in each execution, as
// those of eliminations, of diagonals and of triangles do. To put the numbers of each into the footprint takes longer
// than a short loop; to see that they lie between limits that a proof allowed for does not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace dhpvm::offload {

// All executions whose numbers, as numbers_of() of execution_memo.h gives them, lie between limits, and depend on each
// other as they did in those that have been seen: the upper bound of a triangle's rows is a scalar plus 1, say.
class ExecutionFamily {
 public:
  struct Number {
    std::int64_t least = 0;  // both belong to it
    std::int64_t most = 0;
    // It is `factor` times the number in place `base`, plus `offset`. A constant, and a number that depends on no
    // other, is its own base.
    std::uint32_t base = 0;
    std::int64_t factor = 1;
    std::int64_t offset = 0;

    bool is_constant() const { return least == most; }
  };

  // Has one member.
  explicit ExecutionFamily(std::span<const std::int64_t> numbers);

  bool contains(std::span<const std::int64_t> numbers) const;
  // How many of the numbers are not as in this family; `numbers` are as many as it has.
  std::size_t differences(std::span<const std::int64_t> numbers) const;
  // The family of all executions in this one, of `numbers`, and of those between. Where they go beyond this one's
  // limits, the new limits lie `reach` further still. Nothing if numbers are too large to be compared.
  std::optional<ExecutionFamily> with(std::span<const std::int64_t> numbers, std::int64_t reach) const;

  std::span<const Number> numbers() const { return numbers_; }

 private:
  bool depends_as_ever(std::size_t place, std::span<const std::int64_t> numbers) const;
  void relate(std::span<const std::uint32_t> places, std::span<const std::int64_t> numbers);

  std::vector<Number> numbers_;
  std::vector<std::uint32_t> dependent_;  // those that are not their own base
};

// The families of one kernel's executions for which something has been proven. One thread uses it at a time.
class ProvenFamilies {
 public:
  using Proof = std::function<bool(const ExecutionFamily&)>;

  bool contain(std::span<const std::int64_t> numbers);
  // For an execution that is in none of them, and for which the proof holds: makes a family larger if it holds for that
  // as well, or begins a new one.
  void add(std::span<const std::int64_t> numbers, const Proof& holds);

 private:
  static constexpr std::size_t kMost = 4;
  struct Entry {
    ExecutionFamily family;
    std::int64_t reach = 1;  // tried next
  };
  static bool grow(Entry& entry, std::span<const std::int64_t> numbers, const Proof& holds);

  std::vector<Entry> entries_;  // in the order of their last use, the last one first
  // Tries that failed since one succeeded, and executions in no family since the last try: executions that have nothing
  // in common are tried more and more rarely.
  unsigned failures_ = 0;
  std::uint64_t waiting_ = 0;
};

}  // namespace dhpvm::offload
