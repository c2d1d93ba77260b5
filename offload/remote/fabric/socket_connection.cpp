// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/socket_connection.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// The most waiting messages that need no credit and no window. There are few of these: signs of life, and credits.
constexpr std::size_t kMostWaiting = 4096;
// The most parts of messages that one system call sends.
constexpr std::size_t kMostParts = 32;
// The most messages that one connection receives before other connections have their turn.
constexpr unsigned kTurn = 16;
// Behind the rest of a message of at least this length, only the next header is read, because further bytes have to be
// copied.
constexpr std::size_t kLongRest = 4096;

// Advances `parts` from `first` on by `bytes`.
void advance(std::span<iovec> parts, std::size_t& first, std::size_t bytes) {
  while (first < parts.size()) {
    iovec& part = parts[first];
    const std::size_t step = std::min(bytes, part.iov_len);
    part.iov_base = static_cast<std::byte*>(part.iov_base) + step;
    part.iov_len -= step;
    bytes -= step;
    if (part.iov_len != 0) return;
    ++first;
  }
}

std::size_t length_in(ConstBytes header) {
  std::size_t length = 0;
  for (unsigned i = 0; i < header.size(); ++i) length |= std::to_integer<std::size_t>(header[i]) << (8 * i);
  return length;
}

std::optional<tcp_info> facts_of(int socket) {
  tcp_info facts{};
  socklen_t size = sizeof(facts);
  if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &facts, &size) != 0) return std::nullopt;
  return facts;
}

bool would_block(int code) { return code == EAGAIN || code == EWOULDBLOCK; }

ssize_t send_parts(int socket, std::span<iovec> parts) {
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

}  // namespace

std::array<std::byte, SocketConnection::kHeaderBytes> SocketConnection::header_of(std::size_t length) {
  std::array<std::byte, kHeaderBytes> header;
  for (unsigned i = 0; i < header.size(); ++i) header[i] = static_cast<std::byte>(length >> (8 * i));
  return header;
}

// ---- Sending --------------------------------------------------------------------------------------------------------

void SocketConnection::send(std::span<const ConstBytes> parts, std::uint64_t tag) {
  const std::lock_guard lock(mutex_);
  if (reason_) return;
  Outgoing& message = outgoing_.emplace_back();
  message.tag = tag;
  message.count = 1;
  std::size_t length = 0;
  for (const ConstBytes part : parts) {
    length += part.size();
    message.parts[message.count++] = {const_cast<std::byte*>(part.data()), part.size()};
  }
  message.header = header_of(length);
  message.parts[0] = {message.header.data(), message.header.size()};
  if (outgoing_.size() == 1) flush();
}

void SocketConnection::send_copy(ConstBytes content) {
  const std::lock_guard lock(mutex_);
  if (reason_) return;
  auto header = header_of(content.size());
  std::array<iovec, 2> parts{
      {{header.data(), header.size()}, {const_cast<std::byte*>(content.data()), content.size()}}};
  std::size_t sent = 0;
  if (is_connected_ && outgoing_.empty() && !send_failure_) {
    const ssize_t result = send_parts(socket_.get(), parts);
    // An error here occurs again when the rest is sent.
    if (result > 0) sent = static_cast<std::size_t>(result);
    if (sent == header.size() + content.size()) return;
  }
  if (outgoing_.size() > kMostWaiting) {
    return fail(error(ErrorCode::kDeviceLost, "{} does not take what it is sent", peer_));
  }
  Outgoing& message = outgoing_.emplace_back();
  message.copy.assign(header.begin(), header.end());
  message.copy.insert(message.copy.end(), content.begin(), content.end());
  message.parts[0] = {message.copy.data() + sent, message.copy.size() - sent};
  message.count = 1;
  if (outgoing_.size() == 1) flush();
}

// Sends what the socket takes. With the mutex held.
void SocketConnection::flush() {
  if (!is_connected_ || send_failure_) return;
  const std::size_t told = sent_.size();
  while (!outgoing_.empty()) {
    std::array<iovec, kMostParts> parts;
    std::size_t count = 0;
    for (const Outgoing& message : outgoing_) {
      const std::size_t left = message.count - message.first;
      if (count + left > kMostParts) break;
      std::copy_n(message.parts.begin() + static_cast<std::ptrdiff_t>(message.first), left,
                  parts.begin() + static_cast<std::ptrdiff_t>(count));
      count += left;
    }
    const ssize_t result = send_parts(socket_.get(), std::span(parts).first(count));
    if (result < 0) {
      if (would_block(errno)) break;
      send_failure_ =
          error(ErrorCode::kDeviceLost, "the connection to {} failed: {}", peer_, std::strerror(errno));
      return run_soon();
    }
    auto bytes = static_cast<std::size_t>(result);
    while (!outgoing_.empty()) {
      Outgoing& message = outgoing_.front();
      const std::span<iovec> rest = std::span(message.parts).first(message.count);
      std::size_t size = 0;
      for (const iovec& part : rest.subspan(message.first)) size += part.iov_len;
      advance(rest, message.first, bytes);
      if (bytes < size) break;
      bytes -= size;
      if (message.tag) sent_.push_back(*message.tag);
      outgoing_.pop_front();
    }
  }
  if (sent_.size() != told) run_soon();
}

