// SPDX-License-Identifier: Apache-2.0
// Registers functions of the host with the machine, whatever language they are written in.
#pragma once

#include <memory>
#include <string_view>

#include "dhpvm/detail/host_function.h"
#include "dhpvm/result.h"
#include "vm/api/state.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

// See Engine::define.
Status define_function(EngineState& engine, std::string_view name, const HostSignature& signature,
                       std::shared_ptr<void> function, HostThunk thunk);

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
