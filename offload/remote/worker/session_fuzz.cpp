// SPDX-License-Identifier: Apache-2.0
// Sessions of a worker after the handshake: for any messages and any data of a client,
// the worker answers or ends the session, keeps nothing of it, and serves the next one.
//
// An input is a sequence of steps: a byte that tells what, two bytes of length, and as many bytes. 0: a
// frame, of records; 1: a run of bulk data, whose header they are, with one byte of data for each two of the
// length; 2: waits for an answer.
#include <cstdio>
#include <cstdlib>

#include "base/error.h"
#include "offload/devices/host/host_device.h"
#include "offload/devices/sim/sim_device.h"
#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/loopback.h"
#include "offload/remote/fabric/noted.h"
#include "offload/remote/worker/local_sessions.h"
#include "offload/remote/worker/worker.h"

namespace dhpvm::offload {
namespace {

using namespace std::chrono_literals;

void insist(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "session_fuzz: %s\n", what);
  std::abort();
}

// Sessions use only the digest of modules: any function of the bytes will do.
class SmallFabric final : public Fabric {
 public:
  Result<std::unique_ptr<Transport>> create_transport(const TransportOptions&) override {
    return Error(ErrorCode::kUnsupported, "there is no network");
  }
  Result<std::unique_ptr<Identity>> load_identity(const Credentials&) override {
    return Error(ErrorCode::kUnsupported, "there are no identities");
  }
  Digest sha256(ConstBytes bytes) override {
    Digest digest{};
    for (std::size_t i = 0; i < bytes.size(); ++i) digest[i % digest.size()] ^= bytes[i];
    return digest;
  }
  SealPair resume(const SealStates&) override { return {}; }
};

class Client final : public FrameHandler,
                     public BulkHandler,
                     public Noted,
                     public std::enable_shared_from_this<Client> {
 public:
  void open(Transport& transport, const Address& address) {
    const auto failed = [self = shared_from_this()](const Error& reason) { self->on_closed(reason); };
    Channel::dial(
        transport, address, "localhost", LaneKind::kFrames, {},
        [self = shared_from_this()](const std::shared_ptr<Channel>& channel,
                                    LaneKind) -> std::shared_ptr<Lane> {
          auto lane = std::make_shared<FrameLane>(channel, self, FrameLaneOptions{});
          self->note([&] { self->frames_ = lane; });
          return lane;
        },
        failed);
    insist(wait([&] { return frames_ != nullptr || ended_; }) && !ended_, "nobody is let in");
    say({wire::Hello{"fuzz", "0"}});
    insist(wait([&] { return welcome_.has_value() || ended_; }) && !ended_, "nobody is welcome");
    Channel::dial(
        transport, address, "localhost", LaneKind::kBulk, {},
        [self = shared_from_this()](const std::shared_ptr<Channel>& channel,
                                    LaneKind) -> std::shared_ptr<Lane> {
          auto lane = std::make_shared<BulkLane>(channel, self);
          lane->send(self->welcome_->token, {}, [](const Status&) {});
          self->note([&] { self->bulk_ = lane; });
          return lane;
        },
        failed);
    insist(wait([&] { return ready_ || ended_; }) && !ended_, "the session does not become ready");
    say({wire::CreateQueue{1, 2, 0, true, "queue"}, wire::Allocate{2, 0, 1, 4096},
         wire::Allocate{3, 0, 2, 64}, wire::CreateSemaphore{3, 0, 0}, wire::CreateSemaphore{4, 0, 0}});
    insist(wait([&] { return replies_ == 3 || ended_; }) && !ended_, "nothing can be made");
  }
  void say(const std::vector<wire::FromClient>& records) {
    std::vector<std::byte> frame;
    for (const wire::FromClient& record : records) wire::write(frame, record);
    frames_->send(frame);
  }
  void say(ConstBytes frame) { frames_->send(frame); }
  void send_run(ConstBytes header, std::size_t bytes) {
    const auto data = std::make_shared<std::vector<std::byte>>(bytes);
    bulk_->send(header, *data, [data](const Status&) {});
  }
  void await_answer() {
    say({wire::Ping{1'000'000 + ++pings_}});
    insist(wait([&] { return pongs_ >= pings_ || ended_; }),
           "the worker neither answers nor ends the session");
  }
  void close() {
    frames_->close(Error(ErrorCode::kInterrupted, "the end of the input"));
    insist(wait([&] { return ended_; }), "the connection does not end");
  }

  void on_open() override {}
  void on_frame(ConstBytes frame) override {
    const auto records = wire::read_from_worker(frame);
    insist(records.ok(), "the worker sends what is no frame");
    note([&] {
      for (const wire::FromWorker& record : *records) {
        if (const auto* const welcome = std::get_if<wire::Welcome>(&record)) welcome_ = *welcome;
        if (const auto* const pong = std::get_if<wire::Pong>(&record))
          pongs_ += pong->number > 1'000'000 ? 1 : 0;
        ready_ = ready_ || std::holds_alternative<wire::Ready>(record);
        replies_ += std::holds_alternative<wire::Reply>(record) ? 1 : 0;
      }
    });
  }
  void on_closed(const Error&) override {
    note([&] { ended_ = true; });
  }
  void on_bulk_open() override {}
  void on_run(ConstBytes, std::uint64_t bytes) override {
    received_.resize(bytes);
    bulk_->receive(received_, [](const Status&) {});
  }
  void on_bulk_closed(const Error&) override {}

 private:
  std::shared_ptr<FrameLane> frames_;
  std::shared_ptr<BulkLane> bulk_;
  std::optional<wire::Welcome> welcome_;
  bool ready_ = false;
  bool ended_ = false;
  unsigned replies_ = 0;
  std::uint64_t pings_ = 0;
  std::uint64_t pongs_ = 0;
  std::vector<std::byte> received_;
};

// One worker for all inputs: what one session leaves behind, the next ones would suffer from.
class Site {
 public:
  Site() : here_(network_.create_transport()), there_(network_.create_transport()) {
    WorkerOptions options;
    options.limits.sessions = 1;
    options.limits.operations = 64;
    options.limits.memory_bytes = 1 << 20;
    options.limits.module_bytes = 1 << 20;
    options.limits.objects = 64;
    options.generator = []() -> Result<codegen::CodeGenerator*> {
      return Error(ErrorCode::kUnsupported, "there is no compiler");
    };
    const auto pool = std::make_shared<ThreadPool>(1);
    std::vector<std::shared_ptr<Device>> devices;
    for (const auto& factory : {host_factory(pool), sim_factory(pool)}) {
      auto device = factory->open(factory->prefix());
      insist(device.ok(), "a device does not open");
      devices.push_back(std::move(device).value());
    }
    auto runner = make_local_sessions(fabric_, *there_, std::move(devices), options);
    worker_ = std::make_unique<Worker>(*there_, std::move(runner), std::move(options));
    auto address = worker_->listen({"127.0.0.1", 0});
    insist(address.ok(), "the worker does not listen");
    address_ = *address;
  }

