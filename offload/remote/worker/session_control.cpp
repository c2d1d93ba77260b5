// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_control.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.h"
#include "bytecode/bytes.h"

namespace dhpvm::offload::control {
namespace {

// More than the longest message: a connection with its unread bytes.
constexpr std::size_t kLongestMessage = 16 << 10;

class Writer {
 public:
  explicit Writer(std::vector<std::byte>& out) : out_(out), bytes_(out) {}
  void number(std::uint64_t value) { bytes_.varint(value); }
  void flag(bool value) { bytes_.u8(value ? 1 : 0); }
  template <typename E>
  void choice(E value, std::size_t) {
    bytes_.varint(static_cast<std::uint64_t>(value));
  }
  void text(const std::string& value) { bytes_.text(std::string_view(value).substr(0, kLongestText)); }
  void bytes(std::span<const std::byte> value) { out_.insert(out_.end(), value.begin(), value.end()); }
  void bytes(const std::vector<std::byte>& value, std::size_t) {
    bytes_.varint(value.size());
    bytes(std::span(value));
  }

 private:
  std::vector<std::byte>& out_;
  bytecode::ByteWriter bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::byte> message) : bytes_(message, 0) {}
  void number(std::uint64_t& value) { value = bytes_.varint64(); }
  void flag(bool& value) { value = bytes_.u8() != 0; }
  void text(std::string& value) {
    value = bytes_.text();
    if (value.size() > kLongestText) bytes_.fail("a text that is too long");
  }
  void bytes(std::span<std::byte> value) {
    for (std::byte& byte : value) byte = std::byte{bytes_.u8()};
  }
  void bytes(std::vector<std::byte>& value, std::size_t most) {
    value.resize(bytes_.count(static_cast<std::uint32_t>(most), 1, "bytes"));
    bytes(std::span(value));
  }
  // A number below `count`.
  template <typename E>
  void choice(E& value, std::size_t count) {
    const std::uint64_t number = bytes_.varint64();
    if (number >= count) bytes_.fail("an unknown choice");
    value = static_cast<E>(number < count ? number : 0);
  }
  bool ok() const { return bytes_.ok() && bytes_.remaining() == 0; }

 private:
  bytecode::ByteReader bytes_;
};

template <typename T, typename U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <typename Codec>
void visit(Codec& codec, Is<SealState> auto& state) {
  codec.bytes(std::span(state.secret));
  codec.number(state.messages);
}
// All fields except the socket.
template <typename Codec>
void visit(Codec& codec, Is<DetachedChannel> auto& channel) {
  codec.text(channel.connection.peer);
  codec.flag(channel.connection.is_local);
  codec.bytes(channel.connection.unread, kLongestMessage);
  codec.text(channel.peer);
  auto seal = static_cast<std::uint64_t>(channel.seal);
  codec.number(seal);
  auto version = std::uint64_t{channel.version};
  codec.number(version);
  bool has_seals = channel.seals.has_value();
  codec.flag(has_seals);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(channel)>>) {
    channel.seal = static_cast<SealMode>(seal);
    channel.version = static_cast<std::uint16_t>(version);
    if (has_seals) channel.seals.emplace();
  }
  if (!has_seals) return;
  visit(codec, channel.seals->outgoing);
  visit(codec, channel.seals->incoming);
}
template <typename Codec>
void visit(Codec& codec, Is<SessionPlace> auto& place) {
  codec.number(place.number);
  codec.number(place.memory_bytes);
  auto time = static_cast<std::uint64_t>(place.time.count());
  codec.number(time);
  if constexpr (!std::is_const_v<std::remove_reference_t<decltype(place)>>)
    place.time = std::chrono::milliseconds(time);
}
template <typename Codec>
void visit(Codec& codec, Is<Begin> auto& record) {
  codec.number(record.number);
  codec.bytes(std::span(record.token));
  visit(codec, record.place);
  codec.flag(record.dials_client);
  codec.text(record.caches);
  visit(codec, record.frames);
}
template <typename Codec>
void visit(Codec& codec, Is<TakeBulk> auto& record) {
  visit(codec, record.bulk);
}
template <typename Codec>
void visit(Codec& codec, Is<Move> auto& record) {
  visit(codec, record.place);
}
template <typename Codec>
void visit(Codec& codec, Is<Close> auto& record) {
  codec.choice(record.cause, kEndCauses.size());
  codec.number(record.code);
  codec.text(record.message);
}
template <typename Codec>
void visit(Codec& codec, Is<Probe> auto& record) {
  codec.text(record.caches);
}
template <typename Codec>
void visit(Codec& codec, Is<wire::Device> auto& device) {
  codec.text(device.name);
  codec.text(device.description);
  codec.number(device.memory_bytes);
  codec.number(device.largest_allocation);
  codec.number(device.compute_units);
  codec.flag(device.is_gpu);
  codec.flag(device.is_simulated);
}
template <typename Codec>
void visit(Codec& codec, Is<Offer> auto& record) {
  visit(codec, record.device);
}
template <typename Codec>
void visit(Codec& codec, Is<Lends> auto& record) {
  visit(codec, record.device);
}
template <typename Codec>
void visit(Codec& codec, Is<Serving> auto& record) {
  codec.text(record.rights);
}
template <typename Codec>
void visit(Codec& codec, Is<Unable> auto& record) {
  codec.number(record.code);
  codec.text(record.message);
}
template <typename Codec>
void visit(Codec& codec, Is<LogLine> auto& record) {
  codec.choice(record.level, static_cast<std::size_t>(LogLevel::kDebug) + 1);
  codec.text(record.text);
}
template <typename Codec>
void visit(Codec& codec, Is<Ended> auto& record) {
  codec.choice(record.cause, kEndCauses.size());
  codec.text(record.reason);
  codec.number(record.work.jobs);
  codec.number(record.work.bytes_in);
  codec.number(record.work.bytes_out);
}
template <typename Codec, typename Record>
  requires std::is_empty_v<Record>
