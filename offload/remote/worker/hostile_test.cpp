// SPDX-License-Identifier: Apache-2.0
// Malicious workers and clients: forbidden requests are refused and logged, and another client at the same time notices
// nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "base/error.h"
#include "codegen/kernel_abi.h"
#include "offload/devices/checked_queue.h"
#include "offload/devices/conformance/test_kernels.h"
#include "offload/devices/host/host_device.h"
#include "offload/devices/host_code.h"
#include "offload/devices/sim/sim_device.h"
#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/key_file.h"
#include "offload/remote/fabric/load_fabric.h"
#include "offload/remote/fabric/loopback.h"
#include "offload/remote/fabric/noted.h"
#include "offload/remote/worker/local_sessions.h"
#include "offload/remote/worker/staging.h"
#include "offload/remote/worker/worker.h"

namespace dhpvm::offload {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;
using Records = std::vector<wire::FromClient>;

// The devices of the site.
constexpr std::uint64_t kHost = 0;
constexpr std::uint64_t kSim = 1;
constexpr std::uint64_t kLate = 2;

// Devices that open when the test says so, or not at all.
class Gate : public Noted {
 public:
  void open(Status how) {
    note([&] { opened_ = std::move(how); });
  }
  Status pass(std::uint64_t device) {
    note([&] { asked_for_.push_back(device); });
    return wait([&] { return opened_.has_value(); })
               ? *opened_
               : Status(Error(ErrorCode::kDeviceFailed, "the gate stays shut"));
  }
  // Devices, in the order in which they came.
  std::vector<std::uint64_t> asked_for() {
    std::vector<std::uint64_t> devices;
    note([&] { devices = asked_for_; });
    return devices;
  }

 private:
  std::optional<Status> opened_;
  std::vector<std::uint64_t> asked_for_;
};

class LateQueue;

// A device with memory of its own, which does its operations on its own thread, in the order of submission, and none
// while it is held.
class LateDevice final : public DeviceBase, public Noted {
 public:
  LateDevice() : DeviceBase(describe()), thread_([this] { work(); }) {}
  ~LateDevice() override {
    note([&] { is_ending_ = true; });
    thread_.join();
  }

  Result<std::shared_ptr<DeviceMemory>> allocate(std::size_t bytes) override {
    return allocate_on_host(*this, bytes);
  }
  Result<std::shared_ptr<DeviceMemory>> import_host(std::span<std::byte> memory, HostMemory kind) override {
    return import_from_host(*this, memory, kind);
  }
  Result<std::shared_ptr<Kernel>> load(const KernelImage&) override {
    return error(ErrorCode::kUnsupported, "the late device has no kernels");
  }
  Result<std::unique_ptr<Queue>> create_queue(QueueOptions options) override;

  void hold(bool is_held) {
    note([&] { is_held_ = is_held; });
  }
  // Operations of this kind that it has been given and has not done.
  std::size_t waiting(OperationRecord::Kind kind) {
    std::size_t count = 0;
    note([&] {
      count = static_cast<std::size_t>(std::ranges::count_if(
          pending_, [&](const auto& entry) { return entry.second.record.kind == kind; }));
    });
    return count;
  }

 private:
  friend class LateQueue;
  static DeviceInfo describe() {
    DeviceInfo info;
    info.name = "late";
    info.memory_bytes = info.largest_allocation = 1 << 30;
    return info;
  }
  void work();

  bool is_held_ = false;
  bool is_ending_ = false;
  std::deque<std::pair<LateQueue*, Operation>> pending_;  // the first may be being done
  std::thread thread_;
};

class LateQueue final : public CheckedQueue {
 public:
  LateQueue(LateDevice& device, QueueOptions options)
      : CheckedQueue(device, std::move(options)), late_(device) {}
  ~LateQueue() override {
    late_.hold(false);
    late_.wait([&] { return late_.pending_.empty(); });
  }
  Status flush() override { return {}; }

  void perform(Operation operation) {
    Status status = await(operation);
    if (status.ok()) status = do_on_host(pool_, operation);
    finish(std::move(operation), std::move(status));
  }

 protected:
  void submit(Operation operation) override {
    late_.note([&] { late_.pending_.emplace_back(this, std::move(operation)); });
  }

