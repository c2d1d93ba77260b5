// SPDX-License-Identifier: Apache-2.0
// Entries of the cache on their way to another process, which writes them: for processes that may only read the cache's
// directory. The socket to that process, which keeps messages apart, is named by its number in the environment, as
// make names its job server.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "codegen/cached/code_cache.h"

namespace dhpvm::codegen {

inline constexpr const char* kCodeWriterVariable = "DHPVM_CACHE_WRITER";

// A part of an entry, which is an object file and then its metadata. An entry's parts are sent in their order.
struct CodePart {
  CacheKey key;
  std::uint64_t object_size = 0;
  std::uint64_t metadata_size = 0;
  std::uint64_t offset = 0;  // in both together
  std::span<const std::byte> bytes = {};
};
// The longest message.
inline constexpr std::size_t kLongestCodeMessage = 16 << 10;

// The socket of this process; -1: it writes its entries itself.
int code_writer();
// Blocks while the other process does not read. Code that cannot be sent is lost.
void send_code(int socket, const CacheKey& key, std::span<const std::byte> object,
               std::span<const std::byte> metadata);
// Nothing if the message is none, or the part is not inside its entry. The bytes are those of the message.
std::optional<CodePart> read_code_part(std::span<const std::byte> message);

}  // namespace dhpvm::codegen