// ---- Receiving ------------------------------------------------------------------------------------------------------

void SocketConnection::receive(std::span<const MutableBytes> parts, std::uint64_t tag) {
  const std::lock_guard lock(mutex_);
  if (reason_) return;
  Incoming& incoming = receives_.emplace_back();
  incoming.tag = tag;
  for (const MutableBytes part : parts) incoming.parts[incoming.count++] = {part.data(), part.size()};
  if (std::exchange(is_starved_, false)) run_soon();
}

// Provides memory for the message whose header has been received; false when there is none, or the connection ends.
bool SocketConnection::begin_message() {
  const std::size_t length = length_in(ConstBytes(staging_).subspan(staged_begin_, kHeaderBytes));
  const std::lock_guard lock(mutex_);
  if (reason_) return false;
  if (receives_.empty()) {
    is_starved_ = true;
    return false;
  }
  Message message;
  const Incoming& incoming = receives_.front();
  message.tag = incoming.tag;
  message.bytes = message.missing = length;
  std::size_t left = length;
  for (std::size_t i = 0; i < incoming.count; ++i) {
    const std::size_t size = std::min(left, incoming.parts[i].iov_len);
    message.rest[message.count++] = {incoming.parts[i].iov_base, size};
    left -= size;
  }
  if (left != 0) {
    fail(error(ErrorCode::kProtocol,
               "{} does not send messages of DHPVM: {} bytes came where at most {} are expected", peer_,
               length, length - left));
    return false;
  }
  receives_.pop_front();
  staged_begin_ += kHeaderBytes;
  message_ = message;
  return true;
}

// Moves bytes that have been received already into the message.
void SocketConnection::take_staged() {
  while (message_->missing != 0 && staged() != 0) {
    while (message_->rest[message_->first].iov_len == 0) ++message_->first;
    const iovec& part = message_->rest[message_->first];
    const std::size_t size = std::min(staged(), part.iov_len);
    std::memcpy(part.iov_base, staging_.data() + staged_begin_, size);
    staged_begin_ += size;
    message_->missing -= size;
    advance(std::span(message_->rest).first(message_->count), message_->first, size);
  }
}

// Receives into the memory of the message, if one has begun, and what follows into the staging buffer.
SocketConnection::Step SocketConnection::read_socket() {
  if (!is_readable_) return Step::kWaits;
  if (staged_begin_ != 0) {
    std::memmove(staging_.data(), staging_.data() + staged_begin_, staged());
    staged_end_ -= std::exchange(staged_begin_, 0);
  }
  std::array<iovec, kMaxParts + 1> parts;
  std::size_t count = 0;
  const std::size_t missing = message_ ? message_->missing : 0;
  if (message_) {
    for (std::size_t i = message_->first; i < message_->count; ++i) parts[count++] = message_->rest[i];
  }
  const std::size_t room = missing >= kLongRest ? kHeaderBytes : staging_.size() - staged_end_;
  parts[count++] = {staging_.data() + staged_end_, room};
  ssize_t result;
  do {
    result = readv(socket_.get(), parts.data(), static_cast<int>(count));
  } while (result < 0 && errno == EINTR);
  if (result < 0 && would_block(errno)) {
    is_readable_ = false;
    return Step::kWaits;
  }
  if (result <= 0) {
    close(
        result == 0 || errno == ECONNRESET
            ? error(ErrorCode::kDeviceLost, "the connection to {} was closed by the other side", peer_)
            : error(ErrorCode::kDeviceLost, "the connection to {} failed: {}", peer_, std::strerror(errno)));
    return Step::kWaits;
  }
  const auto bytes = static_cast<std::size_t>(result);
  // Later data causes an event of its own, but an end that was reported before does not.
  if (bytes < missing + room) is_readable_ = is_ending_;
  bytes_received_ += bytes;
  const std::size_t into_message = std::min(bytes, missing);
  if (message_) {
    message_->missing -= into_message;
    advance(std::span(message_->rest).first(message_->count), message_->first, into_message);
  }
  staged_end_ += bytes - into_message;
  return Step::kDone;
}

