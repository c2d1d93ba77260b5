// SPDX-License-Identifier: Apache-2.0
// Natives of module io: the console.
#include "stdlib/native/call.h"
#include "stdlib/native/natives.h"

namespace dhpvm::stdlib {

Status io_write(vm::NativeCall& call) { return NativeState::of(call).console.write(text(call, 0)); }

Status io_write_bytes_out(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::span<char> part, bytes(call, 0, integer(call, 0), integer(call, 1), Access::kRead));
  return NativeState::of(call).console.write({part.data(), part.size()});
}

Status io_write_error(vm::NativeCall& call) {
  return NativeState::of(call).console.write_error(text(call, 0));
}

Status io_flush(vm::NativeCall& call) { return NativeState::of(call).console.flush(); }

Status io_stdin_read_line(vm::NativeCall& call) {
  std::string line;
  DHPVM_ASSIGN(const bool found, NativeState::of(call).console.read_line(line, most_text(call)));
  return found ? return_text(call, line) : return_null(call);
}

Status io_stdin_read_text(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string rest, NativeState::of(call).console.read_rest(most_text(call)));
  return return_text(call, rest);
}

Status io_stdin_read_bytes(vm::NativeCall& call) {
  DHPVM_ASSIGN(const std::string rest, NativeState::of(call).console.read_rest(most_bytes(call)));
  return return_bytes(call, rest);
}

}  // namespace dhpvm::stdlib
