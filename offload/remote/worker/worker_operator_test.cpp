// SPDX-License-Identifier: Apache-2.0
// Operators, honest and hostile, over a network without keys: the right to be one is worker_access.h's business.
#include "offload/remote/worker/worker_operator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "offload/remote/client/worker_query.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/loopback.h"
#include "offload/remote/fabric/noted.h"
#include "offload/remote/fabric/wire_examples.h"

namespace dhpvm::offload {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

// Says some frames, and waits for the end.
class Talker final : public FrameHandler, public Noted, public std::enable_shared_from_this<Talker> {
 public:
  explicit Talker(std::vector<std::vector<std::byte>> frames) : frames_(std::move(frames)) {}
  std::shared_ptr<Lane> attach(const std::shared_ptr<Channel>& channel) {
    lane_ = std::make_shared<FrameLane>(channel, shared_from_this(), FrameLaneOptions{});
    return lane_;
  }
  void on_open() override {
    for (const auto& frame : frames_) lane_->send(frame);
  }
  void on_frame(ConstBytes frame) override {
    const auto records = wire::read_to_operator(frame);
    EXPECT_TRUE(records.ok());
    note([&] { heard_ += records.ok() ? records->size() : 0; });
  }
  void on_closed(const Error& reason) override {
    note([&] { end_ = reason.message(); });
  }
  std::shared_ptr<FrameLane> lane_;
  std::size_t heard_ = 0;
  std::optional<std::string> end_;

 private:
  const std::vector<std::vector<std::byte>> frames_;
};

class WorkerOperatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto listener = there_->listen({"127.0.0.1", 0}, [this](std::shared_ptr<Connection> connection) {
      ChannelOptions options;
      options.role = Role::kWorker;
      return Channel::accept(
          *there_, std::move(connection), options,
          [this](const std::shared_ptr<Channel>& channel, LaneKind kind) -> std::shared_ptr<Lane> {
            if (kind != LaneKind::kOperator) return nullptr;
            return make_operator_lane(channel, {[this] { return report(); },
                                                [this](std::uint64_t number, const std::string& reason) {
                                                  return end(number, reason);
                                                }});
          },
          [](const Error&) {});
    });
    ASSERT_TRUE(listener.ok());
    listener_ = std::move(listener).value();
  }
  void TearDown() override {
    listener_ = nullptr;
    here_ = nullptr;
    there_ = nullptr;
  }

  Result<WorkerReport> report() const {
    WorkerReport made;
    made.facts.name = "gpubox";
    made.devices.resize(2);
    made.sessions.resize(sessions_);
    for (std::size_t n = 0; n < sessions_; ++n) made.sessions[n].number = n + 1;
    return made;
  }
  Status end(std::uint64_t number, const std::string& reason) {
    if (number > sessions_) return Error(ErrorCode::kNotFound, "no such session");
    ended_ = reason;
    return {};
  }
  Result<std::vector<wire::ToOperator>> ask(const wire::FromOperator& question) {
    return ask_worker(*here_, listener_->address(), "localhost", {}, question, 10s);
  }
  std::shared_ptr<Talker> talk(std::vector<std::vector<std::byte>> frames) {
    auto talker = std::make_shared<Talker>(std::move(frames));
    Channel::dial(
        *here_, listener_->address(), "localhost", LaneKind::kOperator, {},
        [talker](const std::shared_ptr<Channel>& channel, LaneKind) { return talker->attach(channel); },
        [talker](const Error& reason) { talker->on_closed(reason); });
    return talker;
  }

  LoopbackNetwork network_;
  std::unique_ptr<Transport> here_ = network_.create_transport();
  std::unique_ptr<Transport> there_ = network_.create_transport();
  std::unique_ptr<Listener> listener_;
  std::size_t sessions_ = 3;
  std::string ended_;
};

TEST_F(WorkerOperatorTest, AsksAndEnds) {
  const auto answer = ask(wire::AskFacts{});
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  ASSERT_EQ(answer->size(), 1u + 2 + 3 + 1);
  EXPECT_EQ(std::get<wire::WorkerFacts>(answer->front()).name, "gpubox");
  const auto ended = ask(wire::EndSession{2, "lunch"});
  ASSERT_TRUE(ended.ok());
  EXPECT_FALSE(std::get<wire::SessionEnding>(ended->back()).failure);
  EXPECT_EQ(ended_, "lunch");
  EXPECT_TRUE(std::get<wire::SessionEnding>(ask(wire::EndSession{9, ""})->back()).failure);
}

TEST_F(WorkerOperatorTest, MoreSessionsThanAreTold) {
  sessions_ = 5000;
  const auto answer = ask(wire::AskFacts{});
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->size(), 1u + 2 + wire::kMostSessionFacts + 1);
  EXPECT_EQ(std::get<wire::FactsEnd>(answer->back()).left_out, 5000 - wire::kMostSessionFacts);
}

TEST_F(WorkerOperatorTest, WhoAsksTooMuchIsSentAway) {
  std::vector<std::byte> frame;
  for (int n = 0; n < 65; ++n) wire::write(frame, wire::FromOperator(wire::AskFacts{}));
  const auto talker = talk({frame});
  ASSERT_TRUE(talker->wait([&] { return talker->end_.has_value(); }));
  EXPECT_THAT(*talker->end_, HasSubstr("asks too much"));
}

TEST_F(WorkerOperatorTest, NonsenseEndsTheVisitAlone) {
  std::mt19937 dice(2026);
  for (int n = 0; n < 200; ++n) {
    std::vector<std::byte> frame;
    for (const wire::FromOperator& record : wire::operator_examples()) wire::write(frame, record);
    for (unsigned change = 1 + dice() % 4; change != 0; --change)
      frame[dice() % frame.size()] = static_cast<std::byte>(dice());
    // The second one has an unknown record at its end, so that there is an end to wait for.
    std::vector<std::byte> last = frame;
    last.push_back(std::byte{0x7f});
    const auto talker = talk({frame, last});
    ASSERT_TRUE(talker->wait([&] { return talker->end_.has_value(); })) << n;
  }
  EXPECT_TRUE(ask(wire::AskFacts{}).ok());
}

}  // namespace
}  // namespace dhpvm::offload
