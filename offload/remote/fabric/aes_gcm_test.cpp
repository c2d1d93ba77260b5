// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/aes_gcm.h"

#include <gtest/gtest.h>

#include <vector>

namespace dhpvm::offload {
namespace {

GcmSecret secret() {
  GcmSecret made;
  for (std::size_t i = 0; i < made.key.size(); ++i) made.key[i] = static_cast<unsigned char>(i);
  for (std::size_t i = 0; i < made.vector.size(); ++i) made.vector[i] = static_cast<unsigned char>(100 + i);
  return made;
}

std::vector<std::byte> bytes(std::size_t count) {
  std::vector<std::byte> made(count);
  for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::byte>(i * 7);
  return made;
}

class AesGcmTest : public ::testing::Test {
 protected:
  Status seal(ConstBytes readable, std::vector<std::byte>& data) {
    return sender_.seal(readable, data, data, tag_);
  }
  Status open(ConstBytes readable, std::vector<std::byte>& data) {
    return receiver_.open(readable, data, tag_);
  }

  AesGcm sender_{secret(), SealUse::kSeal};
  AesGcm receiver_{secret(), SealUse::kOpen};
  Tag tag_{};
};

TEST_F(AesGcmTest, WhatIsSealedOpens) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{16}, std::size_t{100'000}}) {
    const std::vector<std::byte> readable = bytes(size / 3);
    std::vector<std::byte> data = bytes(size);
    ASSERT_TRUE(seal(readable, data).ok());
    if (size > 1) {
      EXPECT_NE(data, bytes(size));
    }
    ASSERT_TRUE(open(readable, data).ok());
    EXPECT_EQ(data, bytes(size));
  }
}

TEST_F(AesGcmTest, ChangesAreNoticed) {
  const std::vector<std::byte> readable = bytes(5);
  for (int what = 0; what < 3; ++what) {
    AesGcm sender(secret(), SealUse::kSeal);
    AesGcm receiver(secret(), SealUse::kOpen);
    std::vector<std::byte> header = readable;
    std::vector<std::byte> data = bytes(40);
    Tag tag{};
    ASSERT_TRUE(sender.seal(header, data, data, tag).ok());
    if (what == 0) header[4] ^= std::byte{1};
    if (what == 1) data[39] ^= std::byte{0x80};
    if (what == 2) tag[0] ^= std::byte{1};
    EXPECT_FALSE(receiver.open(header, data, tag).ok()) << what;
  }
}

TEST_F(AesGcmTest, AnotherProcessGoesOnWhereOneHasStopped) {
  // At the beginning, in between, and where the key changes.
  for (const std::uint64_t messages : {std::uint64_t{0}, std::uint64_t{3}, AesGcm::kMessagesPerKey - 1,
                                       AesGcm::kMessagesPerKey, AesGcm::kMessagesPerKey + 1}) {
    AesGcm sender(secret(), SealUse::kSeal);
    AesGcm receiver(secret(), SealUse::kOpen);
    std::vector<std::byte> data = bytes(16);
    Tag tag{};
    for (std::uint64_t i = 0; i < messages; ++i) {
      ASSERT_TRUE(sender.seal({}, data, data, tag).ok());
      ASSERT_TRUE(receiver.open({}, data, tag).ok());
    }
    AesGcm next_sender(sender.state(), SealUse::kSeal);
    AesGcm next_receiver(receiver.state(), SealUse::kOpen);
    ASSERT_TRUE(next_sender.seal({}, data, data, tag).ok());
    ASSERT_TRUE(next_receiver.open({}, data, tag).ok()) << messages;
    EXPECT_EQ(data, bytes(16));
  }
}

TEST_F(AesGcmTest, OrderIsNoticed) {
  std::vector<std::byte> first = bytes(10);
  ASSERT_TRUE(seal({}, first).ok());
  const Tag tag = tag_;
  std::vector<std::byte> again = first;
  ASSERT_TRUE(open({}, first).ok());
  tag_ = tag;
  EXPECT_FALSE(open({}, again).ok()) << "the same message twice";
}

// RFC 5116 has no vectors of its own; this is test case 16 of the GCM specification (McGrew and Viega).
TEST_F(AesGcmTest, IsTheStandardsCipher) {
  GcmSecret known;
  const auto fill = [](auto& to, const char* hex) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      const char digits[] = {hex[2 * i], hex[2 * i + 1], 0};
      to[i] = static_cast<typename std::remove_reference_t<decltype(to)>::value_type>(
          std::strtoul(digits, nullptr, 16));
    }
  };
  fill(known.key, "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308");
  fill(known.vector, "cafebabefacedbaddecaf888");
  std::vector<std::byte> readable(20);
  fill(readable, "feedfacedeadbeeffeedfacedeadbeefabaddad2");
  std::vector<std::byte> data(60);
  fill(data,
       "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16ae"
       "df5aa0de657"
       "ba637b39");
  AesGcm sender(known, SealUse::kSeal);
  Tag tag{};
  ASSERT_TRUE(sender.seal(readable, data, data, tag).ok());
  Tag expected{};
  fill(expected, "76fc6ece0f4e1768cddf8853bb2d551b");
  EXPECT_EQ(tag, expected);
}

TEST_F(AesGcmTest, KeysAreRenewed) {
  std::vector<std::byte> one = bytes(1);
  for (std::uint64_t i = 0; i < AesGcm::kMessagesPerKey; ++i) {
    ASSERT_TRUE(seal({}, one).ok());
    ASSERT_TRUE(open({}, one).ok());
  }
  std::vector<std::byte> data = bytes(100);
  ASSERT_TRUE(seal({}, data).ok());
  ASSERT_TRUE(open({}, data).ok());
  EXPECT_EQ(data, bytes(100));
}

}  // namespace
}  // namespace dhpvm::offload
