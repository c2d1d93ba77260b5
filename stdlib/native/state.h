// SPDX-License-Identifier: Apache-2.0
// The state of native functions for one isolate: its console, and the exit code that the program asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "stdlib/native/console.h"
#include "stdlib/native/rights.h"
#include "vm/isolate.h"
#include "vm/native.h"

namespace dhpvm::stdlib {

// The host data of every isolate that links the standard library. Used by one thread at a time,
// like the isolate.
struct NativeState {
  Console console;
  std::optional<std::int32_t> exit_code;           // set by os.exit, which then ends the program with a trap
  std::shared_ptr<const Rights> rights = nullptr;  // null: all

  static NativeState& of(vm::Isolate& isolate) { return *static_cast<NativeState*>(isolate.host_data()); }
  static NativeState& of(vm::NativeCall& call) { return of(call.isolate); }
};

}  // namespace dhpvm::stdlib
