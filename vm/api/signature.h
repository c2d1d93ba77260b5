// SPDX-License-Identifier: Apache-2.0
// Signatures of C++ compared with those of the program, and shown to people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bytecode/module.h"
#include "dhpvm/detail/window.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

// "(f64, [f32, 2]) -> str". An Object is written `object`, for it stands for any reference.
std::string signature_text(const HostSignature& signature);

// The same for one type.
std::string type_text(const HostType& type);

bool matches(const bytecode::Module& module, const bytecode::Signature& program, const HostSignature& host);

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
