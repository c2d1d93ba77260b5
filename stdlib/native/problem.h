// SPDX-License-Identifier: Apache-2.0
// Problems that the module in the language makes errors of, with a kind: natives that read bytes give them as results.
#pragma once

#include <cstdint>

#include "stdlib/native/call.h"

namespace dhpvm::stdlib {

// The numbers are those that the modules know.
enum class Problem : std::int64_t { kNone = 0, kMalformed = 1, kUnsupported = 2, kNoLibrary = 3 };

// Returns the kind as the first number, and the words, or null, as the reference `index`. Errors of other codes than
// kMalformed, kUnsupported and kNotFound stop the program, and are given back.
inline Status return_problem(vm::NativeCall& call, unsigned index, const Status& outcome) {
  Problem problem = Problem::kNone;
  call.r[index] = nullptr;
  if (!outcome.ok()) {
    switch (outcome.error().code()) {
      case ErrorCode::kMalformed: problem = Problem::kMalformed; break;
      case ErrorCode::kUnsupported: problem = Problem::kUnsupported; break;
      case ErrorCode::kNotFound: problem = Problem::kNoLibrary; break;
      default: return outcome;
    }
    DHPVM_ASSIGN(gc::String* const reason, call.isolate.new_string(outcome.error().message()));
    call.r[index] = reinterpret_cast<gc::Ref>(reason);
  }
  return_integer(call, 0, static_cast<std::int64_t>(problem));
  return {};
}

// The same with bytes in front.
inline Status return_bytes_or_problem(vm::NativeCall& call, const Result<std::string>& outcome) {
  DHPVM_TRY(return_bytes(call, outcome.ok() ? std::string_view(*outcome) : std::string_view()));
  return return_problem(call, 1, outcome.ok() ? Status() : Status(outcome.error()));
}

}  // namespace dhpvm::stdlib
