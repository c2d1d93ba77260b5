// SPDX-License-Identifier: Apache-2.0
// Errors that are values of a program, as errors of the host.
#pragma once

#include "bytecode/module.h"
#include "dhpvm/result.h"
#include "gc/object.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

// Whether the type is the class of such errors.
bool is_program_error(const bytecode::Module& module, const bytecode::ValueType& type);

// kUserTrap with the error's text and its causes, and the places where it was made and passed on as frames.
Error program_error(const bytecode::Module& module, gc::Ref error);

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
