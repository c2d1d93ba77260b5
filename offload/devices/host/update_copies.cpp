// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/host/update_copies.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "bytecode/kind.h"
#include "bytecode/reduction.h"

namespace dhpvm::offload {
namespace {

using bytecode::Reduction;

// Low bits of a register.
std::uint64_t load(const std::byte* element, std::size_t bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, element, bytes);
  return value;
}

void fill(std::byte* elements, std::uint64_t count, const Reduction& update) {
  const std::size_t bytes = bytecode::size_of(update.kind);
  const std::uint64_t identity = bytecode::identity(update);
  for (std::uint64_t n = 0; n < count; ++n) std::memcpy(elements + n * bytes, &identity, bytes);
}

void add_up(std::byte* elements, const std::byte* copy, std::uint64_t count, const Reduction& update) {
  const std::size_t bytes = bytecode::size_of(update.kind);
  const std::uint64_t identity = bytecode::identity(update);
  for (std::uint64_t at = 0; at < count * bytes; at += bytes) {
    if (std::memcmp(copy + at, &identity, bytes) == 0) continue;
    const std::uint64_t sum = bytecode::combine(update, load(elements + at, bytes), load(copy + at, bytes));
    std::memcpy(elements + at, &sum, bytes);
  }
}

}  // namespace

UpdateCopies::UpdateCopies(std::span<const UpdatedArray> updated, const codegen::KernelCall& call,
                           std::size_t arrays, unsigned threads, std::uint64_t iterations)
    : updated_(updated), call_(call), arrays_(arrays), are_wanted_(!updated.empty() && threads > 1) {
  std::uint64_t elements = 0;
  for (const UpdatedArray& one : updated) {
    const codegen::ArrayShape& shape = call.arrays[one.array].shape;
    are_wanted_ = are_wanted_ && shape.length >= 0 && shape.writable == shape.length;
    elements += static_cast<std::uint64_t>(std::max<std::int64_t>(shape.length, 0));
  }
  are_wanted_ = are_wanted_ && elements <= iterations / (2 * std::uint64_t{threads});
}

// Null without copies: a thread without one updates the arrays themselves.
UpdateCopies::Set* UpdateCopies::take() {
  if (!are_wanted_) return nullptr;
  const std::lock_guard lock(mutex_);
  if (free_.empty()) return new_set();
  Set* const set = free_.back();
  free_.pop_back();
  return set;
}

UpdateCopies::Set* UpdateCopies::new_set() {
  auto set = std::make_unique<Set>();
  set->arrays.assign(call_.arrays, call_.arrays + arrays_);
  for (const UpdatedArray& one : updated_) {
    codegen::KernelArray& array = set->arrays[one.array];
    const auto count = static_cast<std::uint64_t>(array.shape.length);
    std::unique_ptr<std::byte[]> copy(new (std::nothrow)
                                          std::byte[count * bytecode::size_of(one.update.kind)]);
    if (copy == nullptr) return nullptr;
    fill(copy.get(), count, one.update);
    array.data = copy.get();
    set->elements.push_back(std::move(copy));
  }
  set->call = {call_.scalars, set->arrays.data(), call_.stop};
  sets_.push_back(std::move(set));
  return sets_.back().get();
}

void UpdateCopies::give_back(Set* set) {
  if (set == nullptr) return;
  const std::lock_guard lock(mutex_);
  free_.push_back(set);
}

void UpdateCopies::combine() {
  for (const std::unique_ptr<Set>& set : sets_) {
    for (std::size_t n = 0; n < updated_.size(); ++n) {
      const codegen::KernelArray& array = call_.arrays[updated_[n].array];
      add_up(array.data, set->elements[n].get(), static_cast<std::uint64_t>(array.shape.length),
             updated_[n].update);
    }
  }
  sets_.clear();
  free_.clear();
}

}  // namespace dhpvm::offload
