// SPDX-License-Identifier: Apache-2.0
// Shared by the typed API of C++ and the untyped one of C: functions by name, and arrays by kind.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "dhpvm/result.h"
#include "vm/api/state.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

// The index of an exported function. kNotFound with the nearest name.
Result<std::uint32_t> find_export(const IsolateState& isolate, std::string_view name);

// The same for the constructor of a class; only modules compiled with host_objects have them.
Result<std::uint32_t> find_constructor(const IsolateState& isolate, std::string_view type);

// With a receiver, the first reference parameter is the receiver, and not among those that calls give.
std::shared_ptr<const Target> make_target(std::shared_ptr<IsolateState> isolate, std::uint32_t function,
                                          const Object& receiver = {});

// The same for a function that the host keeps: a reload of the isolate redirects it to the new code.
std::shared_ptr<const Target> make_kept_target(std::shared_ptr<IsolateState> isolate, std::uint32_t function);

// Redirects the kept targets of `from` to the functions of the same names in `to`. kNotFound or kInvalidArgument if one
// is missing there or has another signature: then no target changes.
Status turn_targets(IsolateState& from, const std::shared_ptr<IsolateState>& to);

// A new array in the program's memory, zeroed. kInvalidArgument if the module has no arrays of this type.
Result<Object> new_array(const std::shared_ptr<IsolateState>& isolate, Kind kind,
                         std::span<const std::int64_t> sizes);

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
