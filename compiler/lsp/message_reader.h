// SPDX-License-Identifier: Apache-2.0
// The framing of the protocol: a header with the length of the content, an empty line, the content.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "dhpvm/result.h"

namespace dhpvm::compiler::lsp {

// Cuts a stream of bytes into messages. Not thread-safe.
class MessageReader {
 public:
  // A client that sends more has gone wrong: sources have at most 16 MiB, and JSON makes them longer.
  static constexpr std::size_t kMaxContent = 64u << 20;
  static constexpr std::size_t kMaxHeader = 4096;

  void add(std::string_view bytes) { waiting_ += bytes; }
  // The content of the next message; nothing while it is not complete. kIo: no message can be found any more.
  Result<std::optional<std::string>> next();

 private:
  Status read_header();

  std::string waiting_;
  std::optional<std::size_t> length_;  // of the content, once its header has been read
};

// `content` behind its header.
std::string framed(std::string_view content);

}  // namespace dhpvm::compiler::lsp
