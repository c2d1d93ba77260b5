// SPDX-License-Identifier: Apache-2.0
// Where a worker listens or is dialled: "gpubox:7471", "127.0.0.1", "[::1]:0".
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"

namespace dhpvm::offload {

inline constexpr std::uint16_t kDefaultPort = 7471;

struct Address {
  std::string host;
  std::uint16_t port = kDefaultPort;

  // "HOST", "HOST:PORT", with brackets around an IPv6 address. Names are not looked up. kInvalidArgument.
  static Result<Address> parse(std::string_view text);
  // The text that parse() reads.
  std::string to_string() const;
  bool operator==(const Address&) const = default;
};

// The numeric addresses of the name, in the resolver's order; at least one. Blocks as long as the resolver does.
// kNotFound with its reason.
Result<std::vector<Address>> resolve(const Address& address);

// The numeric address in a socket's address; without a host for families that have none.
Address address_of(const sockaddr* address, std::size_t bytes);

// Whether a numeric address never leaves this machine: 127.0.0.0/8 or ::1. False for names.
bool is_loopback(const Address& address);

}  // namespace dhpvm::offload
