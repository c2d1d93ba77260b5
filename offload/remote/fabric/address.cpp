// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/error.h"

namespace dhpvm::offload {
namespace {

Error malformed(std::string_view text) {
  return error(ErrorCode::kInvalidArgument,
               "'{}' is not an address: write HOST:PORT, as in gpubox:7471, 127.0.0.1:7471 or [::1]:7471",
               text);
}

}  // namespace

Result<Address> Address::parse(std::string_view text) {
  Address address;
  std::string_view port;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return malformed(text);
    address.host = text.substr(1, end - 1);
    port = text.substr(end + 1);
  } else {
    const std::size_t colon = std::min(text.find(':'), text.size());
    address.host = text.substr(0, colon);
    port = text.substr(colon);
  }
  if (address.host.empty()) return malformed(text);
  if (port.empty()) return address;
  const char* const end = port.data() + port.size();
  const auto [parsed, failure] = std::from_chars(port.data() + 1, end, address.port);
  if (port[0] != ':' || failure != std::errc{} || parsed != end) return malformed(text);
  return address;
}

std::string Address::to_string() const {
  const bool brackets = host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", brackets ? "[" : "", host, brackets ? "]" : "", port);
}

Result<std::vector<Address>> resolve(const Address& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failure = getaddrinfo(address.host.c_str(), nullptr, &hints, &list);
  if (failure != 0) {
    return error(ErrorCode::kNotFound,
                 "the host '{}' is not known: {}. Check how it is spelled, or give its address", address.host,
                 gai_strerror(failure));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  std::vector<Address> found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    char text[NI_MAXHOST];
    if (getnameinfo(entry->ai_addr, entry->ai_addrlen, text, sizeof(text), nullptr, 0, NI_NUMERICHOST) != 0)
      continue;
    Address numeric{text, address.port};
    if (std::ranges::find(found, numeric) == found.end()) found.push_back(std::move(numeric));
  }
  if (found.empty()) return error(ErrorCode::kNotFound, "the host '{}' has no address", address.host);
  return found;
}

Address address_of(const sockaddr* address, std::size_t bytes) {
  char host[NI_MAXHOST];
  char port[NI_MAXSERV];
  Address made{"", 0};
  if (address == nullptr || getnameinfo(address, static_cast<socklen_t>(bytes), host, sizeof(host), port,
                                        sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return made;
  }
  made.host = host;
  const std::string_view digits = port;
  static_cast<void>(std::from_chars(digits.data(), digits.data() + digits.size(), made.port));
  return made;
}

bool is_loopback(const Address& address) {
  in_addr v4{};
  if (inet_pton(AF_INET, address.host.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, address.host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace dhpvm::offload
