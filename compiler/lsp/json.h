// SPDX-License-Identifier: Apache-2.0
// Values of the protocol. Reading a member that a message lacks, or one of another type, throws Json::exception: the
// server catches it around each message and answers that the parameters are wrong.
#pragma once

#include <nlohmann/json.hpp>

namespace dhpvm::compiler::lsp {

using Json = nlohmann::json;

}  // namespace dhpvm::compiler::lsp
