// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/code_keeper.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "base/descriptor.h"

namespace dhpvm::offload {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kLarge = std::uint64_t{1} << 30;
constexpr std::size_t kHead = sizeof(codegen::CacheKey) + 3 * sizeof(std::uint64_t);

std::vector<std::byte> some_bytes(std::size_t count) { return std::vector<std::byte>(count, std::byte{7}); }

codegen::CacheKey key_of(int number) { return codegen::cache_key("build", {std::to_string(number)}); }

class CodeKeeperTest : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("code" + std::to_string(getpid()));
    for (const char* const client : {"anna", "bert"}) {
      fs::create_directories(root_ / client);
      fs::permissions(root_ / client, fs::perms::owner_all);
    }
    settle();
  }
  void TearDown() override {
    keeper_.reset();
    fs::remove_all(root_);
  }
  std::string folder(const char* client) const { return root_ / client; }
  // Messages as the process of a session sends them.
  static std::vector<std::vector<std::byte>> messages(const codegen::CacheKey& key, std::size_t object,
                                                      std::size_t metadata = 0) {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
    const Descriptor here(ends[0]);
    Descriptor there(ends[1]);
    std::vector<std::vector<std::byte>> received;
    const auto receive = [&] {
      std::vector<std::byte> message(codegen::kLongestCodeMessage + 1);
      const ssize_t size = recv(here.get(), message.data(), message.size(), 0);
      if (size <= 0) return false;
      message.resize(static_cast<std::size_t>(size));
      received.push_back(std::move(message));
      return true;
    };
    TaskThread sender;
    const Status posted = sender.post([&] {
      codegen::send_code(there.get(), key, some_bytes(object), some_bytes(metadata));
      static_cast<void>(there.close());
    });
    EXPECT_TRUE(posted.ok());
    while (receive()) {
    }
    return received;
  }
  void take(const char* client, std::span<const std::byte> message) {
    keeper_->take(arriving_, folder(client), message, now_);
  }
  void send(const char* client, const codegen::CacheKey& key, std::size_t object, std::size_t metadata = 0) {
    for (const auto& message : messages(key, object, metadata)) take(client, message);
  }
  static void wait_until(const std::function<bool()>& condition) {
    for (int patience = 0; patience < 10'000 && !condition(); ++patience)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_TRUE(condition());
  }
  // Everything has been written.
  void settle(std::uint64_t limit = kLarge) {
    keeper_.reset();
    keeper_.emplace(limit, [this](const std::string&) { ++warnings_; });
  }
  std::size_t files(const char* client) const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder(client)), fs::directory_iterator()));
  }
  std::uint64_t bytes(const char* client) const {
    std::uint64_t sum = 0;
    for (const auto& file : fs::directory_iterator(folder(client))) sum += file.file_size();
    return sum;
  }

  fs::path root_;
  const CodeKeeper::Clock::time_point now_{std::chrono::hours(1)};
  std::atomic<unsigned> warnings_ = 0;  // before the keeper, which counts until its end
  std::optional<CodeKeeper> keeper_;
  ArrivingCode arriving_;
};

TEST_F(CodeKeeperTest, CodeIsFoundByTheSessionsOfItsClientAlone) {
  send("anna", key_of(1), 40'000, 30);
  EXPECT_EQ(arriving_.client, nullptr);
  settle();
  codegen::CodeCache of_anna({.directory = folder("anna"), .warn = {}});
  codegen::CodeCache of_bert({.directory = folder("bert"), .warn = {}});
  const auto found = of_anna.find(key_of(1));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->object().size(), 40'000u);
  EXPECT_TRUE(std::ranges::equal(found->metadata(), some_bytes(30)));
  EXPECT_FALSE(of_bert.find(key_of(1)));
}

TEST_F(CodeKeeperTest, AProcessWithAWriterWritesNothingItself) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
  const Descriptor here(ends[0]);
  const Descriptor there(ends[1]);
  setenv(codegen::kCodeWriterVariable, std::to_string(there.get()).c_str(), 1);
  codegen::CodeCache cache({.directory = folder("anna"), .warn = {}});
  cache.store(key_of(1), some_bytes(100), some_bytes(5));
  unsetenv(codegen::kCodeWriterVariable);
  EXPECT_EQ(files("anna"), 0u);
  std::vector<std::byte> message(codegen::kLongestCodeMessage);
  for (int part = 0; part < 2; ++part) {
    const ssize_t size = recv(here.get(), message.data(), message.size(), MSG_DONTWAIT);
    ASSERT_GT(size, 0);
    take("bert", std::span(message).first(static_cast<std::size_t>(size)));
  }
  settle();
  EXPECT_EQ(files("bert"), 1u);
}

TEST_F(CodeKeeperTest, EntriesThatCannotBeCodeAreLetGo) {
  constexpr std::uint64_t kMost = std::numeric_limits<std::uint64_t>::max();
  const std::pair<std::uint64_t, std::uint64_t> sizes[] = {
      {0, 1},     {CodeKeeper::kLargestEntry + 1, 0}, {kMost, kMost}, {kMost, 1},
      {1, kMost}, {1, CodeKeeper::kLargestEntry},     {kMost - 1, 1}};
  for (const auto& [object, metadata] : sizes) {
    std::vector<std::byte> message(kHead + 1);
    std::memcpy(message.data() + sizeof(codegen::CacheKey), &object, sizeof(object));
    std::memcpy(message.data() + sizeof(codegen::CacheKey) + 8, &metadata, sizeof(metadata));
    take("anna", message);
    EXPECT_EQ(arriving_.client, nullptr) << object << " and " << metadata;
  }
  settle();
  EXPECT_EQ(files("anna"), 0u);
}

