// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/fabric/key_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace dhpvm::offload {
namespace {

using ::testing::HasSubstr;

class KeyFile : public ::testing::Test {
 protected:
  KeyFile() : path_(::testing::TempDir() + "dhpvm_key_" + std::to_string(getpid())) {
    std::filesystem::remove(path_);
  }
  ~KeyFile() override { std::filesystem::remove(path_); }
  const std::string path_;
};

TEST_F(KeyFile, IsMadeOnceAndForItsOwnerAlone) {
  ASSERT_TRUE(make_key_file(path_).ok());
  struct stat facts{};
  ASSERT_EQ(stat(path_.c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777, 0600u);
  const auto key = read_key_file(path_);
  ASSERT_TRUE(key.ok()) << key.error().to_string();
  EXPECT_EQ(key->size(), kKeyBytes);
  EXPECT_EQ(make_key_file(path_).error().code(), ErrorCode::kIo);
  EXPECT_EQ(*read_key_file(path_), *key);
}

TEST_F(KeyFile, OfOthersIsRefused) {
  ASSERT_TRUE(make_key_file(path_).ok());
  for (const mode_t mode : {0644u, 0640u, 0602u}) {
    ASSERT_EQ(chmod(path_.c_str(), mode), 0);
    const auto key = read_key_file(path_);
    ASSERT_FALSE(key.ok());
    EXPECT_THAT(key.error().message(), HasSubstr("chmod 600"));
  }
}

TEST_F(KeyFile, ThatIsMissingOrSomethingElse) {
  EXPECT_EQ(read_key_file(path_).error().code(), ErrorCode::kNotFound);
  std::ofstream(path_) << "secret";
  ASSERT_EQ(chmod(path_.c_str(), 0600), 0);
  EXPECT_THAT(read_key_file(path_).error().to_string(), HasSubstr("--make-key"));
}

TEST(Key, InBothNotations) {
  const std::string hex = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1eFF";
  const std::string base64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHv8=";
  const auto one = parse_key(" " + hex + "\r\n");
  const auto two = parse_key(base64);
  ASSERT_TRUE(one.ok());
  ASSERT_TRUE(two.ok());
  EXPECT_EQ(*one, *two);
  EXPECT_EQ((*one)[31], std::byte{0xff});
}

TEST(Key, Malformed) {
  const std::string hex(64, 'a');
  for (const std::string& text :
       {std::string(), std::string("  \n"), hex + "a", hex.substr(1), hex.substr(1) + "g",
        std::string(43, 'A') + "A", std::string(42, 'A') + "?=", std::string(64, '\0')})
    EXPECT_FALSE(parse_key(text).ok()) << text;
}

// The kernel's word for it: locked, and left out of core dumps.
TEST(SecretBytesTest, AreLockedAndInNoCoreDump) {
  const SecretBytes secret(32, std::byte{1});
  const auto place = reinterpret_cast<std::uintptr_t>(secret.data());
  std::ifstream maps("/proc/self/smaps");
  std::string flags;
  bool is_there = false;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0;
    unsigned long end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) is_there = begin <= place && place < end;
    if (is_there && line.starts_with("VmFlags:")) flags = line;
  }
  EXPECT_THAT(flags, HasSubstr(" dd"));
#ifndef DHPVM_SANITIZED  // sanitizers lock no memory
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur >= (64 << 10))
    EXPECT_THAT(flags, HasSubstr(" lo"));
#endif
}

}  // namespace
}  // namespace dhpvm::offload
