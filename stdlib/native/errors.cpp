// SPDX-License-Identifier: Apache-2.0
// Traps that the program has caught, as values for the module `errors`.
#include <fmt/format.h>

#include <optional>
#include <string>

#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"

namespace dhpvm::stdlib {
namespace {

// As `from_trap` in errors.dhp reads it.
std::int64_t kind_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kIndexOutOfRange: return 1;
    case ErrorCode::kNegativeLength: return 2;
    case ErrorCode::kDivisionByZero: return 3;
    case ErrorCode::kNullReference: return 4;
    case ErrorCode::kBadCast: return 5;
    case ErrorCode::kClosed:
    case ErrorCode::kBorrowEnded: return 6;
    case ErrorCode::kHostException: return 7;
    case ErrorCode::kIoTrap: return 8;
    default: return 0;
  }
}

// Functions of the host that the trap has passed say so in front of it.
std::string message_of(const Error& trap) {
  if (trap.cause() != nullptr) return fmt::format("{}: {}", trap.message(), message_of(*trap.cause()));
  if (trap.message().empty()) return std::string(to_string(trap.code()));
  // The message of a division by zero is the division alone.
  if (trap.code() != ErrorCode::kDivisionByZero) return trap.message();
  return fmt::format("{}: {}", to_string(trap.code()), trap.message());
}

std::string text_of(const StackFrame& frame) {
  if (frame.file.empty()) return frame.function;
  return fmt::format("{} ({}:{})", frame.function, frame.file, frame.line);
}

}  // namespace

Status errors_take_trap(vm::NativeCall& call) {
  const std::optional<Error> trap = call.isolate.take_caught(integer(call, 0));
  if (!trap) return error(ErrorCode::kUserTrap, "no trap is kept under the number {}", integer(call, 0));
  std::string calls;
  for (const StackFrame& frame : trap->frames()) {
    if (!calls.empty()) calls += '\n';
    calls += "  at " + text_of(frame);
  }
  std::string origin;
  if (!trap->frames().empty() && !trap->frames().front().file.empty()) {
    const StackFrame& innermost = trap->frames().front();
    origin = fmt::format("{}:{}", innermost.file, innermost.line);
  }
  const std::string texts[] = {message_of(*trap), origin, calls};
  for (unsigned i = 0; i < 3; ++i) {
    DHPVM_ASSIGN(gc::String* const made, call.isolate.new_string(texts[i]));
    call.r[i] = reinterpret_cast<gc::Ref>(made);
  }
  return_integer(call, 0, kind_of(trap->code()));
  return {};
}

}  // namespace dhpvm::stdlib
