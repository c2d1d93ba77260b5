// SPDX-License-Identifier: Apache-2.0
// Sockets at addresses.
#pragma once

#include <sys/socket.h>

#include "base/descriptor.h"
#include "dhpvm/result.h"
#include "offload/remote/fabric/address.h"

namespace dhpvm::offload {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

// kInvalidArgument for a name.
Result<SocketAddress> socket_address(const Address& address);
// A socket that listens there, and does not block; `address` gets the port that the system chose if it has none.
Result<Descriptor> listen_at(Address& address);

}  // namespace dhpvm::offload
