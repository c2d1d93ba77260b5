// SPDX-License-Identifier: Apache-2.0
// Makes sockets at addresses.
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
// A non-blocking socket that listens at the address. If `address` has no port, it gets the one that the system chose.
Result<Descriptor> listen_at(Address& address);

}  // namespace dhpvm::offload
