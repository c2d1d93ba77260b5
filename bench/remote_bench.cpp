// SPDX-License-Identifier: Apache-2.0
// Measures the cost of a worker at the queues of its device: jobs that do nothing, bulk data, code, and the time until
// the loss of a worker is detected.
//   remote_bench HOST:PORT/DEVICE [--key-file=FILE] [--seal=full|integrity|none] [--runs=N] [--only=jobs|bulk|code]
//                [--json]
//   remote_bench HOST:PORT/DEVICE --kill=PID | --stop=PID
// Start the worker first. --kill and --stop end or stop the processes of the group PID, which are its own and those of
// its sessions, and measure nothing else. With --json a line for each figure, otherwise a table. Times are medians; the
// best ones, printed next to them, tell more where the machine is busy with something else.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "bench/figures.h"
#include "bench/json_line.h"
#include "bench/remote/metered_transport.h"
#include "bytecode/assembler.h"
#include "bytecode/verifier.h"
#include "bytecode/writer.h"
#include "offload/devices/kernel_compiler.h"
#include "offload/remote/client/remote_factory.h"
#include "offload/remote/fabric/bulk_lane.h"
#include "offload/remote/fabric/key_file.h"
#include "offload/remote/fabric/load_fabric.h"
#include "offload/remote/fabric/raw_libfabric.h"

namespace dhpvm::offload {
namespace {

using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kBulkBytes = 16 << 20;
constexpr unsigned kBatch = 100;
constexpr unsigned kWarmUp = 5;
constexpr std::chrono::seconds kPatience{30};
constexpr unsigned kInARow = 50;
// Elements of the arrays of the kernel.
constexpr std::uint64_t kElements = 64;

struct Options {
  std::string device;
  std::string key_file;
  SealMode seal = SealMode::kFull;
  unsigned runs = 41;
  bool json = false;
  std::string only;  // jobs, bulk or code; all if empty
  std::optional<int> killed;
  std::optional<int> stopped;
};

// A kernel that adds `salt` to the sum of two arrays; each salt makes a new module, which the worker lacks.
KernelImage kernel_image(std::uint64_t salt) {
  const std::string text = fmt::format(
      "type array I: i64\n"
      "function add(i64, i64, I, I) registers 4 2\n"
      "  load.i64 p2, r0, p0\n"
      "  add.i64 p2, p2, p1\n"
      "  imm p3, {}\n"
      "  add.i64 p2, p2, p3\n"
      "  store.i64 r1, p0, p2\n"
      "  return\n"
      "end\n"
      "kernel add dims 1\n",
      salt);
  const bytecode::Module module = insist(bytecode::assemble(text));
  insist(bytecode::verify(module));
  KernelImage image = describe_kernel(module, 0, "add");
  image.format = KernelFormat::kBytecode;
  image.bytecode = std::make_shared<const Bytes>(bytecode::write_module(module));
  // As the virtual machine does with accesses that are affine: the worker proves it again for every launch.
  image.proven = {0, 1};
  return image;
}

// A program that uses a device of a worker.
class Client {
 public:
  explicit Client(const Options& options)
      : fabric_(insist(load_fabric(FABRIC_FOLDER))),
        transport_(insist(fabric_->create_transport({})), meter_) {
    RemoteWorkersOptions settings;
    settings.name = "remote_bench";
    settings.seal = options.seal;
    if (!options.key_file.empty()) settings.credentials.key = insist(read_key_file(options.key_file));
    std::shared_ptr<RemoteWorkers> workers =
        insist(RemoteWorkers::create(*fabric_, transport_, std::move(settings)));
    const auto factory =
        remote_factory([workers]() -> Result<std::shared_ptr<RemoteWorkers>> { return workers; });
    device_ = insist(factory->open("remote/" + options.device));
    for (auto& memory : arrays_) memory = insist(device_->allocate(kElements * sizeof(std::int64_t)));
    semaphore_ = insist(device_->create_semaphore(0));
    queue_ = insist(device_->create_queue({}));
  }

