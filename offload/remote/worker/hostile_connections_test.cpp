// SPDX-License-Identifier: Apache-2.0
// Strangers that connect and do not go on, frames that are made by hand, and networks that change them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include "offload/remote/worker/client_for_tests.h"

namespace dhpvm::offload::hostile {
namespace {

using ::testing::HasSubstr;

// A connection that sends given messages, and reads nothing unless told to.
class Stranger final : public Noted, public ConnectionHandler {
 public:
  Stranger(std::vector<Bytes> says, bool reads) : says_(std::move(says)), reads_(reads) {}
  static std::shared_ptr<Stranger> dial(Site& site, std::vector<Bytes> says, bool reads = true) {
    auto stranger = std::make_shared<Stranger>(std::move(says), reads);
    site.here_->post([&site, stranger] {
      stranger->connection_ = *site.here_->connect(site.address_, stranger);
      if (stranger->reads_) stranger->receive();
    });
    return stranger;
  }
  void receive() {
    const MutableBytes part = memory_;
    connection_->receive({&part, 1}, 0);
  }
  void on_connected() override {
    for (const Bytes& message : says_) connection_->send_copy(message);
    note([&] { connected_ = true; });
  }
  void on_received(std::uint64_t, std::size_t) override { receive(); }
  void on_sent(std::uint64_t) override {}
  void on_closed(const Error& reason) override {
    note([&] { end_ = reason; });
  }
  bool wait_end() {
    return wait([&] { return end_.has_value(); });
  }
  bool wait_connected() {
    return wait([&] { return connected_ || end_; }) && connected_ && !end_;
  }

