// SPDX-License-Identifier: Apache-2.0
// The fields of objects, for the APIs of C++ and C.
#pragma once

#include <string_view>

#include "bytecode/module.h"
#include "vm/api/state.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

// The field of this name; `state` is null for a null object. kNotFound with the nearest name, kBadCast for an object
// that is no instance of a class, kNullReference.
Result<const bytecode::Field*> find_field(const ObjectState* state, std::string_view name);

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