  std::shared_ptr<Kernel> load(const KernelImage& image) { return insist(device_->load(image)); }
  std::shared_ptr<DeviceMemory> allocate(std::size_t bytes) { return insist(device_->allocate(bytes)); }
  std::shared_ptr<DeviceMemory> import(Bytes& bytes) {
    return insist(device_->import_host(bytes, HostMemory::kPinned));
  }

  Status launch(const std::shared_ptr<Kernel>& kernel) {
    constexpr std::int64_t kCount = kElements;
    const ArrayArgument arrays[] = {
        {{arrays_[0], 0, arrays_[0]->size()}, 0, {kCount, 0, kCount, {kCount, 1, 1}}},
        {{arrays_[1], 0, arrays_[1]->size()}, 0, {kCount, kCount, kCount, {kCount, 1, 1}}}};
    const std::uint64_t scalars[] = {1};
    Launch launch;
    launch.kernel = kernel;
    launch.space.high[0] = 1;
    launch.scalars = scalars;
    launch.arrays = arrays;
    return submit([&](const Order& order) { return queue_->launch(launch, order); });
  }
  void copy(const std::shared_ptr<DeviceMemory>& to, const std::shared_ptr<DeviceMemory>& from) {
    insist(submit([&](const Order& order) {
      return queue_->copy({to, 0, to->size()}, {from, 0, from->size()}, order);
    }));
    finish();
  }
  Status wait() {
    DHPVM_TRY(semaphore_->wait(value_));
    return {};
  }
  void finish() { insist(wait()); }
  // A seal of no connection, to measure what sealing costs.
  std::unique_ptr<Seal> make_seal() { return std::move(fabric_->resume({}).outgoing); }
  const Meter& meter() const { return *meter_; }

 private:
  Status submit(const std::function<Status(const Order&)>& operation) {
    const SemaphoreValue signal{semaphore_, ++value_};
    return operation({{}, {&signal, 1}});
  }

