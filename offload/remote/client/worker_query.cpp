// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/client/worker_query.h"

#include <future>
#include <memory>
#include <utility>

#include "base/error.h"
#include "offload/remote/fabric/frame_lane.h"

namespace dhpvm::offload {
namespace {

// The largest answer that makes sense.
constexpr std::size_t kMostRecords = 2 + wire::kMaxDevices + wire::kMostSessionFacts;

// Everything except the constructor and the future runs on the progress thread.
class Query final : public FrameHandler, public std::enable_shared_from_this<Query> {
 public:
  using Answer = Result<std::vector<wire::ToOperator>>;

  explicit Query(const wire::FromOperator& question) { wire::write(question_, question); }

  std::shared_ptr<Lane> attach(const std::shared_ptr<Channel>& channel) {
    auto lane = std::make_shared<FrameLane>(channel, shared_from_this(), FrameLaneOptions{});
    lane_ = lane;
    return lane;
  }
  std::future<Answer> answer() { return answer_.get_future(); }
  void finish(Answer answer) {
    if (std::exchange(is_finished_, true)) return;
    answer_.set_value(std::move(answer));
  }

  void on_open() override {
    if (const auto lane = lane_.lock()) lane->send(question_);
  }
  void on_frame(ConstBytes frame) override {
    auto records = wire::read_to_operator(frame);
    if (!records.ok()) return finish(std::move(records).error());
    for (wire::ToOperator& record : *records) {
      if (is_finished_) return;
      const bool is_last = std::holds_alternative<wire::FactsEnd>(record) ||
                           std::holds_alternative<wire::SessionEnding>(record);
      records_.push_back(std::move(record));
      if (is_last) return finish(std::move(records_));
      if (records_.size() > kMostRecords)
        return finish(error(ErrorCode::kProtocol, "an answer without an end"));
    }
  }
  void on_closed(const Error& reason) override { finish(reason); }

 private:
  std::vector<std::byte> question_;
  std::weak_ptr<FrameLane> lane_;
  std::vector<wire::ToOperator> records_;
  bool is_finished_ = false;
  std::promise<Answer> answer_;
};

}  // namespace

Result<std::vector<wire::ToOperator>> ask_worker(Transport& transport, const Address& address,
                                                 const std::string& host, ChannelOptions options,
                                                 const wire::FromOperator& question,
                                                 std::chrono::milliseconds patience) {
  options.role = Role::kClient;
  const auto query = std::make_shared<Query>(question);
  std::future<Query::Answer> answer = query->answer();
  const auto channel = Channel::dial(
      transport, address, host, LaneKind::kOperator, std::move(options),
      [query](const std::shared_ptr<Channel>& opened, LaneKind) { return query->attach(opened); },
      [query](const Error& reason) { query->finish(reason); });
  if (answer.wait_for(patience) == std::future_status::timeout) {
    transport.post([query, patience] {
      query->finish(error(ErrorCode::kDeviceLost, "it has not answered for {} ms", patience.count()));
    });
  }
  Query::Answer received = answer.get();
  channel->close(Error(ErrorCode::kDeviceLost, "the operator has its answer"));
  return received;
}

}  // namespace dhpvm::offload
