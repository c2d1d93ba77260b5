// SPDX-License-Identifier: Apache-2.0
// Compares signatures of C++ with those of the program, and prints them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bytecode/module.h"
#include "dhpvm/detail/window.h"
#include "dhpvm/result.h"
#include "vm/linker.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

// "(f64, [f32, 2]) -> str". An Object is written `object`, for it stands for any reference.
std::string signature_text(const HostSignature& signature);

// The same for one type.
std::string type_text(const HostType& type);

// "1 argument", "2 arguments".
std::string counted(std::size_t count, std::string_view noun);

// The numbers in an element of an array.
struct Lanes {
  Kind kind = Kind::kRef;
  unsigned count = 0;  // 0: elements are neither numbers nor structs of numbers of one kind
};
Lanes lanes_of(const bytecode::Module& module, const bytecode::ValueType& element);

// The type of the program's arrays with such elements. kInvalidArgument if there is none, or more than one.
Result<std::uint32_t> array_type(const vm::LinkedModule& linked, const HostType& type);

bool matches(const bytecode::Module& module, const bytecode::Signature& program, const HostSignature& host);

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
