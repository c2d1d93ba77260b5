// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/code_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "codegen/cached/build_id.h"
#include "codegen/host/ir_for_tests.h"

namespace dhpvm::codegen {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
std::string text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class CodeCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "code_cache_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override {
    fs::permissions(root_, fs::perms::owner_all);
    fs::remove_all(root_);
  }

  CodeCacheOptions options() {
    CodeCacheOptions options;
    options.directory = directory();
    options.warn = [this](const std::string& warning) { warnings_.push_back(warning); };
    return options;
  }
  std::string directory() const { return root_ + "/a/b"; }
  std::vector<fs::path> files() const {
    std::vector<fs::path> found;
    for (const auto& entry : fs::directory_iterator(directory())) found.push_back(entry.path());
    return found;
  }

  std::string root_;
  std::vector<std::string> warnings_;
};

const CacheKey kKey = cache_key("build", {"a kernel", "this machine"});

TEST_F(CodeCacheTest, KeysDependOnEveryPart) {
  EXPECT_EQ(cache_key("build", {"a", "b"}), cache_key("build", {"a", "b"}));
  EXPECT_NE(cache_key("build", {"ab", "c"}), cache_key("build", {"a", "bc"}));
  EXPECT_NE(cache_key("build", {"a"}), cache_key("build", {"a", ""}));
  EXPECT_NE(cache_key("build", {}), cache_key("build", {""}));
}

TEST_F(CodeCacheTest, KeysDependOnTheBuild) {
  EXPECT_NE(cache_key("a build", {"code"}), cache_key("another build", {"code"}));
  // Linkers write at least 8 bytes, and everything here has a build ID: without it, old code would run after an
  // upgrade.
  EXPECT_GE(build_id().size(), 8u);
  EXPECT_EQ(build_id(), build_id());
  // The build ID is read from a file without loading it, as that of the code generator's library is.
  EXPECT_EQ(build_id_in_file("/proc/self/exe"), build_id());
  EXPECT_EQ(build_id_in_file(directory()), "");
  EXPECT_EQ(build_id_in_file("/dev/null"), "");
}

TEST_F(CodeCacheTest, ReturnsWhatWasStored) {
  const std::string object(100'000, 'x');
  {
    CodeCache cache(options());
    EXPECT_FALSE(cache.find(kKey));
    cache.store(kKey, bytes(object), bytes("sites"));
    cache.store(cache_key("build", {"other"}), bytes("small"), {});
  }
  CodeCache cache(options());
  const auto found = cache.find(kKey);
  ASSERT_TRUE(found);
  EXPECT_EQ(text(found->object()), object);
  EXPECT_EQ(text(found->metadata()), "sites");
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(found->object().data()) % 16, 0U);
  const auto other = cache.find(cache_key("build", {"other"}));
  ASSERT_TRUE(other);
  EXPECT_EQ(text(other->object()), "small");
  EXPECT_TRUE(other->metadata().empty());
  EXPECT_EQ(cache.stats().hits, 2U);
  cache.remove(kKey);
  EXPECT_FALSE(cache.find(kKey));
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
  EXPECT_EQ(fs::status(directory()).permissions(), fs::perms::owner_all);
}

TEST_F(CodeCacheTest, AttemptsCountUntilCodeIsStored) {
  {
    CodeCache cache(options());
    EXPECT_EQ(cache.attempts(kKey), 0U);
    cache.note_attempt(kKey);
    cache.note_attempt(kKey);
  }
  CodeCache cache(options());
  EXPECT_EQ(cache.attempts(kKey), 2U);
  EXPECT_EQ(cache.attempts(cache_key("build", {"other"})), 0U);
  EXPECT_FALSE(cache.find(kKey));
  cache.store(kKey, bytes("code"), {});
  EXPECT_EQ(cache.attempts(kKey), 0U);
  EXPECT_TRUE(cache.find(kKey));
  EXPECT_EQ(files().size(), 1U);
  EXPECT_TRUE(warnings_.empty()) << warnings_[0];
}

