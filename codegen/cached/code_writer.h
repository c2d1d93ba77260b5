// SPDX-License-Identifier: Apache-2.0
// Sends new entries of the cache to another process, which stores them: for processes that may only read the cache's
// directory. An environment variable has the number of the socket to that process, which preserves message boundaries,
// as in make's job server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "codegen/cached/code_cache.h"

namespace dhpvm::codegen {

inline constexpr const char* kCodeWriterVariable = "DHPVM_CACHE_WRITER";

// A part of an entry, which is an object file followed by its metadata. The parts of an entry are sent in order.
struct CodePart {
  CacheKey key;
  std::uint64_t object_size = 0;
  std::uint64_t metadata_size = 0;
  std::uint64_t offset = 0;  // of the concatenation of both
  std::span<const std::byte> bytes = {};
};
// The longest message.
inline constexpr std::size_t kLongestCodeMessage = 16 << 10;

// The socket of this process; -1: it stores its entries itself.
int code_writer();
// Blocks while the receiver does not read. Code that cannot be sent is dropped.
void send_code(int socket, const CacheKey& key, std::span<const std::byte> object,
               std::span<const std::byte> metadata);
// Empty if the message is malformed, or the part is outside its entry. The bytes point into the message.
std::optional<CodePart> read_code_part(std::span<const std::byte> message);

}  // namespace dhpvm::codegen
