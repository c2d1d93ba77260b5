// SPDX-License-Identifier: Apache-2.0
#include "base/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace dhpvm {
namespace {

std::string hash_of(std::string_view text, std::size_t piece) {
  Sha256 hash;
  for (std::size_t at = 0; at < text.size(); at += piece) hash.update(text.substr(at, piece));
  std::string digits;
  for (const std::uint8_t byte : hash.finish()) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

// The examples of FIPS 180-4, in pieces of every kind: whole blocks take another way than parts of one.
TEST(Sha256, GivesWhatTheStandardSays) {
  const std::string two_blocks = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
  const std::string million(1'000'000, 'a');
  for (const std::size_t piece :
       {std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{1000}, std::size_t{1'000'000}}) {
    EXPECT_EQ(hash_of("", piece), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    EXPECT_EQ(hash_of("abc", piece), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    EXPECT_EQ(hash_of(two_blocks, piece), "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    EXPECT_EQ(hash_of(million, piece), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  }
}

// Every size around the end of a block, where the padding needs another one.
TEST(Sha256, PiecesMakeNoDifference) {
  for (std::size_t size = 0; size < 600; ++size) {
    std::string text(size, 'x');
    for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + size);
    EXPECT_EQ(hash_of(text, 1), hash_of(text, 600)) << size;
  }
}

}  // namespace
}  // namespace dhpvm
