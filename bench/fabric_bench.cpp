// SPDX-License-Identifier: Apache-2.0
// Measures messages and bulk data between two processes of this machine, through each layer of
// offload/remote/fabric.
//   fabric_bench [--rounds=N] [--only=ROW] [--json]
// The other side runs in a process of its own. Times are medians; a round trip is there and back. The first rows are
// libfabric by hand. With --json a line for each figure.
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bench/figures.h"
#include "bench/json_line.h"
#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/frame_lane.h"
#include "offload/remote/fabric/key_file.h"
#include "offload/remote/fabric/load_fabric.h"
#include "offload/remote/fabric/raw_libfabric.h"

namespace dhpvm::offload {
namespace {

using Bytes = std::vector<std::byte>;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBulkBytes = 16 << 20;

struct Settings {
  int rounds = 40;
  std::string_view only;  // the row of that name; all if empty
  bool json = false;
  bool wants(std::string_view name) const { return only.empty() || name == only; }
};

double rate_of(double time) { return static_cast<double>(kBulkBytes) / 1e3 / time; }

void print(const Settings& settings, const char* name, const std::vector<double>& trips,
           const std::vector<double>& uploads) {
  if (settings.json) {
    print_json_line(
        {{"name", fmt::format("{}: round trip", name)}, {"value", median(trips)}, {"unit", "us"}});
    print_json_line({{"name", fmt::format("{}: upload of 16 MiB", name)},
                     {"value", rate_of(median(uploads))},
                     {"unit", "GB/s"}});
    return;
  }
  fmt::print("{:<28} round trip of 64 bytes {:6.1f} us   upload of 16 MiB {:5.2f} GB/s (best {:.2f})\n", name,
             median(trips), rate_of(median(uploads)), rate_of(*std::ranges::min_element(uploads)));
}

void measure_raw(const Settings& settings, const char* name, RawWait wait) {
  if (!settings.wants(name)) return;
  const auto raw = insist(RawLibfabric::start(wait, kBulkBytes, BulkLane::kPieceBytes));
  std::vector<double> trips;
  std::vector<double> uploads;
  for (int round = 0; round < 50 * settings.rounds; ++round) {
    const auto begin = Clock::now();
    insist(raw->round_trip());
    trips.push_back(microseconds(Clock::now() - begin));
  }
  for (int round = 0; round < settings.rounds; ++round) {
    const auto begin = Clock::now();
    insist(raw->upload());
    uploads.push_back(microseconds(Clock::now() - begin));
  }
  print(settings, name, trips, uploads);
}

// Either side. The answering side sends back every frame, and a frame for every run that it has received.
class Side final : public FrameHandler, public BulkHandler, public std::enable_shared_from_this<Side> {
 public:
  explicit Side(bool answers) : answers_(answers), memory_(kBulkBytes) {}

  Channel::MakeLane make_lane() {
    return [self = shared_from_this()](const std::shared_ptr<Channel>& channel,
                                       LaneKind kind) -> std::shared_ptr<Lane> {
      if (kind == LaneKind::kFrames)
        return self->frames_ = std::make_shared<FrameLane>(channel, self, FrameLaneOptions{});
      return self->bulk_ = std::make_shared<BulkLane>(channel, self);
    };
  }
  void on_open() override { count(); }
  void on_bulk_open() override { count(); }
  void on_frame(ConstBytes frame) override {
    if (answers_) frames_->send(frame);
    count();
  }
  void on_run(ConstBytes, std::uint64_t bytes) override {
    bulk_->receive(MutableBytes(memory_).first(bytes), [this](const Status& status) {
      if (status.ok() && answers_) frames_->send(Bytes(8));
      if (status.ok() && !answers_) count();
    });
  }
  void on_closed(const Error&) override {}
  void on_bulk_closed(const Error&) override {}

  // Waits until the total number of events is `events`.
  void wait(std::uint64_t events) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return events_ >= events; });
  }
  std::uint64_t events() {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  std::shared_ptr<FrameLane> frames_;
  std::shared_ptr<BulkLane> bulk_;

 private:
  void count() {
    {
      const std::lock_guard lock(mutex_);
      ++events_;
    }
    changed_.notify_one();
  }
  const bool answers_;
  Bytes memory_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t events_ = 0;
};

