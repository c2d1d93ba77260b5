// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/connection.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace dhpvm::compiler::lsp {

Result<bool> Connection::read_some() {
  std::array<char, 1 << 16> buffer;
  for (;;) {
    const ssize_t count = ::read(input_, buffer.data(), buffer.size());
    if (count > 0) reader_.add({buffer.data(), static_cast<std::size_t>(count)});
    if (count >= 0) return count > 0;
    if (errno != EINTR) return error(ErrorCode::kIo, "cannot read from the client: {}", std::strerror(errno));
  }
}

Result<std::optional<std::string>> Connection::receive() {
  if (ready_.has_value()) return std::exchange(ready_, std::nullopt);
  for (;;) {
    DHPVM_ASSIGN(std::optional<std::string> message, reader_.next());
    if (message.has_value()) return message;
    DHPVM_ASSIGN(const bool more, read_some());
    if (!more) return std::optional<std::string>();
  }
}

bool Connection::has_more(std::chrono::milliseconds patience) {
  while (!ready_.has_value()) {
    Result<std::optional<std::string>> message = reader_.next();
    if (!message.ok()) return true;  // receive() says what is wrong
    ready_ = std::move(*message);
    if (ready_.has_value()) break;
    pollfd wanted{input_, POLLIN, 0};
    if (::poll(&wanted, 1, static_cast<int>(patience.count())) <= 0 || (wanted.revents & POLLIN) == 0)
      return false;
    if (const Result<bool> more = read_some(); !more.ok() || !*more) return true;
  }
  return true;
}

Status Connection::send(const Json& message) {
  // Names of files need not be UTF-8, and no message may fail because of one.
  const std::string bytes = framed(message.dump(-1, ' ', false, Json::error_handler_t::replace));
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t count = ::write(output_, bytes.data() + sent, bytes.size() - sent);
    if (count >= 0) {
      sent += static_cast<std::size_t>(count);
    } else if (errno != EINTR) {
      return error(ErrorCode::kIo, "cannot write to the client: {}", std::strerror(errno));
    }
  }
  return {};
}

}  // namespace dhpvm::compiler::lsp