 private:
  const std::vector<Bytes> says_;
  const bool reads_;
  std::shared_ptr<Connection> connection_;
  Bytes memory_ = Bytes(32 << 10);
  bool connected_ = false;
  std::optional<Error> end_;
};

TEST(Hostile, StrangersAreFewAndDoNotStay) {
  for (const bool with_key : {false, true}) {
    WorkerLimits limits;
    limits.strangers = 4;
    Site site(limits, 1500ms, with_key);
    const auto neighbour = Client::open(site);
    std::deque<std::shared_ptr<Stranger>> silent;
    for (int n = 0; n < 4; ++n) silent.push_back(Stranger::dial(site, {}));
    for (const auto& stranger : silent) EXPECT_TRUE(stranger->wait_connected());
    // Another one takes the place of the one that has been silent for longest.
    silent.push_back(Stranger::dial(site, {}));
    EXPECT_TRUE(silent.front()->wait_end());
    silent.pop_front();
    EXPECT_TRUE(site.wait_log("when 4 others waited to do so")) << site.log_;
    EXPECT_TRUE(neighbour->is_served());
    for (const auto& stranger : silent) EXPECT_TRUE(stranger->wait_end());
    EXPECT_TRUE(site.wait_log("has not answered for 1500 ms")) << site.log_;
    EXPECT_TRUE(neighbour->is_served());
    EXPECT_TRUE(Client::open(site)->is_served());
  }
}

// All the while silent strangers come, and other clients do not wait for them.
TEST(Hostile, CrowdsOfStrangersKeepNobodyOut) {
  WorkerLimits limits;
  limits.strangers = 64;
  limits.sessions = 32;
  Site site(limits, 5000ms, true);
  std::vector<std::shared_ptr<Stranger>> crowd;
  for (int round = 0; round < 20; ++round) {
    for (int n = 0; n < 100; ++n) crowd.push_back(Stranger::dial(site, {}));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_TRUE(Client::open(site)->is_served());
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 1s);
  }
}

TEST(Hostile, WhoWaitsForAPlaceDoesNothingElse) {
  WorkerLimits limits;
  limits.sessions = 1;
  Site site(limits);
  const auto first = Client::open(site);
  const auto eager = Client::dial(site);
  eager->say({wire::Hello{"a test", "0"}});
  EXPECT_TRUE(eager->wait_place(1));
  eager->say({wire::Allocate{1, 0, 1, 64}});
  EXPECT_THAT(eager->end(), HasSubstr("does not wait until it is served"));
  EXPECT_TRUE(site.wait_sessions(1));
  EXPECT_TRUE(first->is_served());
}

TEST(Hostile, WhoOpensALaneMustSayWhatFor) {
  Site site({}, 100ms);
  const auto silent = Client::dial(site);
  silent->dial_bulk({});
  EXPECT_THAT(silent->bulk_end(), HasSubstr("closed"));
  // A session without its second lane, whether it has greeted or not.
  EXPECT_THAT(silent->end(), HasSubstr("has not opened its second connection"));
  const auto greeted = Client::dial(site);
  greeted->say({wire::Hello{"a test", "0"}});
  EXPECT_THAT(greeted->end(), HasSubstr("has not opened its second connection"));
  EXPECT_TRUE(site.wait_sessions(0));
}

// Frames without a key, by hand: kind, credits, content, number.
Bytes by_hand(const Bytes& content, std::uint32_t number, unsigned credits = 0) {
  Bytes message{std::byte{0}, static_cast<std::byte>(credits)};
  message.insert(message.end(), content.begin(), content.end());
  for (unsigned n = 0; n < 4; ++n) message.push_back(static_cast<std::byte>(number >> (8 * n)));
  return message;
}

TEST(Hostile, WhoTakesNoAnswersGetsNoMoreOfThem) {
  Site site;
  const auto neighbour = Client::open(site);
  Bytes hello;
  wire::write(hello, wire::FromClient(wire::Hello{"a test", "0"}));
  Bytes pings;
  for (int n = 0; n < 4000; ++n) wire::write(pings, wire::FromClient(wire::Ping{1}));
  std::vector<Bytes> says{Preamble{}.to_bytes(), by_hand(hello, 0)};
  // As many as may wait while the devices open.
  for (std::uint32_t n = 1; n < 64; ++n) says.push_back(by_hand(pings, n));
  const auto client = Stranger::dial(site, std::move(says));
  EXPECT_TRUE(client->wait_end());
  EXPECT_TRUE(site.wait_log("does not take what it is sent")) << site.log_;
  EXPECT_TRUE(neighbour->is_served());
}

TEST(Hostile, CreditsOutOfNothing) {
  Site site;
  Bytes hello;
  wire::write(hello, wire::FromClient(wire::Hello{"a test", "0"}));
  const auto client = Stranger::dial(site, {Preamble{}.to_bytes(), by_hand(hello, 0, 200)});
  EXPECT_TRUE(client->wait_end());
  EXPECT_TRUE(site.wait_sessions(0));
}

// The client gives signs of life all the while, as one whose second connection was cut by something on the way.
TEST(Hostile, DataThatStopsInTheMiddle) {
  constexpr std::size_t kPieces = 4;
  std::atomic<std::size_t> pieces = 0;
  Site site(
      {}, 5000ms, false,
      [&](unsigned, std::uint64_t, ConstBytes message) {
        const bool is_last = message.size() > BulkLane::kPieceBytes && ++pieces == kPieces;
        return is_last ? Fault{Fault::Kind::kDrop} : Fault{};
      },
      nullptr, 200ms);
  const auto neighbour = Client::open(site);
  const auto client = Client::open(site);
  client->say({wire::Allocate{5, kHost, 4, kPieces * BulkLane::kPieceBytes}});
  EXPECT_EQ(client->answer(5), "");
  client->say({wire::Upload{on_queue(1), {4, 0, kPieces * BulkLane::kPieceBytes}}});
  client->send_run(wire::write_run_header({0, 0}), kPieces * BulkLane::kPieceBytes);
  EXPECT_THAT(client->end(), HasSubstr("has sent no more of some data"));
  EXPECT_TRUE(neighbour->is_served());
}

// Faults in a sealed connection are noticed there, and nowhere else.
TEST(Hostile, InterferenceWithOneSession) {
  using Kind = Fault::Kind;
  for (const Fault fault : {Fault{Kind::kRepeat}, Fault{Kind::kFlip, 5}, Fault{Kind::kTruncate, 10},
                            Fault{Kind::kDrop}, Fault{Kind::kReorder}, Fault{Kind::kCut}}) {
    std::atomic<bool> interfere = false;
    // The neighbour has connections 0 and 1.
    Site site({}, 5000ms, true, [&](unsigned connection, std::uint64_t, ConstBytes) {
      return connection > 1 && interfere.exchange(false) ? fault : Fault{};
    });
    const auto neighbour = Client::open(site);
    const auto client = Client::open(site);
    interfere = true;
    for (std::uint64_t n = 0; n < 3; ++n) client->say({wire::Ping{n}});
    EXPECT_NE(client->end(), "no end");
    EXPECT_TRUE(site.wait_sessions(1));
    EXPECT_TRUE(neighbour->is_served());
  }
}

}  // namespace
}  // namespace dhpvm::offload::hostile
