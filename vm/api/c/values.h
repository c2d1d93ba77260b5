// SPDX-License-Identifier: Apache-2.0
// Values of C between the caller's structures and the windows of calls, in both directions.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "bytecode/module.h"
#include "vm/api/c/states.h"
#include "vm/api/signature.h"

namespace dhpvm::c {

// Room for `count` values on the stack, or on the heap if there are more than N. Not initialised.
template <typename T, std::size_t N>
class Scratch {
 public:
  explicit Scratch(std::size_t count) : many_(count > N ? new T[count] : nullptr) {}
  T* data() { return many_ != nullptr ? many_.get() : few_; }
  T& operator[](std::size_t index) { return data()[index]; }

 private:
  T few_[N];
  std::unique_ptr<T[]> many_;
};

constexpr dhpvm_kind kind_of(detail::Kind kind) { return static_cast<dhpvm_kind>(kind) + 1; }
constexpr bool is_number(dhpvm_kind kind) { return kind >= DHPVM_BOOL && kind <= DHPVM_F64; }
constexpr detail::Kind element_kind(dhpvm_kind kind) { return static_cast<detail::Kind>(kind - 1); }
const char* kind_text(dhpvm_kind kind);

// The values of one side of a signature of the program, with their slots.
std::vector<SignatureValue> describe(const bytecode::Module& module,
                                     const std::vector<bytecode::ValueType>& types);
// The same for types that a host function is defined with.
std::vector<SignatureValue> describe(std::span<const detail::HostType> types);

std::uint64_t register_of(const dhpvm_value& value);
dhpvm_value value_of(dhpvm_kind kind, std::uint64_t bits);

using detail::Lanes;
using detail::lanes_of;
constexpr unsigned lane_count(const dhpvm_array& array) { return array.lanes == 0 ? 1 : array.lanes; }

// Elements described by the caller's structure, after checking, with strides.
struct CheckedArray {
  dhpvm_array array = {};
  std::size_t element_bytes = 0;
  std::size_t count = 0;
  bool is_dense = false;  // in row-major order, and aligned
};
// Returns a Status, because a Result would be copied several times for each argument.
Status check_array(const dhpvm_array* array, CheckedArray& checked);
// Copies elements of any strides to dense memory, and back.
void gather(const CheckedArray& array, std::byte* dense);
void scatter(const CheckedArray& array, const std::byte* dense);

// The elements of an array of the program that the host may access, in `array`.
void fill_array(const vm::Isolate& machine, const gc::Array& elements, Lanes lanes, unsigned rank,
                dhpvm_access access, dhpvm_array& array);

}  // namespace dhpvm::c
