// SPDX-License-Identifier: Apache-2.0
// A client for tests, which sends a worker whatever records and bytes the test wants, and remembers the answers.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/worker/site_for_tests.h"

namespace dhpvm::offload::hostile {

using Records = std::vector<wire::FromClient>;

// Speaks the protocol as well or as badly as the test wants.
class Client final : public Noted,
                     public FrameHandler,
                     public BulkHandler,
                     public std::enable_shared_from_this<Client> {
 public:
  explicit Client(Site& site) : site_(site) {}

  static std::shared_ptr<Client> dial(Site& site) {
    auto client = std::make_shared<Client>(site);
    Channel::dial(
        *site.here_, site.address_, "localhost", LaneKind::kFrames, site.channel_options(),
        [client](const std::shared_ptr<Channel>& channel, LaneKind) -> std::shared_ptr<Lane> {
          client->note(
              [&] { client->frames_ = std::make_shared<FrameLane>(channel, client, FrameLaneOptions{}); });
          return client->frames_;
        },
        [client](const Error& reason) { client->on_closed(reason); });
    client->wait([&] { return client->frames_ != nullptr || client->end_; });
    return client;
  }
  // Served, but without a lane for data.
  static std::shared_ptr<Client> greet(Site& site) {
    auto client = dial(site);
    client->say({wire::Hello{"a test", "0"}});
    EXPECT_TRUE(client->wait([&] { return client->welcome_ || client->end_; }) && client->welcome_);
    return client;
  }
  // With a session, queue 1, memory 2 of 4096 bytes, and semaphore 3, all on the host's cores.
  static std::shared_ptr<Client> open(Site& site) {
    auto client = greet(site);
    client->dial_bulk({client->welcome_->token.begin(), client->welcome_->token.end()});
    EXPECT_TRUE(client->wait([&] { return client->ready_ || client->end_; }) && client->ready_);
    client->say({wire::CreateQueue{1, 1, kHost, false, "a queue"}, wire::Allocate{2, kHost, 2, 4096},
                 wire::CreateSemaphore{3, kHost, 0}});
    EXPECT_EQ(client->answer(1), "");
    EXPECT_EQ(client->answer(2), "");
    return client;
  }
  void dial_bulk(const Bytes& header) {
    Channel::dial(
        *site_.here_, site_.address_, "localhost", LaneKind::kBulk, site_.channel_options(),
        [client = shared_from_this(), header](const std::shared_ptr<Channel>& channel,
                                              LaneKind) -> std::shared_ptr<Lane> {
          auto lane = std::make_shared<BulkLane>(channel, client);
          if (!header.empty()) lane->send(header, {}, [](const Status&) {});
          client->note([&] { client->bulk_ = lane; });
          return lane;
        },
        [client = shared_from_this()](const Error& reason) { client->on_bulk_closed(reason); });
    wait([&] { return bulk_ != nullptr || bulk_end_; });
  }

  void say(const Records& records) {
    Bytes frame;
    for (const wire::FromClient& record : records) wire::write(frame, record);
    say(frame);
  }
  void say(const Bytes& frame) {
    if (frames_ != nullptr) frames_->send(frame);
  }
  void send_run(const Bytes& header, std::size_t bytes) {
    const auto data = std::make_shared<Bytes>(bytes);
    bulk_->send(header, *data, [data](const Status&) {});
  }

  // The worker's answer to a request: why not, or nothing.
  std::string answer(wire::Id request) {
    if (!wait([&] { return answers_.contains(request) || end_; })) return "no answer";
    return answers_.contains(request) ? answers_[request] : "ended: " + end_->to_string();
  }
  bool is_answered(wire::Id request) {
    bool is_there = false;
    note([&] { is_there = answers_.contains(request); });
    return is_there;
  }
  // Why the queue has failed, or nothing if it has done `count` operations.
  std::string fares(wire::Id queue, std::uint64_t count) {
    if (!wait([&] { return done_ >= count || failures_.contains(queue) || end_; })) return "no answer";
    if (end_) return "ended: " + end_->to_string();
    return failures_.contains(queue) ? failures_[queue] : "";
  }
  // Operations that it has been told are done.
  std::uint64_t done() {
    std::uint64_t done = 0;
    note([&] { done = done_; });
    return done;
  }
  std::string end() {
    return wait([&] { return end_.has_value(); }) ? end_->to_string() : "no end";
  }
  bool wait_place(std::uint64_t place) {
    return wait([&] { return place_ == place; });
  }
  std::string bulk_end() {
    return wait([&] { return bulk_end_.has_value(); }) ? bulk_end_->to_string() : "no end";
  }
  // Whether the worker still executes operations.
  bool is_served() {
    const std::uint64_t done = done_;
    say({wire::Ping{++pings_}, wire::Fill{{1, {}, {}}, {2, 0, 4096}, 1}});
    return wait([&] { return (pongs_ == pings_ && done_ > done) || end_; }) && !end_;
  }
  void leave() {
    if (frames_ != nullptr) frames_->close(Error(ErrorCode::kInterrupted, "the test is over"));
    end();
  }

  void on_open() override {}
  void on_frame(ConstBytes frame) override {
    const auto records = wire::read_from_worker(frame);
    ASSERT_TRUE(records.ok());
    for (const wire::FromWorker& record : *records) {
      note([&] { std::visit([this](const auto& value) { take(value); }, record); });
    }
  }
  void on_closed(const Error& reason) override {
    note([&] { end_ = reason; });
  }
  void on_bulk_open() override {}
  void on_run(ConstBytes, std::uint64_t bytes) override {
    received_.resize(bytes);
    bulk_->receive(received_, [this](const Status&) { note([&] { ++runs_received_; }); });
  }
  // Downloads the memory, which must fit into one run.
  Bytes read(wire::Id queue, wire::Id memory, std::uint64_t bytes) {
    const std::uint64_t runs = runs_received_;
    say({wire::Download{{queue, {}, {}}, {memory, 0, bytes}}});
    EXPECT_TRUE(wait([&] { return runs_received_ > runs || end_; }) && !end_);
    return received_;
  }
  // So many results that came in answers, in their order.
  std::vector<Bytes> downloads(std::size_t count) {
    EXPECT_TRUE(wait([&] { return downloads_.size() >= count || end_; }) && !end_);
    return downloads_;
  }
  void on_bulk_closed(const Error& reason) override {
    note([&] { bulk_end_ = reason; });
  }

  std::optional<wire::Welcome> welcome_;
  bool ready_ = false;
  std::shared_ptr<FrameLane> frames_;
  std::shared_ptr<BulkLane> bulk_;
  std::optional<Error> end_;
  std::optional<Error> bulk_end_;

 private:
  void take(const wire::Welcome& record) { welcome_ = record; }
  void take(const wire::Ready&) { ready_ = true; }
  void take(const wire::Pong& record) { pongs_ = record.number; }
  void take(const wire::Reply& record) {
    answers_[record.request] = record.failure ? record.failure->to_error().to_string() : "";
  }
  void take(const wire::NeedModule& record) { needed_.insert(record.digest); }
  void take(const wire::Progress& record) { done_ += record.operations; }
  void take(const wire::QueueFailed& record) {
    failures_[record.queue] = record.failure.to_error().to_string();
  }
  void take(const wire::CallHost&) {}
  void take(const wire::Observed&) {}
  void take(const wire::Draining&) {}
  void take(const wire::Queued& record) { place_ = record.place; }
  void take(const wire::Downloaded& record) {
    received_ = record.bytes;
    downloads_.push_back(record.bytes);
    ++runs_received_;
  }

  Site& site_;
  std::map<wire::Id, std::string> answers_;
  std::map<wire::Id, std::string> failures_;
  std::set<wire::Digest> needed_;
  std::uint64_t pings_ = 0;
  std::uint64_t pongs_ = 0;
  std::uint64_t place_ = 0;  // in the queue
  std::uint64_t done_ = 0;
  Bytes received_;
  std::vector<Bytes> downloads_;
  std::uint64_t runs_received_ = 0;
};

inline wire::Order on_queue(wire::Id queue) { return {queue, {}, {}}; }

}  // namespace dhpvm::offload::hostile
