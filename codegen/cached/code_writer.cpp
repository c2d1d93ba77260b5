// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/code_writer.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace dhpvm::codegen {
namespace {

// The head of a message, in the machine's byte order: both processes run on it.
struct Head {
  CacheKey key;
  std::uint64_t object_size = 0;
  std::uint64_t metadata_size = 0;
  std::uint64_t offset = 0;
};
static_assert(std::has_unique_object_representations_v<Head>);

constexpr std::size_t kLongestPart = kLongestCodeMessage - sizeof(Head);

bool send_part(int socket, Head head, std::span<const std::byte> bytes) {
  std::array<iovec, 2> pieces{iovec{&head, sizeof(head)},
                              iovec{const_cast<std::byte*>(bytes.data()), bytes.size()}};
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = pieces.size();
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

}  // namespace

int code_writer() {
  const char* const named = std::getenv(kCodeWriterVariable);
  if (named == nullptr) return -1;
  const std::string_view text = named;
  int socket = -1;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), socket);
  return problem == std::errc() && end == text.data() + text.size() ? socket : -1;
}

void send_code(int socket, const CacheKey& key, std::span<const std::byte> object,
               std::span<const std::byte> metadata) {
  Head head{key, object.size(), metadata.size(), 0};
  for (std::span<const std::byte> left : {object, metadata}) {
    while (!left.empty()) {
      const auto part = left.first(std::min(left.size(), kLongestPart));
      if (!send_part(socket, head, part)) return;
      head.offset += part.size();
      left = left.subspan(part.size());
    }
  }
}

std::optional<CodePart> read_code_part(std::span<const std::byte> message) {
  Head head;
  if (message.size() <= sizeof(head)) return std::nullopt;
  std::memcpy(&head, message.data(), sizeof(head));
  const auto bytes = message.subspan(sizeof(head));
  const std::uint64_t size = head.object_size + head.metadata_size;
  if (size < head.object_size || head.offset > size || bytes.size() > size - head.offset) return std::nullopt;
  return CodePart{head.key, head.object_size, head.metadata_size, head.offset, bytes};
}

}  // namespace dhpvm::codegen
