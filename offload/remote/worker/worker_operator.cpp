// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/worker_operator.h"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

#include "base/error.h"
#include "offload/remote/fabric/frame_lane.h"

namespace dhpvm::offload {
namespace {

constexpr std::chrono::seconds kLongestVisit{30};
constexpr unsigned kMostRequests = 64;
// The most bytes of answers that may wait for an operator who does not read them.
constexpr std::size_t kMostWaiting = 4 << 20;
// A record takes at most a third of a frame.
constexpr std::size_t kFullFrame = FrameLane::kLargestFrame / 2;

class Operator final : public FrameHandler, public std::enable_shared_from_this<Operator> {
 public:
  explicit Operator(OperatorActions actions) : actions_(std::move(actions)) {}

  std::shared_ptr<Lane> attach(const std::shared_ptr<Channel>& channel) {
    auto lane = std::make_shared<FrameLane>(channel, shared_from_this(),
                                            FrameLaneOptions{.most_waiting = kMostWaiting});
    lane_ = lane;
    channel->transport().post_at(Transport::Clock::now() + kLongestVisit, [weak = weak_from_this()] {
      if (const auto late = weak.lock()) late->close(ErrorCode::kDeviceLost, "the time of a visit is over");
    });
    return lane;
  }

  void on_open() override {}
  void on_frame(ConstBytes frame) override {
    const auto records = wire::read_from_operator(frame);
    if (!records.ok()) return close(records.error().code(), records.error().message());
    for (const wire::FromOperator& record : *records) {
      if (++requests_ > kMostRequests)
        return close(ErrorCode::kProtocol, "the operator asks too much at once");
      std::visit([this](const auto& fields) { handle(fields); }, record);
    }
    flush();
  }
  void on_closed(const Error&) override { actions_ = {}; }

 private:
  void close(ErrorCode code, const std::string& reason) {
    if (const auto lane = lane_.lock()) lane->close(Error(code, reason));
  }
  void add(const wire::ToOperator& record) {
    wire::write(answer_, record);
    if (answer_.size() >= kFullFrame) flush();
  }
  void flush() {
    if (const auto lane = lane_.lock(); lane != nullptr && !answer_.empty()) lane->send(answer_);
    answer_.clear();
  }
  void handle(const wire::AskFacts&) {
    if (!actions_.report) return;
    const auto report = actions_.report();
    if (!report.ok()) return close(report.error().code(), report.error().message());
    add(report->facts);
    for (const wire::Device& device : report->devices) add(device);
    const std::size_t count = std::min(report->sessions.size(), wire::kMostSessionFacts);
    for (std::size_t n = 0; n < count; ++n) add(report->sessions[n]);
    add(wire::FactsEnd{report->sessions.size() - count});
  }
  void handle(const wire::EndSession& record) {
    if (!actions_.end_session) return;
    const Status status = actions_.end_session(record.number, record.reason);
    wire::SessionEnding answer{record.number, {}};
    if (!status.ok()) answer.failure = wire::Failure::from(status.error());
    add(answer);
  }

  OperatorActions actions_;
  std::weak_ptr<FrameLane> lane_;
  unsigned requests_ = 0;
  std::vector<std::byte> answer_;
};

}  // namespace

std::shared_ptr<Lane> make_operator_lane(const std::shared_ptr<Channel>& channel, OperatorActions actions) {
  return std::make_shared<Operator>(std::move(actions))->attach(channel);
}

}  // namespace dhpvm::offload