 private:
  LateDevice& late_;
  ThreadPool pool_{1};
};

Result<std::unique_ptr<Queue>> LateDevice::create_queue(QueueOptions options) {
  return std::unique_ptr<Queue>(std::make_unique<LateQueue>(*this, std::move(options)));
}

void LateDevice::work() {
  for (;;) {
    const bool is_ready = wait([&] { return is_ending_ || (!is_held_ && !pending_.empty()); });
    if (!is_ready) continue;
    LateQueue* queue = nullptr;
    Operation operation;
    note([&] {
      if (pending_.empty()) return;
      queue = pending_.front().first;
      operation = std::move(pending_.front().second);
    });
    if (queue == nullptr) return;
    queue->perform(std::move(operation));
    note([&] { pending_.pop_front(); });
  }
}

// A worker on a network of its own, with its log.
class Site : public Noted {
 public:
  explicit Site(WorkerLimits limits = {}, std::chrono::milliseconds deadline = 5000ms, bool with_key = false,
                FaultPlan from_clients = {}, const std::shared_ptr<Gate>& gate = nullptr) {
    fabric_ = *load_fabric(DHPVM_FABRIC_FOLDER);
    if (with_key) identity_ = *fabric_->load_identity({SecretBytes(kKeyBytes, std::byte{7}), {}, {}, {}});
    here_ = network_.create_transport(std::move(from_clients));
    there_ = network_.create_transport();
    WorkerOptions options;
    options.name = "test worker";
    options.identity = identity_;
    options.limits = limits;
    options.handshake_deadline = deadline;
    options.generator = [this] { return kernels_.generator(); };
    options.log = [this](const WorkerLogEntry& entry) { note([&] { log_ += entry.to_line() + "\n"; }); };
    const auto pool = std::make_shared<ThreadPool>(2);
    std::vector<std::shared_ptr<Device>> devices;
    for (const auto& factory : {host_factory(pool), sim_factory(pool)}) {
      devices.push_back(*factory->open(factory->prefix()));
    }
    devices.push_back(late_);
    DeviceGate pass;
    if (gate != nullptr) pass = [gate](std::uint64_t device) { return gate->pass(device); };
    auto runner = make_local_sessions(*fabric_, *there_, std::move(devices), options, std::move(pass));
    worker_ = std::make_unique<Worker>(*there_, std::move(runner), std::move(options));
    address_ = *worker_->listen({"127.0.0.1", 0});
  }

  // A kernel as clients send it.
  auto image(const char* kernel) {
    DeviceInfo bytecode;
    bytecode.format = KernelFormat::kBytecode;
    return kernels_.image(bytecode, kernel);
  }
  bool wait_log(const std::string& text) {
    return wait([&] { return log_.find(text) != log_.npos; });
  }
  bool wait_sessions(unsigned count) {
    for (int n = 0; n < 4000 && worker_->sessions() != count; ++n) std::this_thread::sleep_for(5ms);
    return worker_->sessions() == count;
  }
  ChannelOptions channel_options() const {
    ChannelOptions options;
    options.identity = identity_;
    return options;
  }

