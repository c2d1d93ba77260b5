// SPDX-License-Identifier: Apache-2.0
// The duties of every transport, and the faults of the one for tests.
#include "offload/remote/fabric/transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <deque>
#include <future>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include "offload/remote/fabric/load_fabric.h"
#include "offload/remote/fabric/loopback.h"
#include "offload/remote/fabric/noted.h"

namespace dhpvm::offload {
namespace {

using namespace std::chrono_literals;
using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;

Bytes text(std::string_view letters) {
  const ConstBytes bytes = std::as_bytes(std::span(letters));
  return {bytes.begin(), bytes.end()};
}

Bytes numbers(std::size_t count, unsigned seed = 1) {
  Bytes bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>((i * 31 + i / 251 + seed) & 0xff);
  return bytes;
}

// Records a connection's events, and offers `slots` receives of `size` bytes.
class Recorder final : public ConnectionHandler, public Noted {
 public:
  explicit Recorder(std::size_t slots = 4, std::size_t size = 4096) : memory_(slots, Bytes(size)) {}

  void attach(std::shared_ptr<Connection> connection) {
    note([&] {
      connection_ = std::move(connection);
      for (std::size_t i = 0; i < memory_.size(); ++i) give(i);
    });
  }
  void on_connected() override {
    note([&] { connected_ = true; });
  }
  void on_received(std::uint64_t tag, std::size_t bytes) override {
    note([&] {
      EXPECT_FALSE(closed_) << "received after the end";
      if (tag >= memory_.size()) return ++filled_;
      messages_.emplace_back(memory_[tag].begin(), memory_[tag].begin() + static_cast<std::ptrdiff_t>(bytes));
      give(tag);
      return filled_;
    });
  }
  void on_sent(std::uint64_t tag) override {
    note([&] {
      EXPECT_FALSE(closed_) << "sent after the end";
      sent_.push_back(tag);
    });
  }
  void on_closed(const Error& reason) override {
    note([&] {
      EXPECT_FALSE(closed_) << "closed twice";
      closed_ = reason;
    });
  }

  bool wait_for_messages(std::size_t count) {
    return wait([&] { return messages_.size() >= count; });
  }
  bool wait_for_end() {
    return wait([&] { return closed_.has_value(); });
  }
  bool wait_for_connection() {
    return wait([&] { return connected_; });
  }

  std::shared_ptr<Connection> connection() {
    std::shared_ptr<Connection> connection;
    note([&] { connection = connection_; });
    return connection;
  }
  // Only when nothing happens any more.
  std::deque<Bytes> messages_;
  std::vector<std::uint64_t> sent_;
  std::optional<Error> closed_;
  bool connected_ = false;
  std::size_t filled_ = 0;  // receives that the test has given itself

 private:
  void give(std::size_t slot) {
    const MutableBytes part = memory_[slot];
    connection_->receive({&part, 1}, slot);
  }

  std::vector<Bytes> memory_;
  std::shared_ptr<Connection> connection_;
};

// First, so that the library is loaded by it, if each test runs on its own or all do.
TEST(FabricLibrary, SignalsAreLeftAlone) {
  struct sigaction ours{};
  ours.sa_handler = [](int) {};
  struct sigaction before{};
  ASSERT_EQ(sigaction(SIGSEGV, &ours, &before), 0);
  ASSERT_TRUE(load_fabric(FABRIC_FOLDER).ok());
  struct sigaction after{};
  ASSERT_EQ(sigaction(SIGSEGV, &before, &after), 0);
  EXPECT_EQ(after.sa_handler, ours.sa_handler);
}

// Two transports, and connections between them.
class TransportTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    here_ = make();
    there_ = make();
    ASSERT_NE(there_, nullptr);
  }
  void TearDown() override {
    listener_ = nullptr;
    here_ = nullptr;
    there_ = nullptr;
  }

  std::unique_ptr<Transport> make() {
    const std::string_view kind = GetParam();
    if (kind == "loopback") return network_.create_transport();
    if (fabric_ == nullptr) {
      auto fabric = load_fabric(FABRIC_FOLDER);
      EXPECT_TRUE(fabric.ok()) << fabric.error().to_string();
      if (!fabric.ok()) return nullptr;
      fabric_ = std::move(fabric).value();
    }
    TransportOptions options;
    if (kind != "sockets") options.provider = "tcp";
    options.register_memory = kind == "registered";
    auto made = fabric_->create_transport(options);
    EXPECT_TRUE(made.ok()) << made.error().to_string();
    return made.ok() ? std::move(made).value() : nullptr;
  }

