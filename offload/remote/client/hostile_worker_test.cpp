// SPDX-License-Identifier: Apache-2.0
// A worker that takes operations and answers when it likes: the client never has more small results on their way than
// a worker may have to keep for it, and asks it for nothing that its release does not know.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "offload/remote/client/remote_device.h"
#include "offload/remote/client/remote_workers.h"
#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/load_fabric.h"
#include "offload/remote/fabric/loopback.h"
#include "offload/remote/fabric/noted.h"

namespace dhpvm::offload {
namespace {

constexpr std::uint64_t kElements = wire::kMaxElements;
constexpr std::uint64_t kLimit = 2 << 20;

// Serves one client, and answers its downloads only when it is told to.
class LazyWorker final : public Noted,
                         public FrameHandler,
                         public BulkHandler,
                         public std::enable_shared_from_this<LazyWorker> {
 public:
  Address listen(Transport& transport) {
    ChannelOptions options;
    options.role = Role::kWorker;
    listener_ = *transport.listen({"127.0.0.1", 0}, [this, &transport,
                                                     options](std::shared_ptr<Connection> connection) {
      return Channel::accept(
          transport, std::move(connection), options,
          [this](const std::shared_ptr<Channel>& channel, LaneKind kind) { return make_lane(channel, kind); },
          [](const Error&) {});
    });
    return listener_->address();
  }
  void end() { listener_.reset(); }

  // Closes the lane for bulk data, and says why a moment later.
  void leave(Transport& transport, const Error& reason) {
    transport.post([this, &transport, reason] {
      bulk_->drop(reason);
      transport.post_at(Transport::Clock::now() + std::chrono::milliseconds(10),
                        [this, reason] { frames_->close(reason); });
    });
  }

  // Says of what it was asked first that it is done, without its results, and that the queue has failed.
  void fail_queue(Transport& transport, const Error& reason) {
    Asked first;
    note([&] { first = waiting_.at(0); });
    transport.post([this, first, reason] {
      send(wire::Progress{first.queue, first.bytes.size()});
      send(wire::QueueFailed{first.queue, wire::Failure::from(reason)});
    });
  }

  // The number of kernels that it was asked for in each way.
  struct Kernels {
    std::uint64_t any = 0;
    std::uint64_t small = 0;
    bool operator==(const Kernels&) const = default;
  };
  void lend_gpu() { is_gpu_ = true; }
  Kernels kernels() {
    Kernels loaded;
    note([&] { loaded = kernels_; });
    return loaded;
  }

  // Whether so many bytes of downloads are asked for without an answer.
  bool wait_asked(std::uint64_t bytes) {
    return wait([&] { return asked_ >= bytes; });
  }
  void answer_all() {
    std::vector<Asked> waiting;
    note([&] {
      is_answering_ = true;
      waiting = std::move(waiting_);
    });
    for (const Asked& asked : waiting) answer(asked);
  }
  // The most bytes that have been asked for and not been answered.
  std::uint64_t most_asked() {
    std::uint64_t most = 0;
    wait([&] {
      most = most_asked_;
      return true;
    });
    return most;
  }

  void on_open() override {}
  void on_frame(ConstBytes frame) override {
    auto records = wire::read_from_client(frame);
    ASSERT_TRUE(records.ok());
    for (wire::FromClient& record : *records) std::visit([this](auto& value) { take(value); }, record);
  }
  void on_closed(const Error&) override {}
  void on_bulk_open() override { send(wire::Ready{}); }
  void on_run(ConstBytes, std::uint64_t) override {}
  void on_bulk_closed(const Error&) override {}

 private:
  struct Asked {
    wire::Id queue = 0;
    std::uint64_t first = 0;
    std::vector<std::uint64_t> bytes;  // of each operation
  };

  std::shared_ptr<Lane> make_lane(const std::shared_ptr<Channel>& channel, LaneKind kind) {
    if (kind == LaneKind::kBulk) return bulk_ = std::make_shared<BulkLane>(channel, shared_from_this());
    frames_ = std::make_shared<FrameLane>(channel, shared_from_this(), FrameLaneOptions{});
    return frames_;
  }
  void send(const wire::FromWorker& record) {
    std::vector<std::byte> frame;
    wire::write(frame, record);
    frames_->send(frame);
  }
  void answer(const Asked& asked) {
    std::uint64_t number = asked.first;
    for (const std::uint64_t bytes : asked.bytes) {
      send(wire::Downloaded{number, std::vector<std::byte>(bytes, static_cast<std::byte>(number))});
      ++number;
      note([&] { asked_ -= bytes; });
    }
    send(wire::Progress{asked.queue, asked.bytes.size()});
  }
  void ask(Asked asked) {
    operations_ += asked.bytes.size();
    bool is_answering = false;
    note([&] {
      for (const std::uint64_t bytes : asked.bytes) asked_ += bytes;
      most_asked_ = std::max(most_asked_, asked_);
      is_answering = is_answering_;
      if (!is_answering) waiting_.push_back(asked);
    });
    if (is_answering) answer(asked);
  }

  void take(const wire::Hello&) {
    wire::Welcome welcome{"a test", "0", {}, {}, 1 << 20, 1 << 30, 1 << 20};
    wire::Device& device = welcome.devices.emplace_back();
    device.name = "host";
    device.memory_bytes = device.largest_allocation = 1 << 30;
    device.is_gpu = is_gpu_;
    send(welcome);
  }
  void take(const wire::Ping& record) { send(wire::Pong{record.number, 0}); }
  void take(const wire::Allocate& record) { send(wire::Reply{record.request, {}, {}, 0, 0}); }
  void take(const wire::CreateQueue& record) { send(wire::Reply{record.request, {}, {}, 0, 0}); }
  void take(const wire::LoadKernel& record) {
    note([&] { ++kernels_.any; });
    send(wire::Reply{record.request, {}, {}, 0, 0});
  }
  void take(const wire::LoadSmall& record) {
    note([&] { ++kernels_.small; });
    send(wire::Reply{record.request, {}, {}, 0, 0});
  }
  void take(const wire::Download& record) { ask({record.order.queue, operations_, {record.from.bytes}}); }
  void take(const wire::Batch& record) {
    Asked asked{record.order.queue, operations_, {}};
    for (const wire::Step& step : record.steps) asked.bytes.push_back(std::get<wire::Span>(step).bytes);
    kept_ = asked.bytes;
    ask(std::move(asked));
  }
  void take(const wire::Replay& record) { ask({record.order.queue, operations_, kept_}); }
  template <typename Other>
  void take(const Other&) {}

  std::unique_ptr<Listener> listener_;
  std::shared_ptr<FrameLane> frames_;
  std::shared_ptr<BulkLane> bulk_;
  std::uint64_t operations_ = 0;
  std::vector<std::uint64_t> kept_;  // of the last batch
  bool is_gpu_ = false;
  // Noted.
  bool is_answering_ = false;
  std::vector<Asked> waiting_;
  std::uint64_t asked_ = 0;
  std::uint64_t most_asked_ = 0;
  Kernels kernels_;
};

class HostileWorker : public ::testing::Test {
 protected:
  HostileWorker() {
    RemoteWorkersOptions options;
    options.workers = {worker_->listen(*there_)};
    workers_ = std::shared_ptr<RemoteWorkers>(*RemoteWorkers::create(*fabric_, *here_, options));
    auto link = workers_->link(options.workers[0]);
    EXPECT_TRUE(link.ok()) << link.error().to_string();
    device_ = std::make_unique<RemoteDevice>(workers_, *link, 0);
    queue_ = *device_->create_queue({.name = "test", .observer = {}});
    results_.resize(kOperations * kElements);
    there_memory_ = *device_->allocate(kElements);
    here_memory_ = *device_->import_host(results_, HostMemory::kPageable);
    end_ = *device_->create_semaphore(0);
  }
  ~HostileWorker() override {
    queue_.reset();
    end_.reset();
    there_memory_.reset();
    here_memory_.reset();
    device_.reset();
    workers_.reset();
    worker_->end();
  }
  Operation download(std::uint64_t n) const {
    Operation operation;
    operation.record.kind = OperationRecord::Kind::kDownload;
    operation.to = {here_memory_, n * kElements, kElements};
    operation.from = {there_memory_, 0, kElements};
    return operation;
  }
  // The order of one of `count` operations, of which the last signals.
  Order order_of(std::uint64_t n, std::uint64_t count) {
    signal_ = {end_, 1};
    return n + 1 == count ? Order{{}, {&signal_, 1}} : Order{};
  }
  void expect_results() {
    ASSERT_TRUE(queue_->flush().ok());
    const auto reached = end_->wait(1, std::chrono::steady_clock::now() + Noted::kPatience);
    ASSERT_TRUE(reached.ok()) << reached.error().to_string();
    ASSERT_TRUE(*reached);
    for (std::uint64_t n = 0; n < kOperations; ++n)
      ASSERT_EQ(results_[n * kElements + kElements - 1], static_cast<std::byte>(n)) << n;
  }

