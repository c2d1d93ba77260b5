// SPDX-License-Identifier: Apache-2.0
// JSON values of the protocol. Reading a member that is absent or has another type throws Json::exception: the server
// catches it for each message and answers that the parameters are invalid.
#pragma once

#include <nlohmann/json.hpp>

namespace dhpvm::compiler::lsp {

using Json = nlohmann::json;

}  // namespace dhpvm::compiler::lsp
