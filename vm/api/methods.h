// SPDX-License-Identifier: Apache-2.0
// Methods of objects by name, and closures, whatever their types: for the APIs of C++ and C.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "bytecode/module.h"
#include "dhpvm/object.h"
#include "dhpvm/result.h"
#include "vm/api/state.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

// The function of the module that is the object's method `name`, or that runs the closure. kNotFound with the nearest
// name, kBadCast, kNullReference.
Result<std::uint32_t> find_method_function(const Object& object, std::string_view name);
Result<std::uint32_t> find_closure_function(const Object& object);

// The signature of a method without its receiver.
bytecode::Signature bound_signature(const bytecode::Module& module, std::uint32_t function);

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
