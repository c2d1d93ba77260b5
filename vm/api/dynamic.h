// SPDX-License-Identifier: Apache-2.0
// Converts values whose types are known only at run time between dhpvm::Value and the machine.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "bytecode/module.h"
#include "dhpvm/value.h"
#include "vm/api/state.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

// Calls act(T{}) with the C++ type of a kind of numbers or bool.
template <typename F>
auto with_primitive(bytecode::Kind kind, F&& act) {
  switch (kind) {
    case bytecode::Kind::kBool: return act(bool{});
    case bytecode::Kind::kI8: return act(std::int8_t{});
    case bytecode::Kind::kU8: return act(std::uint8_t{});
    case bytecode::Kind::kI16: return act(std::int16_t{});
    case bytecode::Kind::kU16: return act(std::uint16_t{});
    case bytecode::Kind::kI32: return act(std::int32_t{});
    case bytecode::Kind::kU32: return act(std::uint32_t{});
    case bytecode::Kind::kU64: return act(std::uint64_t{});
    case bytecode::Kind::kF32: return act(float{});
    case bytecode::Kind::kF64: return act(double{});
    case bytecode::Kind::kI64:
    case bytecode::Kind::kRef: break;
  }
  return act(std::int64_t{});
}

// The field or element at `where`.
Value value_in(const std::shared_ptr<IsolateState>& isolate, const bytecode::ValueType& type,
               const std::byte* where);

// Calls the function with a value for each parameter, except the target's receiver.
Result<std::vector<Value>> call_target(const Target& target, std::span<const Value> arguments);

// The elements of an array, List or Set, and the entries of a Map.
Result<std::vector<Value>> values_of(const Object& object);
Result<std::vector<std::pair<Value, Value>>> entries_of(const Object& object);

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
