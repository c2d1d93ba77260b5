// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/socket_address.h"

#include <netdb.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

// The most connections that wait to be accepted; the kernel may allow fewer.
constexpr int kBacklog = 4096;
Error cannot_listen(const Address& address) {
  if (errno == EADDRINUSE) {
    return error(ErrorCode::kIo,
                 "cannot listen at {}: another program does; choose another port, or 0 for one that is free",
                 address.to_string());
  }
  return error(ErrorCode::kIo, "cannot listen at {}: {}", address.to_string(), std::strerror(errno));
}

}  // namespace

Result<SocketAddress> socket_address(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found) != 0) {
    return error(ErrorCode::kInvalidArgument, "{} is no numeric address", address.to_string());
  }
  SocketAddress made;
  std::memcpy(&made.storage, found->ai_addr, found->ai_addrlen);
  made.size = found->ai_addrlen;
  freeaddrinfo(found);
  return made;
}

Result<Descriptor> listen_at(Address& address) {
  DHPVM_ASSIGN(SocketAddress own, socket_address(address));
  Descriptor socket(::socket(own.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.is_open()) return error(ErrorCode::kIo, "cannot create a socket: {}", std::strerror(errno));
  // A restarted worker takes the port of the last one, whose connections may still be ending.
  const int on = 1;
  static_cast<void>(setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
  if (bind(socket.get(), own.get(), own.size) != 0 || ::listen(socket.get(), kBacklog) != 0)
    return cannot_listen(address);
  SocketAddress bound;
  if (getsockname(socket.get(), bound.get(), &bound.size) == 0)
    address.port = address_of(bound.get(), bound.size).port;
  return socket;
}

}  // namespace dhpvm::offload
