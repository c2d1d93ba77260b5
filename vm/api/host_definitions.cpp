// SPDX-License-Identifier: Apache-2.0
#include "vm/api/host_definitions.h"

#include <string>
#include <utility>

#include "base/error.h"
#include "vm/api/signature.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

Status define_function(EngineState& engine, std::string_view name, const HostSignature& signature,
                       std::shared_ptr<void> function, HostThunk thunk) {
  const std::size_t point = name.find('.');
  if (point == name.npos || point == 0 || point + 1 == name.size()) {
    return error(ErrorCode::kInvalidArgument,
                 "'{}' cannot be the name of a host function: use a name like host.{}", name,
                 name.empty() ? "log" : name);
  }
  auto native = [name = std::string(name), function = std::move(function),
                 thunk](vm::NativeCall& call) -> Status {
    auto& isolate = IsolateState::of(call.isolate);
    // Flush, so that the program's output comes before anything that the host function prints.
    if (isolate.console.has_output()) DHPVM_TRY(isolate.console.flush());
    HostCall host{{call.p, reinterpret_cast<void**>(call.r), &call.isolate}, name};
    return thunk(function.get(), host);
  };
  const std::lock_guard lock(engine.mutex);
  return engine.natives.define(std::string(name), signature_text(signature), std::move(native));
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
