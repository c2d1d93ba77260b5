// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_control.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <random>

namespace dhpvm::offload::control {
namespace {

class SessionControlTest : public ::testing::Test {
 protected:
  std::pair<Socket, Socket> ends_ = *Socket::create_pair();
  const Socket& worker_ = ends_.first;
  const Socket& process_ = ends_.second;
};

std::vector<std::byte> some_bytes(std::size_t count) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(i * 7);
  return bytes;
}

TEST_F(SessionControlTest, ConnectionsArriveWithTheirKeys) {
  Begin begin;
  begin.number = 300;
  begin.token[3] = std::byte{9};
  begin.place = {7, 1 << 20, std::chrono::milliseconds(1500)};
  begin.caches = "/var/cache/anna";
  begin.dials_client = true;
  begin.frames.connection = {Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC)), "1.2.3.4:5", true,
                             some_bytes(4096)};
  begin.frames.peer = "somebody (1.2.3.4:5)";
  begin.frames.seal = SealMode::kIntegrity;
  begin.frames.seals.emplace();
  begin.frames.seals->outgoing.secret[43] = std::byte{1};
  begin.frames.seals->incoming.messages = 70'000;
  struct stat sent{};
  ASSERT_EQ(fstat(begin.frames.connection.socket.get(), &sent), 0);
  ASSERT_TRUE(worker_.send(std::move(begin), Patience::kNone).ok());
  auto record = process_.receive_to_session(Patience::kForever);
  ASSERT_TRUE(record.ok() && *record);
  const Begin& received = std::get<Begin>(**record);
  EXPECT_EQ(received.number, 300u);
  EXPECT_EQ(received.token[3], std::byte{9});
  EXPECT_EQ(received.place.number, 7u);
  EXPECT_EQ(received.place.memory_bytes, 1u << 20);
  EXPECT_EQ(received.place.time, std::chrono::milliseconds(1500));
  EXPECT_EQ(received.caches, "/var/cache/anna");
  EXPECT_TRUE(received.dials_client);
  EXPECT_EQ(received.frames.connection.peer, "1.2.3.4:5");
  EXPECT_TRUE(received.frames.connection.is_local);
  EXPECT_EQ(received.frames.connection.unread, some_bytes(4096));
  EXPECT_EQ(received.frames.peer, "somebody (1.2.3.4:5)");
  EXPECT_EQ(received.frames.seal, SealMode::kIntegrity);
  ASSERT_TRUE(received.frames.seals);
  EXPECT_EQ(received.frames.seals->outgoing.secret[43], std::byte{1});
  EXPECT_EQ(received.frames.seals->incoming.messages, 70'000u);
  struct stat arrived{};
  ASSERT_EQ(fstat(received.frames.connection.socket.get(), &arrived), 0);
  EXPECT_EQ(sent.st_ino, arrived.st_ino);
}

TEST_F(SessionControlTest, DevicesAreToldBothWays) {
  const wire::Device device{"opencl:0", "a device", 1 << 30, 1 << 20, 8, true, false};
  ASSERT_TRUE(worker_.send(Offer{device}, Patience::kNone).ok());
  ASSERT_TRUE(process_.send(Lends{device}, Patience::kNone).ok());
  const auto there = process_.receive_to_session(Patience::kForever);
  const auto here = worker_.receive_from_session(Patience::kForever);
  ASSERT_TRUE(there.ok() && *there && here.ok() && *here);
  for (const wire::Device& told : {std::get<Offer>(**there).device, std::get<Lends>(**here).device}) {
    EXPECT_EQ(told.name, device.name);
    EXPECT_EQ(told.description, device.description);
    EXPECT_EQ(told.memory_bytes, device.memory_bytes);
    EXPECT_EQ(told.compute_units, device.compute_units);
    EXPECT_TRUE(told.is_gpu);
  }
}

TEST_F(SessionControlTest, TextsAreCut) {
  ASSERT_TRUE(process_.send(LogLine{LogLevel::kInfo, std::string(5000, 'x')}, Patience::kNone).ok());
  const auto record = worker_.receive_from_session(Patience::kNone);
  ASSERT_TRUE(record.ok() && *record);
  EXPECT_EQ(std::get<LogLine>(**record).text.size(), kLongestText);
  const auto none = worker_.receive_from_session(Patience::kNone);
  EXPECT_TRUE(none.ok() && !*none);
}

// The worker takes nothing of what a process says for granted.
TEST_F(SessionControlTest, NonsenseIsAnError) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<std::byte> message(1 + random() % 40);
    for (std::byte& byte : message) byte = static_cast<std::byte>(random());
    message[0] = static_cast<std::byte>(random() % 8);
    ASSERT_EQ(::send(process_.descriptor(), message.data(), message.size(), 0),
              static_cast<ssize_t>(message.size()));
    const auto record = worker_.receive_from_session(Patience::kNone);
    if (!record.ok()) {
      EXPECT_EQ(record.error().code(), ErrorCode::kProtocol);
    }
  }
}

TEST_F(SessionControlTest, DescriptorsOfAProcessAreNotTaken) {
  TakeBulk bulk;
  bulk.bulk.connection.socket = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  const int lowest = Descriptor(dup(0)).get();
  ASSERT_TRUE(process_.send(std::move(bulk), Patience::kNone).ok());
  static_cast<void>(worker_.receive_from_session(Patience::kNone));
  EXPECT_LE(Descriptor(dup(0)).get(), lowest);
}

TEST_F(SessionControlTest, TheEndIsNoticed) {
  {
    const Socket gone = std::move(ends_.second);
  }
  EXPECT_EQ(worker_.receive_from_session(Patience::kForever).error().code(), ErrorCode::kIo);
  EXPECT_EQ(worker_.send(AnnounceEnd{}, Patience::kForever).error().code(), ErrorCode::kIo);
}

}  // namespace
}  // namespace dhpvm::offload::control