  std::string log_;
  LoopbackNetwork network_;
  std::unique_ptr<Fabric> fabric_;
  std::shared_ptr<Identity> identity_;
  TestKernels kernels_;
  const std::shared_ptr<LateDevice> late_ = std::make_shared<LateDevice>();
  std::unique_ptr<Transport> here_;
  std::unique_ptr<Transport> there_;
  std::unique_ptr<Worker> worker_;
  Address address_;
};

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

wire::Order on_queue(wire::Id queue) { return {queue, {}, {}}; }

// Memory of all sizes is used again by the allocator, and so by the next session.
TEST(Hostile, MemoryOfOthersIsNotSeen) {
  Site site;
  for (const std::uint64_t device : {kHost, kSim}) {
    for (const std::uint64_t bytes : {64, 4096, 100'000}) {
      for (int session = 0; session < 3; ++session) {
        const auto client = Client::open(site);
        client->say({wire::CreateQueue{3, 7, device, false, "another"}, wire::Allocate{4, device, 8, bytes}});
        ASSERT_EQ(client->answer(3), "");
        ASSERT_EQ(client->answer(4), "");
        EXPECT_EQ(client->read(7, 8, bytes), Bytes(bytes)) << bytes << " bytes of device " << device;
        client->say({wire::Fill{{7, {}, {}}, {8, 0, bytes}, 0xa5}});
        EXPECT_EQ(client->read(7, 8, bytes), Bytes(bytes, std::byte{0xa5}));
        client->leave();
      }
    }
  }
}

// ---- The protocol ---------------------------------------------------------------------------------------------------

TEST(Hostile, BreachesOfTheProtocolEndTheSession) {
  Records many;
  for (wire::Id n = 0; n < 70; ++n) many.emplace_back(wire::Allocate{100 + n, kHost, 100 + n, 64});
  wire::Launch launch;
  launch.order = on_queue(1);
  launch.kernel = 99;
  launch.space = {{0, 1}};
  const wire::Work work = launch;
  const wire::Batch kept{on_queue(1), 3, {wire::Elements{2, 0, Bytes(8)}, wire::Span{2, 0, 8}}};
  const wire::Digest digest{};
  const std::vector<std::pair<Records, const char*>> cases = {
      {{wire::Hello{"again", "0"}}, "greets twice"},
      {{wire::Allocate{9, 7, 9, 64}}, "a device that does not exist"},
      {{wire::Allocate{9, kHost, 2, 64}}, "allocated twice"},
      {{wire::Free{99}}, "frees memory that does not exist"},
      {{wire::Allocate{9, kHost, 9, 64}, wire::Free{9}}, "frees memory that does not exist"},
      {{wire::Free{2}, wire::Free{2}}, "frees memory that does not exist"},
      {{wire::CreateQueue{9, 1, kHost, false, ""}}, "a queue is made twice"},
      {{wire::CreateQueue{9, 9, 99, false, ""}}, "a device that does not exist"},
      {{wire::DestroyQueue{99}}, "a queue that does not exist"},
      {{wire::Fill{{1, {{3, 5}}, {}}, {2, 0, 1}, 0}, wire::DestroyQueue{1}}, "has operations waiting"},
      {{wire::CreateSemaphore{3, kHost, 0}}, "a semaphore is made twice"},
      {{wire::CreateSemaphore{4, 99, 0}}, "a device that does not exist"},
      {{wire::DestroySemaphore{99}}, "a semaphore that does not exist"},
      {{wire::Signal{99, 1}}, "a semaphore that does not exist"},
      {{wire::FailSemaphore{99, {}}}, "a semaphore that does not exist"},
      {{wire::UnloadKernel{99}}, "a kernel that does not exist"},
      {{wire::LoadKernel{9, kHost, 9, digest, 100, 0, {}, ""},
        wire::LoadSmall{{10, kHost, 9, digest, 100, 0, {}, ""}}},
       "a kernel is loaded twice"},
      {{wire::LoadKernel{9, kHost, 9, digest, 100, 0, {}, ""}, wire::ModulePart{digest, Bytes(101)}},
       "more code than it has announced"},
      {{wire::ModulePart{digest, Bytes(10)}}, "code that nobody has asked for"},
      {{wire::Fill{on_queue(99), {2, 0, 1}, 0}}, "a queue that does not exist"},
      {{wire::Fill{on_queue(1), {99, 0, 1}, 0}}, "memory that its device does not have"},
      {{wire::Fill{on_queue(1), {2, 4096, 1}, 0}}, "beyond the end of its memory"},
      {{wire::Upload{on_queue(1), {2, ~std::uint64_t{0}, 2}}}, "beyond the end of its memory"},
      {{wire::Download{on_queue(1), {2, 1, ~std::uint64_t{0}}}}, "beyond the end of its memory"},
      {{wire::Write{on_queue(99), 2, 0, Bytes(8)}}, "a queue that does not exist"},
      {{wire::Write{on_queue(1), 99, 0, Bytes(8)}}, "memory that its device does not have"},
      {{wire::Write{on_queue(1), 2, 4089, Bytes(8)}}, "beyond the end of its memory"},
      {{wire::Write{on_queue(1), 2, ~std::uint64_t{0}, Bytes(8)}}, "beyond the end of its memory"},
      {{wire::Write{on_queue(1), 2, 0, {}}}, "a write of no bytes"},
      {{wire::Write{on_queue(1), 2, 0, Bytes(wire::kMaxElements + 1)}}, "more than 12288 bytes"},
      {{wire::Batch{on_queue(1), {}, {}}}, "a batch of nothing"},
      {{wire::Batch{on_queue(99), {}, {wire::Span{2, 0, 8}}}}, "a queue that does not exist"},
      {{wire::Batch{on_queue(1), 32, {wire::Span{2, 0, 8}}}}, "32 where less than 32 is allowed"},
      {{wire::Batch{on_queue(1), {}, std::vector<wire::Step>(257, wire::Span{2, 0, 8})}}, "more than 256"},
      {{wire::Batch{on_queue(1), {}, {wire::Span{2, 4090, 8}}}}, "beyond the end of its memory"},
      {{wire::Batch{on_queue(1), {}, {wire::Span{2, 0, 0}}}}, "does not fit into an answer"},
      {{wire::Batch{on_queue(1), {}, {wire::Span{2, 0, wire::kMaxElements + 1}}}},
       "does not fit into an answer"},
      {{wire::Batch{on_queue(1), {}, {wire::Elements{2, 0, {}}}}}, "a write of no bytes"},
      {{wire::Batch{on_queue(1), {}, {wire::Elements{2, 4089, Bytes(8)}}}}, "beyond the end of its memory"},
      {{wire::Batch{on_queue(1), {}, {work}}}, "a kernel that its device does not have"},
      {{wire::Batch{{1, {{99, 1}}, {}}, {}, {wire::Span{2, 0, 8}}}},
       "a semaphore that its device does not have"},
      {{wire::Replay{on_queue(1), 0, {}, {}}}, "a batch again that is not kept"},
      {{wire::Replay{on_queue(1), 32, {}, {}}}, "32 where less than 32 is allowed"},
      {{kept, wire::Replay{on_queue(1), 2, {}, {}}}, "a batch again that is not kept"},
      {{kept, wire::Replay{on_queue(99), 3, {}, {Bytes(8)}}}, "a queue that does not exist"},
      {{kept, wire::Replay{on_queue(1), 3, {}, {}}}, "lacks elements to write"},
      {{kept, wire::Replay{on_queue(1), 3, {}, {Bytes()}}}, "a write of no bytes"},
      {{kept, wire::Replay{on_queue(1), 3, {}, {Bytes(8), Bytes(8)}}}, "changes what a batch does not have"},
      {{kept, wire::Replay{on_queue(1), 3, {}, {Bytes(4097)}}}, "beyond the end of its memory"},
      {{kept, wire::Replay{on_queue(1), 3, {{0, 1}}, {Bytes(8)}}}, "changes what a batch does not have"},
      // A kept batch names memory as the client does, and is looked up again.
      {{kept, wire::Free{2}, wire::Replay{on_queue(1), 3, {}, {Bytes(8)}}},
       "memory that its device does not have"},
      {{wire::Copy{{1, {{99, 1}}, {}}, {2, 0, 8}, {2, 8, 8}}}, "a semaphore that its device does not have"},
      {{wire::CreateSemaphore{4, 1, 0}, wire::Fill{{1, {}, {{4, 1}}}, {2, 0, 8}, 0}},
       "a semaphore that its device does not have"},
      {{launch}, "a kernel that its device does not have"},
      {{wire::HostCallDone{1}}, "nobody has asked for"},
      {{wire::HostCallDone{99}}, "a queue that does not exist"},
      {{wire::StopLaunches{99}}, "a queue that does not exist"},
      {many, "too many requests"},
  };
  Site site;
  const auto neighbour = Client::open(site);
  for (const auto& [records, expected] : cases) {
    const auto client = Client::open(site);
    client->say(records);
    EXPECT_THAT(client->end(), HasSubstr(expected));
    EXPECT_TRUE(site.wait_log(expected)) << site.log_;
    EXPECT_TRUE(neighbour->is_served()) << expected;
  }
  EXPECT_TRUE(site.wait_sessions(1));
}

TEST(Hostile, WhatIsNoRecordEndsTheSession) {
  Site site;
  const auto neighbour = Client::open(site);
  Bytes huge;
  wire::write(huge, wire::FromClient(wire::Ping{~std::uint64_t{0}}));
  Bytes list{std::byte{17}};  // a launch, and lengths that never come
  list.resize(40, std::byte{0xff});
  for (const Bytes& frame : {Bytes{std::byte{200}}, Bytes{std::byte{2}, std::byte{1}}, list,
                             Bytes(FrameLane::kLargestFrame, std::byte{0x80})}) {
    const auto client = Client::open(site);
    client->say(frame);
    EXPECT_NE(client->end(), "no end");
    EXPECT_TRUE(neighbour->is_served());
  }
  const auto client = Client::open(site);
  client->say(huge);
  EXPECT_TRUE(client->is_served());  // only odd
}

TEST(Hostile, EverythingInItsTime) {
  Site site;
  const auto eager = Client::dial(site);
  eager->say({wire::Ping{1}});
  EXPECT_THAT(eager->end(), HasSubstr("does not begin with a greeting"));
  const auto hasty = Client::greet(site);
  hasty->say({wire::CreateQueue{1, 1, kHost, false, ""}, wire::Allocate{2, kHost, 2, 64}});
  EXPECT_EQ(hasty->answer(1), "");
  EXPECT_EQ(hasty->answer(2), "");
  hasty->say({wire::Fill{on_queue(1), {2, 0, 64}, 0}});
  EXPECT_THAT(hasty->end(), HasSubstr("before the connection is ready"));
  EXPECT_TRUE(site.wait_sessions(0));
}

// ---- While devices open ---------------------------------------------------------------------------------------------

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

// On a device whose memory the host does not see: a place has memory of its own, for all but large batches.
TEST(Hostile, BatchesWhoseElementsAreStaged) {
  Site site;
  const auto client = Client::open(site);
  constexpr std::uint64_t kLarge = 1 << 20;
  client->say({wire::CreateQueue{3, 7, kSim, false, "another"}, wire::Allocate{4, kSim, 8, 4096},
               wire::Allocate{5, kSim, 9, kLarge}});
  for (const wire::Id request : {3, 4, 5}) ASSERT_EQ(client->answer(request), "");
  client->say({wire::Fill{on_queue(7), {9, 0, kLarge}, 5}});
  constexpr std::size_t kBytes = 601;
  const wire::Span all{8, 0, kBytes};
  Records records{
      wire::Batch{on_queue(7), 3, {wire::Elements{8, 0, Bytes(kBytes)}, all, wire::Span{8, 300, 9}}}};
  std::vector<Bytes> expected{Bytes(kBytes), Bytes(9)};
  for (unsigned n = 1; n < 20; ++n) {
    const auto value = static_cast<std::byte>(n);
    records.emplace_back(wire::Replay{on_queue(7), 3, {}, {Bytes(kBytes, value)}});
    expected.emplace_back(kBytes, value);
    expected.emplace_back(9, value);
  }
  client->say(records);
  EXPECT_EQ(client->downloads(expected.size()), expected);
  // More than the memory of a place.
  const std::vector<wire::Step> many(6, wire::Span{9, 0, wire::kMaxElements});
  client->say({wire::Batch{on_queue(7), 4, many}});
  EXPECT_EQ(client->downloads(expected.size() + many.size()).back(), Bytes(wire::kMaxElements, std::byte{5}));
}

// The memory of a place keeps the elements of one execution until the device has done it: two are given to the device,
// and the others wait.
TEST(Hostile, StagedElementsStayUntilTheDeviceIsThroughWithThem) {
  Site site;
  const auto client = Client::open(site);
  client->say({wire::CreateQueue{3, 7, kLate, false, "a late one"}, wire::Allocate{4, kLate, 8, 4096}});
  ASSERT_EQ(client->answer(3), "");
  ASSERT_EQ(client->answer(4), "");
  constexpr std::size_t kBytes = 600;
  Records records{
      wire::Batch{on_queue(7), 3, {wire::Elements{8, 0, Bytes(kBytes)}, wire::Span{8, 0, kBytes}}}};
  std::vector<Bytes> expected{Bytes(kBytes)};
  for (unsigned n = 1; n < 6; ++n) {
    expected.emplace_back(kBytes, static_cast<std::byte>(n));
    records.emplace_back(wire::Replay{on_queue(7), 3, {}, {expected.back()}});
  }
  site.late_->hold(true);
  client->say(records);
  EXPECT_TRUE(client->is_served());  // behind all of them
  EXPECT_EQ(site.late_->waiting(OperationRecord::Kind::kUpload), 2U);
  site.late_->hold(false);
  EXPECT_EQ(client->downloads(expected.size()), expected);
}

// One for each of two executions that are under way; a third one waits.
TEST(Staging, APlaceHasBlocksOfItsOwn) {
  const std::unique_ptr<Device> device = *sim_factory(std::make_shared<ThreadPool>(1))->open("sim");
  unsigned freed = 0;
  {
    const std::shared_ptr<StagingPool> pool =
        *StagingPool::create(*device, {.blocks = 8, .block_bytes = 4096}, [&] { ++freed; });
    const auto first = pool->take(2, 2);
    auto second = pool->take(2, 2);
    ASSERT_TRUE(first != nullptr && second != nullptr);
    EXPECT_EQ(second->bytes(1).data() - first->bytes(1).data(), 4096);
    EXPECT_EQ(first->span(100).offset, 2 * 4096U);
    EXPECT_EQ(pool->take(2, 2), nullptr);
    EXPECT_NE(pool->take(4, 2), nullptr);
    second = nullptr;
    EXPECT_EQ(freed, 2U);
    EXPECT_NE(pool->take(2, 2), nullptr);
  }
  EXPECT_EQ(freed, 4U);
}

// ---- Limits ---------------------------------------------------------------------------------------------------------

TEST(Hostile, QuotasOfASession) {
  WorkerLimits limits;
  limits.memory_bytes = 10'000;
  limits.module_bytes = 1000;
  limits.objects = 32;
  limits.operations = 8;
  Site site(limits);
  const auto neighbour = Client::open(site);
  const auto client = Client::open(site);
  client->say({wire::Allocate{10, kHost, 10, 5000}, wire::Allocate{11, kHost, 11, 1000}});
  EXPECT_EQ(client->answer(10), "");
  EXPECT_THAT(client->answer(11), HasSubstr("may have 10000 bytes of memory, has 9096"));
  client->say({wire::Free{10}});
  client->say({wire::Allocate{12, kHost, 12, 5000}, wire::Allocate{13, kHost, 13, ~std::uint64_t{0}}});
  EXPECT_EQ(client->answer(12), "");
  EXPECT_THAT(client->answer(13), HasSubstr("may have 10000 bytes of memory"));
  // Memory that is freed while a pending operation uses it still counts.
  client->say(
      {wire::Fill{{1, {{3, 1}}, {}}, {12, 0, 8}, 0}, wire::Free{12}, wire::Allocate{14, kHost, 14, 5000}});
  EXPECT_THAT(client->answer(14), HasSubstr("has 9096"));
  client->say({wire::LoadKernel{15, kHost, 15, {}, 1001, 0, {}, ""},
               wire::LoadKernel{16, kHost, 16, {}, 0, 0, {}, ""}});
  EXPECT_THAT(client->answer(15), HasSubstr("may have 1000 bytes of code"));
  EXPECT_THAT(client->answer(16), HasSubstr("empty"));
  for (wire::Id n = 100; n < 132; ++n) client->say({wire::Allocate{n, kHost, n, 1}});
  EXPECT_EQ(client->answer(130), "");
  EXPECT_THAT(client->answer(131), HasSubstr("32 memories, which is the limit"));
  client->say({wire::CreateQueue{200, 200, kHost, false, ""}});
  EXPECT_EQ(client->answer(200), "");
  client->say({wire::CreateQueue{201, 201, kHost, false, ""}});
  EXPECT_THAT(client->answer(201), HasSubstr("2 queues, which is the limit"));
  EXPECT_TRUE(neighbour->is_served());
  // Where nothing can be answered, the session ends.
  for (int n = 0; n < 8; ++n) client->say({wire::Fill{{1, {{3, 1}}, {}}, {2, 0, 8}, 0}});
  EXPECT_THAT(client->end(), HasSubstr("8 operations that are not done, which is the limit"));
  const auto second = Client::open(site);
  for (wire::Id n = 100; n < 132; ++n) second->say({wire::CreateSemaphore{n, kHost, 0}});
  EXPECT_THAT(second->end(), HasSubstr("32 semaphores, which is the limit"));
  EXPECT_TRUE(neighbour->is_served());
  neighbour->leave();
  EXPECT_TRUE(site.wait_sessions(0));
}

TEST(Hostile, TimeOfASession) {
  WorkerLimits limits;
  limits.time = 100ms;
  Site site(limits);
  const auto neighbour = Client::open(site);
  const auto client = Client::open(site);
  client->say({wire::Fill{{1, {{3, 1}}, {}}, {2, 0, 8}, 0}});
  EXPECT_THAT(client->end(), HasSubstr("for 100 ms, which is the limit"));
  EXPECT_TRUE(neighbour->is_served());
}

TEST(Hostile, Sessions) {
  WorkerLimits limits;
  limits.sessions = 2;
  limits.waiting = 0;
  Site site(limits);
  const auto first = Client::open(site);
  const auto second = Client::open(site);
  const auto third = Client::dial(site);
  EXPECT_THAT(third->end(), HasSubstr("2 sessions, which is its limit"));
  EXPECT_TRUE(site.wait_log("refused")) << site.log_;
  second->leave();
  EXPECT_TRUE(site.wait_sessions(1));
  EXPECT_TRUE(Client::open(site)->is_served());
  EXPECT_TRUE(first->is_served());
}

// ---- Code -----------------------------------------------------------------------------------------------------------

TEST(Hostile, CodeThatIsNotWhatItShouldBe) {
  Site site;
  const auto neighbour = Client::open(site);
  const auto image = site.image("saxpy");
  if (!image.ok()) GTEST_SKIP() << "SKIP: " << image.error().to_string();
  const Bytes& code = *(*image)->bytecode;
  const auto client = Client::open(site);
  wire::Id id = 10;
  const auto load = [&](const Bytes& sent, const wire::Digest& digest, std::uint64_t number) {
    const wire::Id request = id++;
    Records records{wire::LoadKernel{request, kHost, request, digest, sent.size(), number, {}, "a kernel"}};
    for (std::size_t at = 0; at < sent.size(); at += wire::kMaxModulePart) {
      const std::size_t size = std::min(sent.size() - at, wire::kMaxModulePart);
      records.emplace_back(wire::ModulePart{digest,
                                            {sent.begin() + static_cast<std::ptrdiff_t>(at),
                                             sent.begin() + static_cast<std::ptrdiff_t>(at + size)}});
    }
    for (const wire::FromClient& record : records) client->say({record});
    return client->answer(request);
  };
  EXPECT_THAT(load(code, wire::Digest{}, 0), HasSubstr("not what was announced"));
  EXPECT_TRUE(site.wait_log("refused code")) << site.log_;
  const Bytes nonsense(500, std::byte{'x'});
  EXPECT_NE(load(nonsense, site.fabric_->sha256(nonsense), 0), "");
  // With any byte changed, the module is refused or is a harmless program.
  unsigned refused = 0;
  for (std::size_t at = 0; at < code.size(); at += 41) {
    Bytes changed = code;
    changed[at] ^= std::byte{0x15};
    refused += load(changed, site.fabric_->sha256(changed), (*image)->kernel).empty() ? 0 : 1;
  }
  EXPECT_GT(refused, code.size() / 41 / 2);
  EXPECT_THAT(load(code, site.fabric_->sha256(code), 99), HasSubstr("has no kernel 99"));
  EXPECT_TRUE(client->is_served());
  EXPECT_TRUE(neighbour->is_served());
}

// The fate of a launch of a kernel that is loaded so; empty if it is done.
std::string fate_of(const wire::Launch& launch, const wire::FromClient& load, const Bytes& code, Site& site) {
  const auto client = Client::open(site);
  Records records{load};
  for (std::size_t at = 0; at < code.size(); at += wire::kMaxModulePart) {
    const std::size_t size = std::min(code.size() - at, wire::kMaxModulePart);
    records.emplace_back(wire::ModulePart{site.fabric_->sha256(code),
                                          {code.begin() + static_cast<std::ptrdiff_t>(at),
                                           code.begin() + static_cast<std::ptrdiff_t>(at + size)}});
  }
  for (const wire::FromClient& record : records) client->say({record});
  EXPECT_EQ(client->answer(9), "");
  client->say({launch});
  std::string failure = client->fares(1, 1);
  client->leave();  // a worker has 16 sessions at most
  return failure;
}

// A launch of kernel 9, which is saxpy, over 100 elements.
wire::Launch good_launch() {
  wire::Launch good;
  good.order = on_queue(1);
  good.kernel = 9;
  good.space = {{0, 100}};
  good.scalars = {0x40000000};
  const wire::ArrayAt x{wire::Span{2, 0, 400}, 0, {100, 0, 100, {100, 1, 1}}};
  const wire::ArrayAt y{wire::Span{2, 400, 400}, 0, {100, 100, 100, {100, 1, 1}}};
  good.arrays = {x, y};
  good.report = wire::Span{2, 2048, sizeof(codegen::KernelReport)};
  return good;
}

TEST(Hostile, LaunchesOutsideTheirMemory) {
  Site site;
  const auto neighbour = Client::open(site);
  const auto image = site.image("saxpy");
  if (!image.ok()) GTEST_SKIP() << "SKIP: " << image.error().to_string();
  const Bytes& code = *(*image)->bytecode;
  const wire::LoadKernel load{9,  kHost,  9, site.fabric_->sha256(code), code.size(), (*image)->kernel,
                              {}, "saxpy"};
  // The fate of the launch that `change` makes of a good one.
  const auto fares = [&](const std::function<void(wire::Launch&)>& change) {
    wire::Launch launch = good_launch();
    change(launch);
    return fate_of(launch, load, code, site);
  };
  EXPECT_EQ(fares([](wire::Launch&) {}), "");
  const std::vector<std::function<void(wire::Launch&)>> changes = {
      [](wire::Launch& l) {
        l.space = {{0, 101}}, l.arrays[1].shape.writable = l.arrays[1].shape.length = 1000;
      },
      [](wire::Launch& l) { l.arrays[1].shape.writable = 1 << 20, l.space = {{0, 1 << 20}}; },
      [](wire::Launch& l) { l.arrays[1].first = -4; },
      [](wire::Launch& l) { l.arrays[1].first = 4; },
      [](wire::Launch& l) { l.arrays[0].first = std::numeric_limits<std::int64_t>::min(); },
      [](wire::Launch& l) { l.arrays[0].first = 2; },
      [](wire::Launch& l) { l.arrays[1].span->bytes = 396; },
      [](wire::Launch& l) { l.arrays[1] = {std::nullopt, 0, {0, 0, -1, {100, 1, 1}}}; },
      [](wire::Launch& l) {
        l.space = {{std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()}};
      },
      [](wire::Launch& l) { l.report->bytes = 4; },
      [](wire::Launch& l) { l.report->offset += 1; },
      [](wire::Launch& l) { l.report.reset(); },
      [](wire::Launch& l) { l.arrays.pop_back(); },
      [](wire::Launch& l) { l.scalars.push_back(1); },
      [](wire::Launch& l) { l.space.push_back({0, 1}); },
  };
  for (std::size_t n = 0; n < changes.size(); ++n) {
    const std::string failure = fares(changes[n]);
    EXPECT_THAT(failure, HasSubstr("invalid argument")) << n;
    EXPECT_TRUE(site.wait_log("queue 'a queue' failed")) << site.log_;
    EXPECT_TRUE(neighbour->is_served()) << n;
  }
}

// A kernel for small indices would compute others in 32 bits.
TEST(Hostile, LaunchesWithLargerIndicesThanPromised) {
  Site site;
  const auto image = site.image("saxpy");
  if (!image.ok()) GTEST_SKIP() << "SKIP: " << image.error().to_string();
  const Bytes& code = *(*image)->bytecode;
  const wire::LoadKernel any{9,  kHost,  9, site.fabric_->sha256(code), code.size(), (*image)->kernel,
                             {}, "saxpy"};
  const wire::LoadSmall small{any};
  EXPECT_EQ(fate_of(good_launch(), small, code, site), "");
  const std::int64_t least = codegen::kSmallIndices;
  const std::vector<std::function<void(wire::Launch&)>> changes = {
      [&](wire::Launch& l) { l.arrays[0].shape = {100, 0, least, {least, 1, 1}}; },
      [&](wire::Launch& l) { l.arrays[1].shape = {100, 100, least + 5, {least + 5, 1, 1}}; },
      // The iterations trap: the kernel that was loaded for any index finds that out, one by one.
      [&](wire::Launch& l) { l.space = {{least - 100, least}}; },
      [&](wire::Launch& l) { l.space = {{-1, 100}}; },
  };
  for (const auto& change : changes) {
    wire::Launch launch = good_launch();
    change(launch);
    EXPECT_EQ(fate_of(launch, any, code, site), "");
    EXPECT_THAT(fate_of(launch, small, code, site), HasSubstr("its kernel was loaded for others"));
  }
  // The last that are small.
  wire::Launch launch = good_launch();
  launch.arrays[0].shape = {100, 0, least - 1, {least - 1, 1, 1}};
  EXPECT_EQ(fate_of(launch, small, code, site), "");
}

// ---- Bulk data ------------------------------------------------------------------------------------------------------

TEST(Hostile, DataThatNobodyHasAPlaceFor) {
  Site site;
  const auto neighbour = Client::open(site);
  const std::vector<std::tuple<Bytes, std::size_t, const char*>> cases = {
      {wire::write_run_header({0, 0}), 101, "no place for"},
      {wire::write_run_header({0, 1}), 50, "no place for"},
      {wire::write_run_header({0, 0}), 0, "no bytes"},
      {Bytes(3, std::byte{0xff}), 10, ""},
  };
  for (const auto& [header, size, expected] : cases) {
    const auto client = Client::open(site);
    client->say({wire::Upload{on_queue(1), {2, 0, 100}}});
    client->send_run(header, size);
    EXPECT_THAT(client->end(), HasSubstr(expected));
    EXPECT_TRUE(neighbour->is_served()) << expected;
  }
  // Data of an operation that never comes waits in the network, and ends with the session.
  const auto client = Client::open(site);
  client->send_run(wire::write_run_header({1000, 0}), 1 << 20);
  EXPECT_TRUE(client->is_served());
  client->leave();
  neighbour->leave();
  EXPECT_TRUE(site.wait_sessions(0));
}

TEST(Hostile, LanesOfOthers) {
  Site site;
  const auto victim = Client::open(site);
  const auto thief = Client::dial(site);
  thief->dial_bulk(Bytes(16, std::byte{1}));
  EXPECT_THAT(thief->bulk_end(), HasSubstr("closed"));
  // Not even with the right token, once the session has its lane.
  const auto second = Client::dial(site);
  second->dial_bulk({victim->welcome_->token.begin(), victim->welcome_->token.end()});
  EXPECT_THAT(second->bulk_end(), HasSubstr("closed"));
  EXPECT_TRUE(victim->is_served());
}

// ---- Connections ----------------------------------------------------------------------------------------------------

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
}  // namespace dhpvm::offload