void visit(Codec&, Record&) {}

// The socket that goes with a record.
Descriptor* socket_of(ToSession& record) {
  if (auto* const begin = std::get_if<Begin>(&record)) return &begin->frames.connection.socket;
  if (auto* const bulk = std::get_if<TakeBulk>(&record)) return &bulk->bulk.connection.socket;
  return nullptr;
}

template <typename Variant>
std::vector<std::byte> write(const Variant& record) {
  std::vector<std::byte> message{static_cast<std::byte>(record.index())};
  Writer writer(message);
  std::visit([&](const auto& fields) { visit(writer, fields); }, record);
  return message;
}

template <typename Variant, std::size_t kIndex = 0>
bool emplace(Variant& record, std::size_t index) {
  if constexpr (kIndex < std::variant_size_v<Variant>) {
    if (index != kIndex) return emplace<Variant, kIndex + 1>(record, index);
    record.template emplace<kIndex>();
    return true;
  }
  return false;
}

template <typename Variant>
Result<std::optional<Variant>> read(std::span<const std::byte> message) {
  std::optional<Variant> record(std::in_place);
  if (emplace(*record, std::to_integer<std::size_t>(message.front()))) {
    Reader reader(message.subspan(1));
    std::visit([&](auto& fields) { visit(reader, fields); }, *record);
    if (reader.ok()) return record;
  }
  return error(ErrorCode::kProtocol, "the process of a session and its worker do not understand each other");
}

// Room for one descriptor beside a message.
struct Beside {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> bytes{};
};

Status send_message(int socket, std::vector<std::byte> message, int descriptor, Patience patience) {
  iovec part{message.data(), message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  Beside beside;
  if (descriptor >= 0) {
    header.msg_control = beside.bytes.data();
    header.msg_controllen = beside.bytes.size();
    cmsghdr* const control = CMSG_FIRSTHDR(&header);
    control->cmsg_level = SOL_SOCKET;
    control->cmsg_type = SCM_RIGHTS;
    control->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(control), &descriptor, sizeof(int));
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &header, MSG_NOSIGNAL | (patience == Patience::kNone ? MSG_DONTWAIT : 0));
  } while (sent < 0 && errno == EINTR);
  const int code = errno;
  explicit_bzero(message.data(), message.size());  // the message may contain keys
  if (sent >= 0) return {};
  return error(ErrorCode::kIo, "the process of a session does not listen: {}", std::strerror(code));
}

// Returns the number of bytes received; 0 when there is no message, and no patience.
Result<std::size_t> receive_message(int socket, std::span<std::byte> memory, Descriptor* descriptor,
                                    Patience patience) {
  iovec part{memory.data(), memory.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  Beside beside;
  if (descriptor != nullptr) {  // otherwise the system closes a descriptor that comes
    header.msg_control = beside.bytes.data();
    header.msg_controllen = beside.bytes.size();
  }
  ssize_t received;
  do {
    received = recvmsg(socket, &header, MSG_CMSG_CLOEXEC | (patience == Patience::kNone ? MSG_DONTWAIT : 0));
  } while (received < 0 && errno == EINTR);
  if (received < 0 && errno == EAGAIN) return std::size_t{0};
  if (received <= 0) return error(ErrorCode::kIo, "the other process has ended");
  if (descriptor != nullptr) {
    const cmsghdr* const control = CMSG_FIRSTHDR(&header);
    if (control != nullptr && control->cmsg_type == SCM_RIGHTS) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(control), sizeof(int));
      *descriptor = Descriptor(number);
    }
  }
  return static_cast<std::size_t>(received);
}

}  // namespace

Result<std::pair<Socket, Socket>> Socket::create_pair() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return error(ErrorCode::kIo, "no sockets for the process of a session: {}; `ulimit -n` is the limit",
                 std::strerror(errno));
  }
  return std::pair(Socket(Descriptor(ends[0])), Socket(Descriptor(ends[1])));
}

Status Socket::send(ToSession record, Patience patience) const {
  Descriptor* const socket = socket_of(record);
  return send_message(descriptor_.get(), write(record), socket == nullptr ? -1 : socket->get(), patience);
}

Status Socket::send(const FromSession& record, Patience patience) const {
  return send_message(descriptor_.get(), write(record), -1, patience);
}

Result<std::optional<ToSession>> Socket::receive_to_session(Patience patience) const {
  std::array<std::byte, kLongestMessage> memory;
  Descriptor passed;
  DHPVM_ASSIGN(const std::size_t bytes, receive_message(descriptor_.get(), memory, &passed, patience));
  if (bytes == 0) return std::optional<ToSession>();
  auto record = read<ToSession>(std::span(memory).first(bytes));
  explicit_bzero(memory.data(), bytes);
  if (!record.ok()) return record;
  if (Descriptor* const socket = socket_of(**record)) *socket = std::move(passed);
  return record;
}

Result<std::optional<FromSession>> Socket::receive_from_session(Patience patience) const {
  std::array<std::byte, kLongestMessage> memory;
  DHPVM_ASSIGN(const std::size_t bytes, receive_message(descriptor_.get(), memory, nullptr, patience));
  if (bytes == 0) return std::optional<FromSession>();
  return read<FromSession>(std::span(memory).first(bytes));
}

}  // namespace dhpvm::offload::control
