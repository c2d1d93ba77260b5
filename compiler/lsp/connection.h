// SPDX-License-Identifier: Apache-2.0
// A client at the other end of two file descriptors.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "compiler/lsp/json.h"
#include "compiler/lsp/message_reader.h"
#include "dhpvm/result.h"

namespace dhpvm::compiler::lsp {

// Not thread-safe. The descriptors stay the caller's.
class Connection {
 public:
  Connection(int input, int output) : input_(input), output_(output) {}

  // Waits for the next message. Nothing: the client has closed its end. kIo.
  Result<std::optional<std::string>> receive();
  // Whether something can be received without waiting for longer than this.
  bool has_more(std::chrono::milliseconds patience = {});
  // Whether the client has said already that it no longer needs the answer to this request.
  bool has_cancelled(const Json& id);
  // kIo, and also when the client reads no more.
  Status send(const Json& message);

 private:
  // False at the end of the input.
  Result<bool> read_some();
  enum class Arrival : std::uint8_t { kNothing, kMessage, kEnd };
  // Takes the next message if it comes within this time. kEnd: no other will.
  Arrival take(std::chrono::milliseconds patience);

  int input_;
  int output_;
  MessageReader reader_;
  std::deque<std::string> ready_;  // received before they were asked for
};

}  // namespace dhpvm::compiler::lsp
