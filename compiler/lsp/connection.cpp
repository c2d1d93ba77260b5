// SPDX-License-Identifier: Apache-2.0
#include "compiler/lsp/connection.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
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
  if (!ready_.empty()) {
    std::optional<std::string> message = std::move(ready_.front());
    ready_.pop_front();
    return message;
  }
  for (;;) {
    DHPVM_ASSIGN(std::optional<std::string> message, reader_.next());
    if (message.has_value()) return message;
    DHPVM_ASSIGN(const bool more, read_some());
    if (!more) return std::optional<std::string>();
  }
}

Connection::Arrival Connection::take(std::chrono::milliseconds patience) {
  for (;;) {
    Result<std::optional<std::string>> message = reader_.next();
    if (!message.ok()) return Arrival::kEnd;  // receive() reports the error
    if (message->has_value()) {
      ready_.push_back(std::move(**message));
      return Arrival::kMessage;
    }
    pollfd wanted{input_, POLLIN, 0};
    if (::poll(&wanted, 1, static_cast<int>(patience.count())) <= 0 || (wanted.revents & POLLIN) == 0)
      return Arrival::kNothing;
    if (const Result<bool> more = read_some(); !more.ok() || !*more) return Arrival::kEnd;
  }
}

bool Connection::has_more(std::chrono::milliseconds patience) {
  return !ready_.empty() || take(patience) != Arrival::kNothing;
}

bool Connection::has_cancelled(const Json& id) {
  constexpr std::size_t kMost = 64;  // messages that are received ahead
  while (ready_.size() < kMost && take({}) == Arrival::kMessage) {
  }
  return std::ranges::any_of(ready_, [&](const std::string& content) {
    if (content.find("$/cancelRequest") == std::string::npos) return false;
    const Json message = Json::parse(content, nullptr, false);
    return message.is_object() && message.value("method", Json()) == "$/cancelRequest" &&
           message.value("params", Json()).is_object() && message["params"].value("id", Json()) == id;
  });
}

Status Connection::send(const Json& message) {
  // File names need not be UTF-8, and a message must not fail because of one.
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
