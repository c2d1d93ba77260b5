// SPDX-License-Identifier: Apache-2.0
// The connection to a client by two file descriptors.
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

// Not thread-safe. The caller owns the descriptors.
class Connection {
 public:
  Connection(int input, int output) : input_(input), output_(output) {}

  // Waits for the next message. Empty: the client has closed its end. Errors are kIo.
  Result<std::optional<std::string>> receive();
  // Whether a message arrives within `patience`.
  bool has_more(std::chrono::milliseconds patience = {});
  // Whether the client has already cancelled this request.
  bool has_cancelled(const Json& id);
  // Errors are kIo, also when the client no longer reads.
  Status send(const Json& message);

 private:
  // False at the end of the input.
  Result<bool> read_some();
  enum class Arrival : std::uint8_t { kNothing, kMessage, kEnd };
  // Takes the next message if it arrives within `patience`. kEnd: there will be no more.
  Arrival take(std::chrono::milliseconds patience);

  int input_;
  int output_;
  MessageReader reader_;
  std::deque<std::string> ready_;  // received but not yet asked for
};

}  // namespace dhpvm::compiler::lsp