  static constexpr std::uint64_t kOperations = 1024;  // with 12 MiB of results
  LoopbackNetwork network_;
  std::unique_ptr<Fabric> fabric_ = *load_fabric(DHPVM_FABRIC_FOLDER);
  std::unique_ptr<Transport> there_ = network_.create_transport();
  std::unique_ptr<Transport> here_ = network_.create_transport();
  const std::shared_ptr<LazyWorker> worker_ = std::make_shared<LazyWorker>();
  std::shared_ptr<RemoteWorkers> workers_;
  std::unique_ptr<RemoteDevice> device_;
  std::vector<std::byte> results_;
  std::shared_ptr<DeviceMemory> there_memory_;
  std::shared_ptr<DeviceMemory> here_memory_;
  std::shared_ptr<Semaphore> end_;
  std::unique_ptr<Queue> queue_;
  SemaphoreValue signal_;
};

TEST_F(HostileWorker, IsNotAskedForMoreResultsThanItMayKeep) {
  for (std::uint64_t n = 0; n < kOperations; ++n) {
    const Operation operation = download(n);
    ASSERT_TRUE(queue_->copy(operation.to, operation.from, order_of(n, kOperations), 0).ok());
  }
  ASSERT_TRUE(queue_->flush().ok());
  EXPECT_TRUE(worker_->wait_asked(kLimit / kElements * kElements));
  worker_->answer_all();
  expect_results();
  EXPECT_LE(worker_->most_asked(), kLimit);
}

TEST_F(HostileWorker, IsNotAskedForMoreBatchesThanItMayKeepResultsOf) {
  constexpr std::uint64_t kSteps = 64;
  constexpr std::uint64_t kBatches = kOperations / kSteps;
  for (std::uint64_t n = 0; n < kBatches; ++n) {
    std::vector<Operation> steps;
    for (std::uint64_t step = 0; step < kSteps; ++step) steps.push_back(download(n * kSteps + step));
    ASSERT_TRUE(queue_->batch(std::move(steps), order_of(n, kBatches)).ok());
  }
  ASSERT_TRUE(queue_->flush().ok());
  EXPECT_TRUE(worker_->wait_asked(2 * kSteps * kElements));
  worker_->answer_all();
  expect_results();
  EXPECT_LE(worker_->most_asked(), kLimit);
}

// The worker begins while the program still makes operations.
TEST_F(HostileWorker, HearsOfManyOperationsBeforeTheyAreFlushed) {
  for (std::uint64_t n = 0; n < 20; ++n) {
    const Operation operation = download(n);
    ASSERT_TRUE(queue_->copy(operation.to, operation.from, order_of(n, 20), 0).ok());
  }
  EXPECT_TRUE(worker_->wait_asked(16 * kElements));
  ASSERT_TRUE(queue_->flush().ok());
  EXPECT_TRUE(worker_->wait_asked(20 * kElements));
  worker_->answer_all();
  EXPECT_TRUE(end_->wait(1, std::chrono::steady_clock::now() + Noted::kPatience).ok());
}

// A kernel for small indices, as the last release and this one are asked for it.
TEST(LentGpu, IsToldOfSmallIndicesWhereItsReleaseKnowsThem) {
  struct Case {
    std::uint16_t version;
    bool is_gpu;
    LazyWorker::Kernels asked;
  };
  for (const Case& each : {Case{kProtocolVersion, true, {1, 1}}, Case{kProtocolVersion, false, {2, 0}},
                           Case{kVersionWithoutSmallIndices, true, {2, 0}}}) {
    LoopbackNetwork network;
    const std::unique_ptr<Fabric> fabric = *load_fabric(DHPVM_FABRIC_FOLDER);
    const std::unique_ptr<Transport> there = network.create_transport();
    const std::unique_ptr<Transport> here = network.create_transport();
    const auto worker = std::make_shared<LazyWorker>();
    if (each.is_gpu) worker->lend_gpu();
    RemoteWorkersOptions options;
    options.version = each.version;
    options.workers = {worker->listen(*there)};
    {
      const std::shared_ptr<RemoteWorkers> workers = *RemoteWorkers::create(*fabric, *here, options);
      RemoteDevice device(workers, *workers->link(options.workers[0]), 0);
      KernelImage image;
      image.format = KernelFormat::kBytecode;
      image.bytecode = std::make_shared<const std::vector<std::byte>>(100);
      EXPECT_TRUE(device.load(image).ok());
      EXPECT_TRUE(device.load_small(image).ok());
    }
    EXPECT_EQ(worker->kernels(), each.asked) << "version " << each.version;
    worker->end();
  }
}

// A worker of an earlier release says that operations are done although its device has failed before their results
// could leave.
TEST_F(HostileWorker, IsNotWaitedForWhenItsQueueHasFailed) {
  std::vector<Operation> steps{download(0), download(1)};
  ASSERT_TRUE(queue_->batch(std::move(steps), order_of(0, 1)).ok());
  ASSERT_TRUE(queue_->flush().ok());
  EXPECT_TRUE(worker_->wait_asked(2 * kElements));
  worker_->fail_queue(*there_, Error(ErrorCode::kDeviceFailed, "its device has failed"));
  const auto reached = end_->wait(1, std::chrono::steady_clock::now() + Noted::kPatience);
  if (reached.ok()) worker_->leave(*there_, Error(ErrorCode::kDeviceLost, "the test is over"));
  ASSERT_FALSE(reached.ok());
  EXPECT_NE(reached.error().to_string().find("its device has failed"), std::string::npos)
      << reached.error().to_string();
}

// As one does whose bulk data were changed on their way.
TEST_F(HostileWorker, IsHeardWhenItClosesOneLaneAndThenSaysWhy) {
  const Operation operation = download(0);
  ASSERT_TRUE(queue_->copy(operation.to, operation.from, order_of(0, 1), 0).ok());
  ASSERT_TRUE(queue_->flush().ok());
  EXPECT_TRUE(worker_->wait_asked(kElements));
  worker_->leave(*there_, Error(ErrorCode::kProtocol, "somebody interferes"));
  const auto reached = end_->wait(1, std::chrono::steady_clock::now() + Noted::kPatience);
  ASSERT_FALSE(reached.ok());
  EXPECT_NE(reached.error().to_string().find("somebody interferes"), std::string::npos)
      << reached.error().to_string();
}

}  // namespace
}  // namespace dhpvm::offload