void SocketConnection::finish_message() {
  const Message message = *message_;
  message_.reset();
  const std::shared_ptr<ConnectionHandler> handler = handler_;  // it may detach the connection
  handler->on_received(message.tag, message.bytes);
}

SocketConnection::Step SocketConnection::receive_step() {
  if (!message_) {
    if (staged() < kHeaderBytes) return read_socket();
    if (!begin_message()) return Step::kWaits;
    take_staged();
  }
  if (message_->missing != 0) return read_socket();
  finish_message();
  return Step::kDone;
}

// ---- Events ---------------------------------------------------------------------------------------------------------

void SocketConnection::established() {
  // Done first, so that messages of the handler are sent after those that have been waiting.
  {
    const std::lock_guard lock(mutex_);
    is_connected_ = true;
    flush();
  }
  const std::shared_ptr<ConnectionHandler> handler = handler_;
  handler->on_connected();
}

void SocketConnection::on_events(std::uint32_t events) {
  if (is_closing_.load()) return;
  bool is_connected;
  {
    const std::lock_guard lock(mutex_);
    is_connected = is_connected_;
    if (is_connected && (events & EPOLLOUT) != 0) flush();
  }
  if (!is_connected) {
    int code = 0;
    socklen_t size = sizeof(code);
    if (getsockopt(socket_.get(), SOL_SOCKET, SO_ERROR, &code, &size) != 0) code = errno;
    if (code != 0) {
      const char* const reason =
          code == ECONNREFUSED ? "Connection refused: nobody listens there" : std::strerror(code);
      return close(error(ErrorCode::kDeviceLost, "could not connect to {}: {}", peer_, reason));
    }
    if ((events & EPOLLOUT) == 0) return;
    established();
  }
  if ((events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) is_ending_ = true;
  if ((events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) is_readable_ = true;
  work();
}

void SocketConnection::run_soon() {
  if (!is_scheduled_.exchange(true)) owner_.run_soon(*this);
}

void SocketConnection::work() {
  is_scheduled_.store(false);
  std::vector<std::uint64_t> sent;
  std::optional<Error> failure;
  {
    const std::lock_guard lock(mutex_);
    sent.swap(sent_);
    failure = send_failure_;
  }
  for (const std::uint64_t tag : sent) {
    if (!is_closing_.load()) handler_->on_sent(tag);
  }
  if (failure) is_readable_ = true;
  unsigned messages = 0;
  while (!is_closing_.load()) {
    const bool had_message = message_.has_value();
    if (receive_step() == Step::kWaits) break;
    if (had_message && !message_ && ++messages == kTurn) return run_soon();
  }
  // The other side's last messages have been read.
  if (failure) close(*failure);
}

void SocketConnection::close(Error reason) {
  const std::lock_guard lock(mutex_);
  fail(std::move(reason));
}

// With the mutex held.
void SocketConnection::fail(Error reason) {
  if (reason_) return;
  reason_ = std::move(reason);
  is_closing_.store(true);
  owner_.close_soon(*this);
}

void SocketConnection::set_unread(ConstBytes bytes) {
  std::ranges::copy(bytes, staging_.begin());
  staged_end_ = bytes.size();
}

bool SocketConnection::is_acknowledged(std::chrono::milliseconds within) const {
  const std::optional<tcp_info> facts = facts_of(socket_.get());
  return facts && facts->tcpi_last_ack_recv <= within.count();
}

// If the other side has no room, nothing is in flight, and its process may take its time.
bool SocketConnection::owes_acknowledgement(std::chrono::milliseconds since) const {
  const std::optional<tcp_info> facts = facts_of(socket_.get());
  return facts && facts->tcpi_unacked != 0 && facts->tcpi_last_ack_recv > since.count();
}

std::optional<DetachedConnection> SocketConnection::detach() {
  {
    const std::lock_guard lock(mutex_);
    if (reason_ || send_failure_ || !outgoing_.empty() || message_) return std::nullopt;
    reason_ = Error(ErrorCode::kDeviceLost, "the connection was given away");
    is_closing_.store(true);
    receives_.clear();
  }
  owner_.forget(*this);
  const ConstBytes unread = ConstBytes(staging_).subspan(staged_begin_, staged());
  handler_ = nullptr;
  return DetachedConnection{std::move(socket_), peer_, is_local_, {unread.begin(), unread.end()}};
}

void SocketConnection::finish() {
  const std::lock_guard lock(mutex_);
  static_cast<void>(shutdown(socket_.get(), SHUT_RDWR));
  socket_.close();
  outgoing_.clear();
  receives_.clear();
  message_.reset();
}

void SocketConnection::tell_closed() {
  if (const auto handler = std::exchange(handler_, nullptr)) handler->on_closed(*reason_);
}

}  // namespace dhpvm::offload