  void listen(const std::shared_ptr<Recorder>& server) { listen(std::deque{server}); }
  void listen(std::deque<std::shared_ptr<Recorder>> servers) {
    auto listener =
        there_->listen({"127.0.0.1", 0}, [servers](std::shared_ptr<Connection> connection) mutable {
          std::shared_ptr<Recorder> server;
          if (!servers.empty()) {
            server = std::move(servers.front());
            servers.pop_front();
            server->attach(std::move(connection));
          }
          return server;
        });
    ASSERT_TRUE(listener.ok()) << listener.error().to_string();
    listener_ = std::move(listener).value();
  }
  void connect(const std::shared_ptr<Recorder>& client) {
    auto connection = here_->connect(listener_->address(), client);
    ASSERT_TRUE(connection.ok()) << connection.error().to_string();
    client->attach(std::move(connection).value());
  }

  LoopbackNetwork network_;
  std::unique_ptr<Fabric> fabric_;
  std::unique_ptr<Transport> here_;
  std::unique_ptr<Transport> there_;
  std::unique_ptr<Listener> listener_;
};
INSTANTIATE_TEST_SUITE_P(Kinds, TransportTest, ::testing::Values("loopback", "sockets", "tcp", "registered"),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(TransportTest, MessagesArriveInOrderBothWays) {
  const auto server = std::make_shared<Recorder>();
  const auto client = std::make_shared<Recorder>();
  listen(server);
  connect(client);
  for (unsigned i = 0; i < 500; ++i) client->connection()->send_copy(numbers(1 + i * 7 % 4000, i));
  for (unsigned i = 0; i < 100; ++i)
    server->wait_for_connection(), server->connection()->send_copy(numbers(1 + i, i));
  ASSERT_TRUE(server->wait_for_messages(500));
  ASSERT_TRUE(client->wait_for_messages(100));
  for (unsigned i = 0; i < 500; ++i) ASSERT_EQ(server->messages_[i], numbers(1 + i * 7 % 4000, i)) << i;
  for (unsigned i = 0; i < 100; ++i) ASSERT_EQ(client->messages_[i], numbers(1 + i, i)) << i;
  EXPECT_TRUE(client->connected_);
  EXPECT_TRUE(client->connection()->is_local());
}

TEST_P(TransportTest, PartsAreGatheredAndScattered) {
  const auto server = std::make_shared<Recorder>(0);
  const auto client = std::make_shared<Recorder>();
  listen(server);
  connect(client);
  const Bytes memory = numbers(5'000'000);
  const Bytes head = text("head");
  const ConstBytes out[] = {head, memory, ConstBytes(head).first(2)};
  client->connection()->send(out, 77);
  ASSERT_TRUE(server->wait_for_connection());
  Bytes first(3);
  Bytes second(5'000'003);
  const MutableBytes in[] = {first, second};
  // Received by hand: the recorder has no memory of its own here.
  server->connection()->receive(in, 0);
  ASSERT_TRUE(client->wait([&] { return client->sent_ == std::vector<std::uint64_t>{77}; }));
  client->connection()->send_copy(text("end"));
  Bytes last(10);
  const MutableBytes rest[] = {last};
  server->connection()->receive(rest, 0);
  ASSERT_TRUE(server->wait([&] { return server->filled_ == 2; }));
  EXPECT_EQ(last[2], std::byte{'d'});
  EXPECT_EQ(first, text("hea"));
  EXPECT_EQ(second[0], std::byte{'d'});
  EXPECT_TRUE(std::equal(memory.begin(), memory.end(), second.begin() + 1));
  EXPECT_EQ(second.back(), std::byte{'e'});
}

TEST_P(TransportTest, EndsAtBothSides) {
  const auto server = std::make_shared<Recorder>();
  const auto client = std::make_shared<Recorder>();
  listen(server);
  connect(client);
  ASSERT_TRUE(server->wait_for_connection());
  client->connection()->send_copy(text("the last words"));
  ASSERT_TRUE(server->wait_for_messages(1));
  client->connection()->close(Error(ErrorCode::kInterrupted, "enough"));
  client->connection()->close(Error(ErrorCode::kInterrupted, "once is enough"));
  ASSERT_TRUE(client->wait_for_end());
  ASSERT_TRUE(server->wait_for_end());
  EXPECT_EQ(client->closed_->message(), "enough");
  EXPECT_EQ(server->closed_->code(), ErrorCode::kDeviceLost);
  server->connection()->send_copy(text("too late"));
}

TEST_P(TransportTest, EndThatComesWithTheLastWordsIsNoticed) {
  const auto server = std::make_shared<Recorder>();
  const auto client = std::make_shared<Recorder>();
  listen(server);
  connect(client);
  ASSERT_TRUE(server->wait_for_connection() && client->wait_for_connection());
  // The receiver looks when both are there.
  std::promise<void> both;
  there_->post([&] { both.get_future().wait(); });
  client->connection()->send_copy(text("the last words"));
  client->connection()->close(Error(ErrorCode::kInterrupted, "enough"));
  ASSERT_TRUE(client->wait_for_end());
  both.set_value();
  ASSERT_TRUE(server->wait_for_end());
  EXPECT_EQ(server->messages_.size(), 1U);
}

TEST_P(TransportTest, NobodyListens) {
  listen(std::make_shared<Recorder>());
  const Address address = listener_->address();
  listener_ = nullptr;
  const auto client = std::make_shared<Recorder>();
  auto connection = here_->connect(address, client);
  ASSERT_TRUE(connection.ok()) << connection.error().to_string();
  client->attach(*connection);
  ASSERT_TRUE(client->wait_for_end());
  EXPECT_EQ(client->closed_->code(), ErrorCode::kDeviceLost);
  EXPECT_FALSE(client->connected_);
}

TEST_P(TransportTest, RefusedConnectionsEnd) {
  listen(std::deque<std::shared_ptr<Recorder>>{});
  const auto client = std::make_shared<Recorder>();
  connect(client);
  ASSERT_TRUE(client->wait_for_end());
}

TEST_P(TransportTest, MessagesThatAreTooLongEndTheConnection) {
  const auto server = std::make_shared<Recorder>(2, 100);
  const auto client = std::make_shared<Recorder>();
  listen(server);
  connect(client);
  client->connection()->send_copy(numbers(100));
  client->connection()->send_copy(numbers(101));
  ASSERT_TRUE(server->wait_for_end());
  ASSERT_TRUE(client->wait_for_end());
  EXPECT_EQ(server->messages_.size(), 1u);
}

TEST_P(TransportTest, ManyConnectionsAtOnce) {
  constexpr unsigned kConnections = 20;
  std::deque<std::shared_ptr<Recorder>> servers;
  std::vector<std::shared_ptr<Recorder>> clients;
  for (unsigned i = 0; i < kConnections; ++i) servers.push_back(std::make_shared<Recorder>());
  listen(servers);
  for (unsigned i = 0; i < kConnections; ++i) {
    clients.push_back(std::make_shared<Recorder>());
    connect(clients.back());
  }
  for (unsigned round = 0; round < 20; ++round)
    for (const auto& client : clients) client->connection()->send_copy(numbers(500, round));
  for (const auto& server : servers) {
    ASSERT_TRUE(server->wait_for_messages(20));
    for (unsigned round = 0; round < 20; ++round) ASSERT_EQ(server->messages_[round], numbers(500, round));
  }
  listener_ = nullptr;
  there_ = nullptr;
  for (const auto& server : servers) EXPECT_TRUE(server->closed_);
  for (const auto& client : clients) EXPECT_TRUE(client->wait_for_end());
}

TEST_P(TransportTest, MoreThanTheQueuesHold) {
  const auto server = std::make_shared<Recorder>(0);
  const auto client = std::make_shared<Recorder>();
  listen(server);
  connect(client);
  const Bytes memory = numbers(100'000);
  constexpr std::size_t kCount = 1000;
  const ConstBytes part[] = {memory};
  for (std::size_t i = 0; i < kCount; ++i) client->connection()->send(part, i);
  ASSERT_TRUE(server->wait_for_connection());
  Bytes into(100'000);
  const MutableBytes in[] = {into};
  for (std::size_t i = 0; i < kCount; ++i) server->connection()->receive(in, 0);
  ASSERT_TRUE(client->wait([&] { return client->sent_.size() == kCount; }));
  for (std::size_t i = 0; i < kCount; ++i) ASSERT_EQ(client->sent_[i], i);
  ASSERT_TRUE(server->wait([&] { return server->filled_ == kCount; }));
}

TEST_P(TransportTest, FunctionsRunInTimeAndInOrder) {
  std::mutex mutex;
  std::vector<int> order;
  const auto add = [&](int number) {
    return [&, number] {
      const std::lock_guard lock(mutex);
      order.push_back(number);
    };
  };
  const auto begin = Clock::now();
  here_->post_at(begin + 40ms, add(3));
  here_->post_at(begin + 20ms, add(2));
  here_->post(add(0));
  here_->post(add(1));
  for (;;) {
    const std::lock_guard lock(mutex);
    if (order.size() == 4) break;
    std::this_thread::yield();
  }
  EXPECT_GE(Clock::now() - begin, 40ms);
  EXPECT_THAT(order, ::testing::ElementsAre(0, 1, 2, 3));
}

TEST(OfiTransport, RefusesAnUnknownProvider) {
  auto fabric = load_fabric(FABRIC_FOLDER);
  ASSERT_TRUE(fabric.ok());
  const auto made = (*fabric)->create_transport({.provider = "carrier-pigeon"});
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(made.error().message(), ::testing::HasSubstr("carrier-pigeon"));
}

TEST(OfiTransport, TheLibraryMayBeMissing) {
  const auto fabric = load_fabric("/nonexistent");
  ASSERT_FALSE(fabric.ok());
  EXPECT_EQ(fabric.error().code(), ErrorCode::kUnsupported);
  EXPECT_THAT(fabric.error().message(), ::testing::HasSubstr("libssl3"));
}

// The messages that arrive over one connection with `fault` in message `at`.
std::deque<Bytes> sent_with(Fault fault, std::uint64_t at, std::optional<Error>* end = nullptr) {
  LoopbackNetwork network;
  const auto there = network.create_transport();
  const auto here = network.create_transport(
      [=](unsigned, std::uint64_t message, ConstBytes) { return message == at ? fault : Fault{}; });
  const auto server = std::make_shared<Recorder>();
  const auto client = std::make_shared<Recorder>();
  auto listener = there->listen({"127.0.0.1", 0}, [&](std::shared_ptr<Connection> connection) {
    server->attach(std::move(connection));
    return std::shared_ptr<ConnectionHandler>(server);
  });
  client->attach(*here->connect((*listener)->address(), client));
  for (const char* word : {"alpha", "beta", "gamma"}) client->connection()->send_copy(text(word));
  client->connection()->send_copy(text("end"));
  EXPECT_TRUE(server->wait([&] {
    return server->closed_ || (!server->messages_.empty() && server->messages_.back() == text("end"));
  }));
  if (!server->closed_) server->messages_.pop_back();
  if (end != nullptr) *end = server->closed_;
  return server->messages_;
}

TEST(Loopback, Faults) {
  using ::testing::ElementsAre;
  using Kind = Fault::Kind;
  const Bytes alpha = text("alpha");
  const Bytes beta = text("beta");
  const Bytes gamma = text("gamma");
  EXPECT_THAT(sent_with({Kind::kNone}, 1), ElementsAre(alpha, beta, gamma));
  EXPECT_THAT(sent_with({Kind::kDrop}, 1), ElementsAre(alpha, gamma));
  EXPECT_THAT(sent_with({Kind::kTruncate, 2}, 1), ElementsAre(alpha, text("be"), gamma));
  EXPECT_THAT(sent_with({Kind::kFlip, 3}, 1), ElementsAre(alpha, text("bet`"), gamma));
  EXPECT_THAT(sent_with({Kind::kReorder}, 0), ElementsAre(beta, alpha, gamma));
  EXPECT_THAT(sent_with({Kind::kRepeat}, 2), ElementsAre(alpha, beta, gamma, gamma));
  EXPECT_THAT(sent_with({Kind::kDelay, 0, 20ms}, 0), ElementsAre(alpha, beta, gamma));
  std::optional<Error> end;
  EXPECT_THAT(sent_with({Kind::kCut}, 1, &end), ElementsAre(alpha));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code(), ErrorCode::kDeviceLost);
}

// A process of its own that answers every message until it is killed.
TEST(OfiTransport, AKilledPeerIsNoticed) {
  int ports[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ports), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto fabric = load_fabric(FABRIC_FOLDER);
    auto transport = (*fabric)->create_transport({});
    const auto server = std::make_shared<Recorder>();
    auto listener = (*transport)->listen({"127.0.0.1", 0}, [&](std::shared_ptr<Connection> connection) {
      server->attach(std::move(connection));
      return std::shared_ptr<ConnectionHandler>(server);
    });
    const std::uint16_t port = (*listener)->address().port;
    if (write(ports[1], &port, sizeof(port)) != sizeof(port)) _exit(1);
    for (;;) pause();
  }
  std::uint16_t port = 0;
  ASSERT_EQ(read(ports[0], &port, sizeof(port)), static_cast<ssize_t>(sizeof(port)));
  auto fabric = load_fabric(FABRIC_FOLDER);
  auto transport = (*fabric)->create_transport({});
  const auto client = std::make_shared<Recorder>();
  client->attach(*(*transport)->connect({"127.0.0.1", port}, client));
  ASSERT_TRUE(client->wait_for_connection());
  kill(child, SIGKILL);
  ASSERT_TRUE(client->wait_for_end());
  EXPECT_EQ(client->closed_->code(), ErrorCode::kDeviceLost);
  int status = 0;
  waitpid(child, &status, 0);
  close(ports[0]);
  close(ports[1]);
}

}  // namespace
}  // namespace dhpvm::offload