// Parts that are lost, repeated, in another order, of other entries, cut short or too long.
TEST_F(CodeKeeperTest, WhatIsNotWholeIsNotWritten) {
  using Parts = std::vector<std::vector<std::byte>>;
  const Parts whole = messages(key_of(1), 60'000);
  ASSERT_GE(whole.size(), 4u);
  const std::function<void(Parts&)> changes[] = {
      [](Parts& parts) { parts.erase(parts.begin() + 1); },
      [](Parts& parts) { parts.insert(parts.begin() + 2, parts[1]); },
      [](Parts& parts) { std::swap(parts[1], parts[2]); },
      [](Parts& parts) { parts.pop_back(); },
      [](Parts& parts) { parts.erase(parts.begin()); },
      [](Parts& parts) { parts[1].pop_back(); },
      [](Parts& parts) { parts.back().push_back(std::byte{1}); },
      [](Parts& parts) { parts[1].resize(kHead); },
      [](Parts& parts) { parts[2].resize(3); },
      [](Parts& parts) { parts[1] = messages(key_of(2), 60'000)[1]; },
      [](Parts& parts) { parts[1] = messages(key_of(1), 59'999)[1]; },
  };
  for (const auto& change : changes) {
    Parts parts = whole;
    change(parts);
    for (const auto& part : parts) take("anna", part);
  }
  settle();
  EXPECT_EQ(files("anna"), 0u);
  send("anna", key_of(1), 60'000);
  settle();
  EXPECT_EQ(files("anna"), 1u) << "the next is not hurt";
}

TEST_F(CodeKeeperTest, NamesOfFilesAreOfItsOwnMaking) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    codegen::CacheKey key;
    for (std::uint8_t& byte : key.bytes) byte = static_cast<std::uint8_t>("/.\0a%"[random() % 5]);
    for (auto message : messages(key, 100)) {
      take("anna", message);
      for (std::byte& byte : message)
        if (random() % 8 == 0) byte = static_cast<std::byte>(random());
      take("anna", message);
    }
  }
  settle();
  EXPECT_GE(files("anna"), 200u);
  for (const auto& file : fs::directory_iterator(folder("anna"))) {
    const std::string name = file.path().filename();
    EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), 64u) << name;
    EXPECT_EQ(name.substr(64), ".code");
  }
  EXPECT_EQ(files("bert"), 0u);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), fs::directory_iterator()), 2);
}

TEST_F(CodeKeeperTest, AClientWritesNoMoreThanItsBudget) {
  for (int entry = 0; entry < 20; ++entry) send("anna", key_of(entry), 1 << 20);
  send("bert", key_of(0), 1 << 20);  // whose budget is another
  settle();
  EXPECT_EQ(files("anna"), 16u);
  EXPECT_EQ(files("bert"), 1u);
}

TEST_F(CodeKeeperTest, TheBudgetGrowsWithTheTime) {
  CodeBudget budget;
  for (std::uint64_t entry = 0; entry < CodeBudget::kMostEntries; ++entry) ASSERT_TRUE(budget.take(1, now_));
  EXPECT_FALSE(budget.take(1, now_)) << "small entries are files as well";
  const auto later = now_ + std::chrono::milliseconds(1500);
  for (std::uint64_t entry = 0; entry < CodeBudget::kEntriesASecond; ++entry)
    ASSERT_TRUE(budget.take(1, later));
  EXPECT_FALSE(budget.take(1, later));
  EXPECT_FALSE(budget.is_full(later));
  const auto end = now_ + std::chrono::hours(24 * 365 * 200);
  EXPECT_TRUE(budget.is_full(end));
  EXPECT_TRUE(budget.take(CodeBudget::kMostBytes, end));
  EXPECT_FALSE(budget.take(1, now_)) << "a clock that goes back gives nothing";
}

TEST_F(CodeKeeperTest, AClientHasNoMoreOfTheDiskThanItsLimit) {
  settle(std::uint64_t{1} << 20);
  for (int entry = 0; entry < 100; ++entry) send("anna", key_of(entry), 100'000);
  settle(std::uint64_t{64} << 20);
  EXPECT_LE(bytes("anna"), (std::uint64_t{1} << 20) + 2 * 100'064);
  EXPECT_GT(files("anna"), 5u);
}

// As a full disk would refuse it.
TEST_F(CodeKeeperTest, WritingIsTriedAgainAfterAFailure) {
  send("anna", key_of(1), 100);
  wait_until([this] { return files("anna") == 1; });
  fs::remove_all(folder("anna"));
  send("anna", key_of(2), 100);
  wait_until([this] { return warnings_ != 0; });
  fs::create_directories(folder("anna"));
  fs::permissions(folder("anna"), fs::perms::owner_all);
  send("anna", key_of(3), 100);
  settle();
  EXPECT_EQ(warnings_, 1u);
  EXPECT_EQ(files("anna"), 1u);
}

TEST_F(CodeKeeperTest, NoneIsKeptWhereNoneIsToBe) {
  settle(0);
  send("anna", key_of(1), 100);
  settle();
  EXPECT_EQ(files("anna"), 0u);
}

}  // namespace
}  // namespace dhpvm::offload