  const std::shared_ptr<Meter> meter_ = std::make_shared<Meter>();
  const std::unique_ptr<Fabric> fabric_;
  MeteredTransport transport_;
  std::unique_ptr<Device> device_;
  std::shared_ptr<DeviceMemory> arrays_[2];
  std::shared_ptr<Semaphore> semaphore_;
  std::unique_ptr<Queue> queue_;
  std::uint64_t value_ = 0;
};

// The baseline of the figures: libfabric without our layers.
struct Raw {
  std::unique_ptr<RawLibfabric> spinning;
  std::unique_ptr<RawLibfabric> blocking;
};

// `best`: the best of all repetitions, where that is something else.
void print(const Options& options, std::string_view name, double value, std::string_view unit,
           std::optional<double> best = {}) {
  if (options.json) {
    print_json_line({{"name", name}, {"value", value}, {"unit", unit}, {"best", best.value_or(value)}});
  } else if (best) {
    fmt::print("{:<44} {:>10.4g} {:<5} best {:.4g}\n", name, value, unit, *best);
  } else {
    fmt::print("{:<44} {:>10.4g} {}\n", name, value, unit);
  }
}

// Prints times per operation; each measured time covers `count` operations.
void print_times(const Options& options, std::string_view name, const std::vector<double>& times,
                 unsigned count = 1) {
  print(options, name, median(times) / count, "us", *std::ranges::min_element(times) / count);
}

// In microseconds.
double time_of(const std::function<void()>& step) {
  const auto begin = Clock::now();
  step();
  return microseconds(Clock::now() - begin);
}

void measure_jobs(const Options& options, Client& client, const std::shared_ptr<Kernel>& kernel, Raw& raw) {
  std::vector<double> jobs;
  std::vector<double> batches;
  std::vector<double> spinning;
  std::vector<double> blocking;
  for (unsigned run = 0; run < options.runs + kWarmUp; ++run) {
    if (run == kWarmUp) {
      for (auto* const times : {&jobs, &batches, &spinning, &blocking}) times->clear();
    }
    // Many of a kind in a row, as a program has them, and then of another.
    for (unsigned n = 0; n < kInARow; ++n) {
      jobs.push_back(time_of([&] {
        insist(client.launch(kernel));
        client.finish();
      }));
    }
    batches.push_back(time_of([&] {
      for (unsigned n = 0; n < kBatch; ++n) insist(client.launch(kernel));
      client.finish();
    }));
    for (unsigned n = 0; n < kInARow; ++n)
      spinning.push_back(time_of([&] { insist(raw.spinning->round_trip()); }));
    for (unsigned n = 0; n < kInARow; ++n)
      blocking.push_back(time_of([&] { insist(raw.blocking->round_trip()); }));
  }
  print_times(options, "no-op job", jobs);
  print_times(options, "job of a batch of 100", batches, kBatch);
  print_times(options, "libfabric, spinning, there and back", spinning);
  print_times(options, "libfabric, blocking, there and back", blocking);
  // Signs of life travel as well, now and then.
  std::uint64_t least = ~std::uint64_t{0};
  for (unsigned n = 0; n < 10; ++n) {
    const std::uint64_t before = client.meter().sent;
    insist(client.launch(kernel));
    client.finish();
    least = std::min(least, client.meter().sent - before);
  }
  print(options, "bytes sent for a job, over its scalars", static_cast<double>(least - sizeof(std::uint64_t)),
        "B");
}

// Seals the data as a sender does, piece by piece, and sends nothing.
void seal_all(Seal& seal, ConstBytes data) {
  static constexpr std::size_t kPiece = BulkLane::kPieceBytes;
  Bytes sealed(kPiece);
  Tag tag;
  for (; !data.empty(); data = data.subspan(kPiece)) insist(seal.seal({}, data.first(kPiece), sealed, tag));
}

// Libfabric by hand, the seal alone and the worker take turns: what else the machine does meets all alike.
void measure_bulk(const Options& options, Client& client, Raw& raw) {
  Bytes here(kBulkBytes, std::byte{3});
  const auto there = client.allocate(kBulkBytes);
  const auto imported = client.import(here);
  const std::unique_ptr<Seal> seal = client.make_seal();
  struct Row {
    std::string_view name;
    std::function<void()> step;
    std::vector<double> rates;
  };
  Row rows[] = {{"upload of 16 MiB", [&] { client.copy(there, imported); }, {}},
                {"download of 16 MiB", [&] { client.copy(imported, there); }, {}},
                {"libfabric, spinning, 16 MiB", [&] { insist(raw.spinning->upload()); }, {}},
                {"libfabric, blocking, 16 MiB", [&] { insist(raw.blocking->upload()); }, {}},
                {"AES-256-GCM, one thread, 16 MiB", [&] { seal_all(*seal, here); }, {}}};
  for (unsigned run = 0; run < options.runs + kWarmUp; ++run) {
    for (Row& row : rows) {
      const double time = time_of(row.step);
      if (run >= kWarmUp) row.rates.push_back(static_cast<double>(kBulkBytes) / 1e3 / time);
    }
  }
  for (const Row& row : rows) {
    print(options, row.name, median(row.rates), "GB/s", *std::ranges::max_element(row.rates));
  }
}

// Each with a module that the worker has never seen, and again.
void measure_code(const Options& options, Client& client) {
  const std::uint64_t salt =
      static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()) >> 10 & 0x3fffffff;
  std::vector<double> first;
  std::vector<double> again;
  std::vector<double> bytes;
  std::size_t module_bytes = 0;
  for (unsigned n = 0; n < std::min(options.runs, 9u); ++n) {
    const KernelImage image = kernel_image(salt + n);
    module_bytes = image.bytecode->size();
    const std::uint64_t before = client.meter().sent;
    auto begin = Clock::now();
    const auto kernel = client.load(image);
    first.push_back(microseconds(Clock::now() - begin) / 1e3);
    bytes.push_back(static_cast<double>(client.meter().sent - before));
    begin = Clock::now();
    client.load(image);
    again.push_back(microseconds(Clock::now() - begin) / 1e3);
  }
  print(options, "size of a kernel's module", static_cast<double>(module_bytes), "B");
  print(options, "bytes sent for a new kernel", median(bytes), "B");
  print(options, "new kernel, until it is ready", median(first), "ms");
  print(options, "the same kernel again", median(again), "ms");
}

// In the midst of its work.
void measure_loss(const Options& options, Client& client) {
  const auto kernel = client.load(kernel_image(0));
  insist(client.launch(kernel));
  client.finish();
  const int group = options.killed ? *options.killed : *options.stopped;
  const auto begin = Clock::now();
  if (killpg(group, options.killed ? SIGKILL : SIGSTOP) != 0) {
    fmt::print(stderr, "remote_bench: cannot send a signal to the processes of group {}\n", group);
    std::_Exit(1);
  }
  Status status;
  while (status.ok()) {
    if (Clock::now() - begin > kPatience) {
      fmt::print(stderr, "remote_bench: jobs are still done, although the processes of group {} are gone\n",
                 group);
      std::_Exit(1);
    }
    status = client.launch(kernel);
    if (status.ok()) status = client.wait();
  }
  const double time = microseconds(Clock::now() - begin) / 1e3;
  print(options,
        options.killed ? "until a killed worker is known to be" : "until a stopped worker is given up", time,
        "ms");
}

std::optional<Options> read_options(int argc, char** argv) {
  Options options;
  for (int n = 1; n < argc; ++n) {
    const std::string_view word = argv[n];
    const std::string_view name = word.substr(0, word.find('='));
    const std::string value(word.substr(std::min(name.size() + 1, word.size())));
    if (name == "--key-file") {
      options.key_file = value;
    } else if (name == "--seal") {
      options.seal = value == "none"        ? SealMode::kNone
                     : value == "integrity" ? SealMode::kIntegrity
                                            : SealMode::kFull;
    } else if (name == "--runs") {
      options.runs = std::max(1u, static_cast<unsigned>(std::strtoul(value.c_str(), nullptr, 10)));
    } else if (name == "--only") {
      options.only = value;
    } else if (name == "--kill") {
      options.killed = std::atoi(value.c_str());
    } else if (name == "--stop") {
      options.stopped = std::atoi(value.c_str());
    } else if (name == "--json") {
      options.json = true;
    } else if (word.starts_with("-") || !options.device.empty()) {
      return {};
    } else {
      options.device = word;
    }
  }
  if (options.device.empty()) return {};
  return options;
}

int run(int argc, char** argv) {
  const std::optional<Options> options = read_options(argc, argv);
  if (!options) {
    fmt::print(
        stderr,
        "usage: remote_bench HOST:PORT/DEVICE [--key-file=FILE] [--seal=full|integrity|none] [--runs=N] "
        "[--kill=PID] [--stop=PID] [--json]\n");
    return 2;
  }
  // They fork, and so come before there are threads.
  Raw raw;
  if (!options->killed && !options->stopped) {
    raw.spinning = insist(RawLibfabric::start(RawWait::kSpin, kBulkBytes, BulkLane::kPieceBytes));
    raw.blocking = insist(RawLibfabric::start(RawWait::kBlock, kBulkBytes, BulkLane::kPieceBytes));
  }
  Client client(*options);
  if (options->killed || options->stopped) {
    measure_loss(*options, client);
    return 0;
  }
  const auto kernel = client.load(kernel_image(0));
  const auto wants = [&](std::string_view what) { return options->only.empty() || options->only == what; };
  if (wants("jobs")) measure_jobs(*options, client, kernel, raw);
  if (wants("bulk")) measure_bulk(*options, client, raw);
  if (wants("code")) measure_code(*options, client);
  return 0;
}

}  // namespace
}  // namespace dhpvm::offload

int main(int argc, char** argv) { return dhpvm::offload::run(argc, argv); }
