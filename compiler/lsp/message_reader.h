// SPDX-License-Identifier: Apache-2.0
// The framing of the protocol: a header with the content's length, an empty line, the content.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "dhpvm/result.h"

namespace dhpvm::compiler::lsp {

// Splits a stream of bytes into messages. Not thread-safe.
class MessageReader {
 public:
  // The limit of a message: sources have at most 16 MiB, and JSON makes them longer.
  static constexpr std::size_t kMaxContent = 64u << 20;
  static constexpr std::size_t kMaxHeader = 4096;

  void add(std::string_view bytes) { waiting_ += bytes; }
  // The content of the next message; empty while it is incomplete. kIo: the stream is corrupt and cannot be resumed.
  Result<std::optional<std::string>> next();

 private:
  Status read_header();

  std::string waiting_;
  std::optional<std::size_t> length_;  // of the content, once the header is complete
};

// `content` with a header.
std::string framed(std::string_view content);

}  // namespace dhpvm::compiler::lsp