TEST_F(CodeCacheTest, OldAttemptsAreForgotten) {
  CodeCache cache(options());
  cache.note_attempt(kKey);
  const auto two_months_ago = fs::file_time_type::clock::now() - std::chrono::hours(24 * 60);
  fs::last_write_time(files().at(0), two_months_ago);
  cache.store(cache_key("build", {"other"}), bytes("code"), {});  // scans the directory
  EXPECT_EQ(cache.attempts(kKey), 0U);
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(CodeCacheTest, EveryFlippedBitIsFoundOut) {
  CodeCache cache(options());
  const std::string object = "some machine code";
  cache.store(kKey, bytes(object), bytes("meta"));
  const fs::path file = files().at(0);
  const auto size = fs::file_size(file);
  for (std::size_t position = 0; position < size; ++position) {
    for (const int bit : {1, 16, 128}) {
      cache.store(kKey, bytes(object), bytes("meta"));
      std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(static_cast<std::streamoff>(position));
      const char byte = static_cast<char>(stream.get());
      stream.seekp(static_cast<std::streamoff>(position));
      stream.put(static_cast<char>(byte ^ bit));
      stream.close();
      EXPECT_FALSE(cache.find(kKey)) << "byte " << position;
      EXPECT_FALSE(fs::exists(file)) << "byte " << position;
    }
  }
  EXPECT_EQ(cache.stats().rejected, size * 3);
}

TEST_F(CodeCacheTest, OtherLengthsAreFoundOut) {
  CodeCache cache(options());
  cache.store(kKey, bytes("some machine code"), bytes("meta"));
  const fs::path file = files().at(0);
  const auto size = fs::file_size(file);
  for (std::uintmax_t length = 0; length <= size + 9; ++length) {
    cache.store(kKey, bytes("some machine code"), bytes("meta"));
    fs::resize_file(file, length);
    EXPECT_EQ(cache.find(kKey).has_value(), length == size) << length;
    EXPECT_EQ(fs::exists(file), length == size) << length;
  }
}

TEST_F(CodeCacheTest, AnEntryUnderAnotherNameIsNotTaken) {
  CodeCache cache(options());
  cache.store(kKey, bytes("code"), {});
  const fs::path first = files().at(0);
  cache.store(cache_key("build", {"b"}), bytes("other"), {});
  const fs::path second = files().at(0) == first ? files().at(1) : files().at(0);
  fs::copy_file(first, second, fs::copy_options::overwrite_existing);
  EXPECT_FALSE(cache.find(cache_key("build", {"b"})));
  EXPECT_TRUE(cache.find(kKey));
}

TEST_F(CodeCacheTest, WhatOthersCanWriteIsNotTaken) {
  CodeCache cache(options());
  const auto store = [&] { cache.store(kKey, bytes("code"), {}); };
  store();
  const fs::path file = files().at(0);
  for (const fs::perms bad : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(file, bad, fs::perm_options::add);
    EXPECT_FALSE(cache.find(kKey));
    EXPECT_FALSE(fs::exists(file));
    store();
  }
  // A link may lead to another user's file.
  fs::rename(file, root_ + "/elsewhere");
  fs::create_symlink(root_ + "/elsewhere", file);
  EXPECT_FALSE(cache.find(kKey));
  EXPECT_FALSE(fs::exists(fs::symlink_status(file)));
  // A pipe must not block it, and a directory cannot be read.
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_FALSE(cache.find(kKey));
  fs::create_directory(file);
  EXPECT_FALSE(cache.find(kKey));
  fs::remove(file);
  if (::geteuid() == 0) {
    store();
    ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
    EXPECT_FALSE(cache.find(kKey));
  }
}

TEST_F(CodeCacheTest, ADirectoryThatOthersCanWriteIsNotUsed) {
  fs::create_directories(directory());
  fs::permissions(directory(), fs::perms::all);
  CodeCache cache(options());
  cache.store(kKey, bytes("code"), {});
  EXPECT_FALSE(cache.find(kKey));
  EXPECT_TRUE(files().empty());
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find("written by others"), std::string::npos) << warnings_[0];
}

TEST_F(CodeCacheTest, WhereNoDirectoryCanBeMadeItIsSaidOnce) {
  std::ofstream(root_ + "/a") << "a file";
  CodeCache cache(options());
  cache.store(kKey, bytes("code"), {});
  cache.store(kKey, bytes("code"), {});
  EXPECT_FALSE(cache.find(kKey));
  ASSERT_EQ(warnings_.size(), 1U);
  EXPECT_NE(warnings_[0].find("Not a directory"), std::string::npos) << warnings_[0];
  EXPECT_NE(warnings_[0].find(directory()), std::string::npos) << warnings_[0];
}