  void test(ConstBytes input) {
    const auto client = std::make_shared<Client>();
    client->open(*here_, address_);
    while (input.size() >= 3) {
      const unsigned kind = std::to_integer<unsigned>(input[0]);
      const std::size_t wanted =
          std::to_integer<std::size_t>(input[1]) | std::to_integer<std::size_t>(input[2]) << 8;
      input = input.subspan(3);
      const ConstBytes content = input.first(std::min({wanted, input.size(), FrameLane::kLargestFrame}));
      input = input.subspan(content.size());
      switch (kind % 3) {
        case 0: client->say(content); break;
        case 1:
          client->send_run(content.first(std::min(content.size(), BulkLane::kLargestHeader)), wanted / 2);
          break;
        case 2: client->await_answer(); break;
      }
    }
    client->await_answer();
    client->close();
    const auto deadline = std::chrono::steady_clock::now() + Noted::kPatience;
    while (worker_->sessions() != 0) {
      insist(std::chrono::steady_clock::now() < deadline, "the session does not end");
      std::this_thread::sleep_for(20us);
    }
  }

 private:
  SmallFabric fabric_;
  LoopbackNetwork network_;
  std::unique_ptr<Transport> here_;
  std::unique_ptr<Transport> there_;
  std::unique_ptr<Worker> worker_;
  Address address_;
};

}  // namespace
}  // namespace dhpvm::offload

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static dhpvm::offload::Site site;
  site.test(std::as_bytes(std::span(data, size)));
  return 0;
}
