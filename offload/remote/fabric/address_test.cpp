// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/address.h"

#include <gtest/gtest.h>

namespace dhpvm::offload {
namespace {

TEST(Address, ReadsWhatPeopleWrite) {
  const std::pair<const char*, Address> cases[] = {
      {"gpubox:7471", {"gpubox", 7471}},        {"gpubox", {"gpubox", kDefaultPort}},
      {"127.0.0.1:0", {"127.0.0.1", 0}},        {"[::1]:65535", {"::1", 65535}},
      {"[fe80::1]", {"fe80::1", kDefaultPort}},
  };
  for (const auto& [text, expected] : cases) {
    const Result<Address> address = Address::parse(text);
    ASSERT_TRUE(address.ok()) << text;
    EXPECT_EQ(*address, expected) << text;
    EXPECT_EQ(*Address::parse(address->to_string()), expected) << text;
  }
}

TEST(Address, RefusesTheRest) {
  for (const char* text :
       {"", ":1", "a:", "a:65536", "a:-1", "a:1x", "::1", "[::1", "[]:1", "[::1]7", "a: 1"}) {
    const Result<Address> address = Address::parse(text);
    ASSERT_FALSE(address.ok()) << text;
    EXPECT_NE(address.error().message().find("HOST:PORT"), std::string::npos);
  }
}

TEST(Address, KnowsWhatStaysOnThisMachine) {
  for (const char* host : {"127.0.0.1", "127.255.0.3", "::1"}) EXPECT_TRUE(is_loopback({host, 1})) << host;
  for (const char* host :
       {"0.0.0.0", "128.0.0.1", "10.0.0.1", "::", "::2", "localhost", "127.0.0.1.example.org"})
    EXPECT_FALSE(is_loopback({host, 1})) << host;
}

TEST(Address, LooksUpNames) {
  const auto found = resolve({"localhost", 5});
  ASSERT_TRUE(found.ok());
  for (const Address& address : *found) {
    EXPECT_TRUE(is_loopback(address)) << address.to_string();
    EXPECT_EQ(address.port, 5);
  }
  const auto missing = resolve({"no such host", 5});
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code(), ErrorCode::kNotFound);
}

}  // namespace
}  // namespace dhpvm::offload