TEST_F(CodeCacheTest, TheEntriesUsedLongestAgoGoFirst) {
  CodeCacheOptions small = options();
  small.limit = 10'000;
  CodeCache cache(small);
  const std::string object(900, 'x');
  const auto key = [](int i) { return cache_key("build", {std::to_string(i)}); };
  for (int i = 0; i < 10; ++i) cache.store(key(i), bytes(object), {});
  EXPECT_EQ(cache.stats().evicted, 0U);
  // All were last used long ago, in the order of their numbers; then number 0 is used again.
  for (const fs::path& file : files()) {
    std::ifstream stream(file, std::ios::binary);
    stream.seekg(32);
    CacheKey found;
    stream.read(reinterpret_cast<char*>(found.bytes.data()), sizeof found.bytes);
    int number = 0;
    while (found != key(number)) ++number;
    const std::time_t then = std::time(nullptr) - 1000 + number;
    const timespec times[2] = {{then, 0}, {then, 0}};
    ASSERT_EQ(::utimensat(AT_FDCWD, file.c_str(), times, 0), 0);
  }
  CodeCache stranger(small);
  EXPECT_TRUE(cache.find(key(0)));
  stranger.store(key(10), bytes(object), {});
  EXPECT_GT(stranger.stats().evicted, 0U);
  EXPECT_TRUE(stranger.find(key(0)));
  EXPECT_FALSE(stranger.find(key(1)));
  EXPECT_FALSE(stranger.find(key(2)));
  EXPECT_TRUE(stranger.find(key(9)));
  EXPECT_TRUE(stranger.find(key(10)));
  std::uint64_t total = 0;
  for (const fs::path& file : files()) total += fs::file_size(file);
  EXPECT_LE(total, small.limit);
  // An entry larger than the whole cache does not empty it.
  stranger.store(key(11), bytes(std::string(10'000, 'x')), {});
  EXPECT_TRUE(stranger.find(key(10)));
}

TEST_F(CodeCacheTest, RemovesWhatDeadProcessesLeft) {
  fs::create_directories(directory());
  fs::permissions(directory(), fs::perms::owner_all);
  const fs::path old = directory() + "/.tmp-1-2-3", young = directory() + "/.tmp-1-2-4";
  std::ofstream(old) << "x";
  std::ofstream(young) << "x";
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  CodeCache cache(options());
  cache.store(kKey, bytes("code"), {});
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(young));
}

TEST_F(CodeCacheTest, AFullDiskIsSaidOnceAndLeavesNothing) {
  // The file size limit simulates a full disk; its signal must not end the process.
  EXPECT_EQ(in_child([&] {
              const rlimit limit = {4096, 4096};
              ::setrlimit(RLIMIT_FSIZE, &limit);
              CodeCache cache(options());
              cache.store(cache_key("build", {"small"}), bytes("code"), {});
              cache.store(kKey, bytes(std::string(5000, 'x')), {});
              cache.store(kKey, bytes(std::string(5000, 'x')), {});
              const bool right = warnings_.size() == 1 &&
                                 warnings_[0].find("too large") != std::string::npos && !cache.find(kKey) &&
                                 cache.find(cache_key("build", {"small"}));
              return right ? 0 : 1;
            }),
            0);
  EXPECT_EQ(files().size(), 1U);
}

TEST_F(CodeCacheTest, AReadOnlyDirectoryIsStillRead) {
  CodeCache(options()).store(kKey, bytes("code"), {});
  fs::permissions(directory(), fs::perms::owner_read | fs::perms::owner_exec);
  // Permissions do not bind root, so all files go to another user, and the child becomes that user.
  constexpr uid_t kSomebody = 12345;
  if (::geteuid() == 0) {
    for (const std::string& path : {root_, root_ + "/a", directory(), files().at(0).string()}) {
      ASSERT_EQ(::chown(path.c_str(), kSomebody, kSomebody), 0);
    }
  }
  EXPECT_EQ(in_child([&] {
              if (::geteuid() == 0 && ::setuid(kSomebody) != 0) return 3;
              CodeCache cache(options());
              cache.store(cache_key("build", {"b"}), bytes("code"), {});
              cache.store(cache_key("build", {"c"}), bytes("code"), {});
              if (!cache.find(kKey)) return 2;
              return warnings_.size() == 1 ? 0 : 1;
            }),
            0);
  fs::permissions(directory(), fs::perms::owner_all);
}

TEST_F(CodeCacheTest, ProcessesShareIt) {
  constexpr int kProcesses = 6, kKeys = 12, kRounds = 150;
  const auto object_of = [](int key) { return std::string(static_cast<std::size_t>(500 + 37 * key), 'a'); };
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      // Small enough that entries are evicted while others read them.
      CodeCacheOptions small = options();
      small.limit = 6000;
      CodeCache cache(small);
      std::minstd_rand random(static_cast<unsigned>(process) + 1);
      for (int round = 0; round < kRounds; ++round) {
        const int number = static_cast<int>(random() % kKeys);
        const CacheKey key = cache_key("build", {std::to_string(number)});
        if (const auto found = cache.find(key)) {
          if (text(found->object()) != object_of(number)) ::_exit(1);
        } else {
          cache.store(key, bytes(object_of(number)), bytes("m"));
        }
      }
      ::_exit(cache.stats().rejected == 0 && cache.stats().stored > 0 && warnings_.empty() ? 0 : 2);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  for (const fs::path& file : files()) EXPECT_EQ(file.extension(), ".code");
}

}  // namespace
}  // namespace dhpvm::codegen