ChannelOptions options(Fabric& fabric, Role role, bool with_key, SealMode seal) {
  ChannelOptions made;
  made.role = role;
  made.seal = seal;
  if (with_key)
    made.identity = insist(fabric.load_identity({SecretBytes(kKeyBytes, std::byte{1}), {}, {}, {}}));
  return made;
}

[[noreturn]] void serve(int port_out, bool with_key, SealMode seal) {
  const auto fabric = insist(load_fabric(FABRIC_FOLDER));
  const auto transport = insist(fabric->create_transport({}));
  const auto side = std::make_shared<Side>(true);
  const auto listener =
      insist(transport->listen({"127.0.0.1", 0}, [&](std::shared_ptr<Connection> connection) {
        return Channel::accept(*transport, std::move(connection),
                               options(*fabric, Role::kWorker, with_key, seal), side->make_lane(),
                               [](const Error&) {});
      }));
  const std::uint16_t port = listener->address().port;
  if (write(port_out, &port, sizeof(port)) != sizeof(port)) std::_Exit(1);
  for (;;) pause();
}

void measure(const Settings& settings, const char* name, bool with_key, SealMode seal) {
  if (!settings.wants(name)) return;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) std::_Exit(1);
  const pid_t child = fork();
  if (child == 0) serve(ends[1], with_key, seal);
  std::uint16_t port = 0;
  if (read(ends[0], &port, sizeof(port)) != sizeof(port)) std::_Exit(1);
  const auto fabric = insist(load_fabric(FABRIC_FOLDER));
  auto transport = insist(fabric->create_transport({}));
  const auto side = std::make_shared<Side>(false);
  for (const LaneKind kind : {LaneKind::kFrames, LaneKind::kBulk}) {
    Channel::dial(*transport, {"127.0.0.1", port}, "localhost", kind,
                  options(*fabric, Role::kClient, with_key, seal), side->make_lane(),
                  [](const Error& error) { insist(Status(error)); });
  }
  side->wait(2);
  std::uint64_t events = 2;
  const Bytes frame(64);
  std::vector<double> trips;
  for (int round = 0; round < 50 * settings.rounds; ++round) {
    const auto begin = Clock::now();
    side->frames_->send(frame);
    side->wait(++events);
    trips.push_back(microseconds(Clock::now() - begin));
  }
  std::vector<double> uploads;
  const Bytes memory(kBulkBytes, std::byte{3});
  for (int round = 0; round < settings.rounds; ++round) {
    const auto begin = Clock::now();
    side->bulk_->send({}, memory, [](const Status&) {});
    side->wait(++events);
    uploads.push_back(microseconds(Clock::now() - begin));
  }
  print(settings, name, trips, uploads);
  transport = nullptr;
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace dhpvm::offload

int main(int argc, char** argv) {
  using dhpvm::offload::RawWait;
  using dhpvm::offload::SealMode;
  dhpvm::offload::Settings settings;
  for (int n = 1; n < argc; ++n) {
    if (std::strncmp(argv[n], "--rounds=", 9) == 0) settings.rounds = std::max(1, std::atoi(argv[n] + 9));
    if (std::strncmp(argv[n], "--only=", 7) == 0) settings.only = argv[n] + 7;
    if (std::strcmp(argv[n], "--json") == 0) settings.json = true;
  }
  dhpvm::offload::measure_raw(settings, "libfabric, spinning", RawWait::kSpin);
  dhpvm::offload::measure_raw(settings, "libfabric, blocking", RawWait::kBlock);
  dhpvm::offload::measure(settings, "no key", false, SealMode::kNone);
  dhpvm::offload::measure(settings, "key, bulk in plaintext", true, SealMode::kNone);
  dhpvm::offload::measure(settings, "key, integrity of bulk", true, SealMode::kIntegrity);
  dhpvm::offload::measure(settings, "key, all sealed", true, SealMode::kFull);
  return 0;
}
