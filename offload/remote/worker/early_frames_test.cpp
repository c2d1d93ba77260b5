// SPDX-License-Identifier: Apache-2.0
// Frames that arrive before the worker's devices are open: they wait, in their order and in bounded number.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "offload/remote/worker/client_for_tests.h"

namespace dhpvm::offload::hostile {
namespace {

using ::testing::HasSubstr;

// A worker whose devices wait, and a client that has been welcomed there.
class EarlyFrames : public ::testing::Test {
 protected:
  explicit EarlyFrames() : client_(Client::greet(site_)) {}
  ~EarlyFrames() override {
    gate_->open({});
    EXPECT_TRUE(site_.wait_sessions(0));
  }
  void dial_bulk() { client_->dial_bulk({client_->welcome_->token.begin(), client_->welcome_->token.end()}); }

  const std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
  Site site_{{}, 5000ms, false, {}, gate_};
  const std::shared_ptr<Client> client_;
};

TEST_F(EarlyFrames, AreHandledInTheirOrder) {
  client_->say({wire::CreateQueue{1, 1, kHost, false, "a queue"}, wire::Allocate{2, kHost, 2, 4096}});
  dial_bulk();
  for (wire::Id n = 3; n < 65; ++n) client_->say({wire::Allocate{n, kHost, n, 64}});
  EXPECT_TRUE(client_->wait([&] { return client_->ready_ || client_->end_; }) && client_->ready_);
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(client_->is_answered(1)) << "the device is still shut";
  gate_->open({});
  for (wire::Id n = 1; n < 65; ++n) EXPECT_EQ(client_->answer(n), "") << n;
  EXPECT_TRUE(client_->is_served());
  client_->leave();
}

// However many: the client is given no credits for frames that wait.
TEST_F(EarlyFrames, AreKeptBack) {
  client_->say({wire::Allocate{1, kHost, 1, 4096}});
  dial_bulk();
  for (int n = 0; n < 500; ++n) client_->say({wire::Ping{1}});
  client_->say({wire::Allocate{2, kHost, 2, 4096}});
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(client_->is_answered(1));
  gate_->open({});
  EXPECT_EQ(client_->answer(1), "");
  EXPECT_EQ(client_->answer(2), "");
  client_->leave();
}

TEST_F(EarlyFrames, OpenNothingButWhatTheyName) {
  gate_->open({});
  dial_bulk();
  EXPECT_TRUE(client_->wait([&] { return client_->ready_; }));
  EXPECT_TRUE(gate_->asked_for().empty());
  client_->say({wire::Allocate{1, kSim, 1, 64}, wire::Allocate{2, kSim, 2, 64}});
  client_->say({wire::Allocate{3, kSim, 3, 64}});
  for (wire::Id n = 1; n < 4; ++n) EXPECT_EQ(client_->answer(n), "") << n;
  EXPECT_EQ(gate_->asked_for(), std::vector<std::uint64_t>{kSim});
  client_->say({wire::Allocate{4, kHost, 4, 64}});
  EXPECT_EQ(client_->answer(4), "");
  EXPECT_EQ(gate_->asked_for(), (std::vector<std::uint64_t>{kSim, kHost}));
  client_->leave();
}

// As one does that takes devices for open at once.
TEST_F(EarlyFrames, BeforeTheGreeting) {
  const auto hasty = Client::dial(site_);
  hasty->say({wire::Hello{"hasty", "1"}, wire::Allocate{1, kHost, 1, 64}});
  EXPECT_THAT(hasty->end(), HasSubstr("before its welcome"));
  client_->leave();
}

TEST_F(EarlyFrames, ThatAreHostileEndTheSession) {
  client_->say(Bytes{std::byte{200}});
  // Behind it nothing is done any more: not even this is answered.
  client_->say({wire::CreateQueue{1, 1, kHost, false, "a queue"}});
  dial_bulk();
  gate_->open({});
  EXPECT_THAT(client_->answer(1), HasSubstr("ended: "));
}

TEST_F(EarlyFrames, DataBeforeItsOperation) {
  dial_bulk();
  client_->send_run(Bytes(3, std::byte{0xff}), 16);
  EXPECT_NE(client_->end(), "no end");
}

TEST_F(EarlyFrames, ClientLeavesAtOnce) {
  client_->say({wire::Allocate{2, kHost, 2, 4096}});
  client_->leave();
}

TEST_F(EarlyFrames, DevicesFailToOpen) {
  client_->say({wire::Allocate{2, kHost, 2, 4096}});
  dial_bulk();
  gate_->open(Status(Error(ErrorCode::kDeviceFailed, "the cable is out")));
  EXPECT_THAT(client_->answer(2), HasSubstr("the cable is out"));
}

TEST_F(EarlyFrames, WorkerStops) {
  client_->say({wire::Allocate{2, kHost, 2, 4096}});
  EXPECT_FALSE(site_.worker_->drain(std::chrono::steady_clock::now() + 50ms));
  EXPECT_FALSE(client_->ready_);
  client_->leave();
}

}  // namespace
}  // namespace dhpvm::offload::hostile
