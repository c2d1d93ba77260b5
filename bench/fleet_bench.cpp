// SPDX-License-Identifier: Apache-2.0
// Measures the cost of many workers for the client that uses them: `fleet_bench [--workers=N,..] [--runs=N] [--json]`.
//   * a chunk at the board that hands chunks out, alone;
//   * a chunk of a loop that simulated workers share, from its plan to its results: all processor time of this process
//     but that of the thread that plays the workers; in chunks as measurements suggest, of which large fleets get fewer
//     than they have workers, and in 16 for each worker;
//   * the time until 200 workers that dial the client are all in.
// The workers are sessions on a network inside this process, at an address each, and compute nothing.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "bench/figures.h"
#include "bench/json_line.h"
#include "bytecode/assembler.h"
#include "bytecode/verifier.h"
#include "bytecode/writer.h"
#include "offload/devices/kernel_compiler.h"
#include "offload/devices/null/null_device.h"
#include "offload/loops/footprint.h"
#include "offload/remote/client/remote_factory.h"
#include "offload/remote/fabric/load_fabric.h"
#include "offload/remote/fabric/loopback.h"
#include "offload/remote/worker/local_sessions.h"
#include "offload/remote/worker/worker.h"
#include "offload/schedule/pipeline/chunk_board.h"
#include "offload/schedule/pipeline/pipeline.h"

namespace dhpvm::offload {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kRuns = 7;  // unless --runs says otherwise
constexpr unsigned kJoining = 200;
constexpr std::chrono::seconds kPatience{60};
// The elements of the shared loop for each worker, unless there are many: each has both arrays as a whole, and one
// device has to have room for all. Workers without room are left out of a loop, which costs more than a chunk.
constexpr std::int64_t kElementsOfEach = 2048;
constexpr std::int64_t kRoom = std::int64_t{512} << 20;

std::int64_t elements_of_each(unsigned workers) {
  constexpr std::int64_t kBytes = 2 * 8;
  return std::min(kElementsOfEach, kRoom / kBytes / workers / workers);
}
// Chunks for each worker where the loop is cut finely: what a worker costs a loop counts less than what a chunk does.
constexpr std::uint64_t kChunksOfEach = 16;

double processor_seconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Kernels that do nothing.
class NullGenerator final : public codegen::CodeGenerator {
 public:
  Result<std::unique_ptr<codegen::CompiledFunctions>> compile(const codegen::FunctionRequest&) override {
    return error(ErrorCode::kUnsupported, "there are no functions here");
  }
  Result<std::unique_ptr<codegen::CompiledKernel>> compile(const codegen::KernelRequest&) override {
    return std::unique_ptr<codegen::CompiledKernel>(std::make_unique<NullKernel>());
  }
  std::unique_ptr<codegen::CompiledKernel> find(const codegen::KernelRequest&) override { return nullptr; }
  Result<codegen::DeviceCode> compile(const codegen::KernelRequest&, const codegen::DeviceTarget&) override {
    return error(ErrorCode::kUnsupported, "there are no such devices here");
  }
  codegen::GeneratorStats stats() const override { return {}; }

 private:
  class NullKernel final : public codegen::CompiledKernel {
   public:
    codegen::KernelCode code() const override {
      return [](const codegen::KernelCall*, codegen::KernelChunk*) { return codegen::KernelStatus::kDone; };
    }
    const std::vector<codegen::KernelSite>& sites() const override { return sites_; }
    unsigned width() const override { return 1; }
    unsigned rows() const override { return 1; }
    unsigned staged_operands() const override { return 0; }
    unsigned packed_operands() const override { return 0; }
    std::size_t panel_bytes() const override { return 0; }
    const std::string& scalar_reason() const override { return reason_; }
    codegen::KernelTier tier() const override { return codegen::KernelTier::kOptimised; }

   private:
    const std::vector<codegen::KernelSite> sites_;
    const std::string reason_;
  };
};

// y[i] = x[i], which the workers do not even do.
struct CopyLoop {
  CopyLoop()
      : module(insist(bytecode::assemble(R"(module 1.0
type array A: i64
function copy(i64, A, A) registers 2 2
  load.i64 p1, r0, p0
  store.i64 r1, p0, p1
  return
end
kernel copy dims 1
)"))) {
    insist(bytecode::verify(module));
    footprint = analyse(module, module.kernels[0]);
    image = describe_kernel(module, 0, "copy");
    image.format = KernelFormat::kBytecode;
    image.bytecode = std::make_shared<const std::vector<std::byte>>(bytecode::write_module(module));
    image.proven = {0, 1};
  }
  bytecode::Module module;
  Footprint footprint;
  KernelImage image;
};

// A client, and workers on a network between them.
class Fleet {
 public:
  explicit Fleet(unsigned workers) : here_(network_.create_transport()), there_(network_.create_transport()) {
    WorkerOptions options;
    options.name = "fleet";
    options.limits.sessions = options.limits.strangers = 4096;
    options.generator = [this]() -> Result<codegen::CodeGenerator*> { return &generator_; };
    auto sessions = make_local_sessions(*fabric_, *there_, {std::make_shared<NullDevice>()}, options);
    worker_ = std::make_unique<Worker>(*there_, std::move(sessions), std::move(options));
    RemoteWorkersOptions client;
    client.listen = Address{"127.0.0.1", 0};
    for (unsigned n = 0; n < workers; ++n)
      client.workers.push_back(insist(worker_->listen({"127.0.0.1", 0})));
    workers_ = insist(RemoteWorkers::create(*fabric_, *here_, std::move(client)));
  }

  // The seconds until `count` workers that dial are in.
  double join(unsigned count) {
    const auto begin = Clock::now();
    for (unsigned n = 0; n < count; ++n)
      insist(worker_->dial(*workers_->listening(), "localhost", [](const Error&, bool) {}));
    if (!workers_->wait_for_arrivals(count, Clock::now() + kPatience))
      insist(error(ErrorCode::kDeadline, "not all workers have come in"));
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  std::vector<std::shared_ptr<Device>> devices() {
    std::vector<std::shared_ptr<Device>> devices;
    const auto factory =
        remote_factory([this]() -> Result<std::shared_ptr<RemoteWorkers>> { return workers_; });
    for (const Address& address : workers_->workers()) {
      const auto deadline = Clock::now() + kPatience;
      auto device = factory->open("remote/" + address.to_string() + "/null");
      while (!device.ok() && Clock::now() < deadline) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        device = factory->open("remote/" + address.to_string() + "/null");
      }
      devices.push_back(insist(std::move(device)));
    }
    return devices;
  }

  // Processor time of the thread that plays the workers.
  double seconds_there() {
    std::promise<double> told;
    there_->post([&] { told.set_value(processor_seconds(CLOCK_THREAD_CPUTIME_ID)); });
    return told.get_future().get();
  }

 private:
  const std::unique_ptr<Fabric> fabric_ = insist(load_fabric(FABRIC_FOLDER));
  NullGenerator generator_;
  LoopbackNetwork network_;
  const std::unique_ptr<Transport> here_;
  const std::unique_ptr<Transport> there_;
  std::unique_ptr<Worker> worker_;
  std::shared_ptr<RemoteWorkers> workers_;
};

// A loop that all workers of a fleet share.
class SharedLoop {
 public:
  SharedLoop(Fleet& fleet, unsigned workers) : fleet_(fleet), elements_(elements_of_each(workers) * workers) {
    for (const std::shared_ptr<Device>& device : fleet.devices()) {
      auto kernel = insist(device->load(code_.image));
      devices_.push_back(insist(PipelineDevice::create(device, pool_, registrations_, {})));
      kernels_.push_back(std::move(kernel));
    }
    for (Buffer*& array : arrays_)
      array = insist(pool_.allocate(static_cast<std::size_t>(elements_) * 8, BufferContents::kZeroed));
  }
  ~SharedLoop() {
    for (Buffer* const array : arrays_) array->close();
    devices_.clear();
  }
  SharedLoop(const SharedLoop&) = delete;
  SharedLoop& operator=(const SharedLoop&) = delete;

  struct Cost {
    double microseconds = 0;  // of the client's processor, for a chunk
    std::uint64_t chunks = 0;
  };
  // With chunks of so many elements; 0: as large as measurements suggest.
  Cost run(std::uint64_t rows) {
    std::vector<codegen::KernelArray> arrays(2);
    std::vector<ArrayStorage> storage(2);
    for (unsigned n = 0; n < 2; ++n) {
      arrays[n].data = arrays_[n]->data();
      arrays[n].shape = {elements_, elements_, elements_, {elements_}};
      storage[n] = {8, arrays_[n]};
    }
    Loop loop;
    loop.footprint = &code_.footprint;
    loop.space = {1, {0}, {elements_}};
    loop.arrays = arrays;
    loop.storage = storage;
    loop.can_trap = false;
    std::vector<Part> parts;
    for (std::size_t n = 0; n < devices_.size(); ++n) parts.push_back({devices_[n].get(), kernels_[n], {}});
    const double before = processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - fleet_.seconds_there();
    const auto done = run_on_devices(parts, loop, rows, {}, {});
    const double after = processor_seconds(CLOCK_PROCESS_CPUTIME_ID) - fleet_.seconds_there();
    if (const auto* const failure = std::get_if<PipelineFailure>(&done)) insist(Status(failure->error));
    const std::uint64_t chunks = std::get<PipelineOutcome>(done).chunks;
    insist(arrays_[1]->copies()->to_host_for_reading());
    return {(after - before) * 1e6 / static_cast<double>(chunks), chunks};
  }

 private:
  Fleet& fleet_;
  const std::int64_t elements_;
  const CopyLoop code_;
  BufferPool pool_;
  Registrations registrations_{pool_};
  std::vector<std::unique_ptr<PipelineDevice>> devices_;
  std::vector<std::shared_ptr<Kernel>> kernels_;
  Buffer* arrays_[2] = {};
};

// Microseconds of this processor for a chunk, where parts that are equally quick take turns.
double cost_at_board(unsigned parts) {
  const std::int64_t rows = std::int64_t{1} << 40;
  ChunkBoard board({1, {0}, {rows}}, 1, parts);
  constexpr double kSeconds = 1e-3;  // that a chunk takes
  for (unsigned n = 0; n < parts; ++n) board.join(n, {1e6, true, Redo::kBeside});
  std::vector<ChunkBoard::Chunk> flying(parts);
  constexpr unsigned kTurns = 20'000;
  double now = 0;
  std::uint64_t chunks = 0;
  const double begin = processor_seconds(CLOCK_THREAD_CPUTIME_ID);
  for (unsigned turn = 0; turn * parts < kTurns * 10; ++turn) {
    for (unsigned n = 0; n < parts; ++n) {
      now += kSeconds / parts;
      if (flying[n].number != 0) board.done(n, flying[n], now);
      flying[n] = board.next(n, now, 1000).chunk;
      board.submitted(n, flying[n]);
      ++chunks;
    }
  }
  return (processor_seconds(CLOCK_THREAD_CPUTIME_ID) - begin) * 1e6 / static_cast<double>(chunks);
}

void print(bool json, const std::string& name, double value, std::string_view unit) {
  if (json) {
    print_json_line({{"name", name}, {"value", value}, {"unit", unit}});
  } else {
    fmt::print("{:<52} {:>10.4g} {}\n", name, value, unit);
  }
}

int run(int argc, char** argv) {
  bool json = false;
  unsigned runs = kRuns;
  std::vector<unsigned> sizes{10, 100, 1000};
  for (int n = 1; n < argc; ++n) {
    const std::string_view word = argv[n];
    if (word == "--json") {
      json = true;
    } else if (word.starts_with("--runs=")) {
      runs = static_cast<unsigned>(std::strtoul(argv[n] + std::strlen("--runs="), nullptr, 10));
    } else if (word.starts_with("--workers=")) {
      sizes.clear();
      for (const char* at = argv[n] + std::strlen("--workers="); *at != '\0';) {
        char* end = nullptr;
        sizes.push_back(static_cast<unsigned>(std::strtoul(at, &end, 10)));
        at = *end == ',' ? end + 1 : end;
      }
    } else {
      fmt::print(stderr, "usage: fleet_bench [--workers=N,..] [--runs=N] [--json]\n");
      return 2;
    }
  }
  for (const unsigned size : sizes) {
    std::vector<double> times;
    for (unsigned n = 0; n < kRuns; ++n) times.push_back(cost_at_board(size));
    print(json, fmt::format("a chunk at the board of {} workers", size), median(times), "us");
  }
  for (const unsigned size : sizes) {
    Fleet fleet(size);
    SharedLoop loop(fleet, size);
    loop.run(0);  // measures the workers
    const auto each = static_cast<std::uint64_t>(elements_of_each(size));
    const std::uint64_t rows = std::max<std::uint64_t>(each / kChunksOfEach, 1);
    for (const bool is_cut : {false, true}) {
      std::vector<double> times;
      std::vector<double> chunks;
      for (unsigned n = 0; n < runs; ++n) {
        const SharedLoop::Cost cost = loop.run(is_cut ? rows : 0);
        times.push_back(cost.microseconds);
        chunks.push_back(static_cast<double>(cost.chunks));
      }
      const std::string name = is_cut ? "a finely cut loop" : "a loop";
      print(json, fmt::format("a chunk of {} on {} workers", name, size), median(times), "us");
      print(json, fmt::format("chunks of {} on {} workers", name, size), median(chunks), "");
    }
  }
  Fleet fleet(0);
  print(json, fmt::format("until {} workers have joined", kJoining), fleet.join(kJoining), "s");
  return 0;
}

}  // namespace
}  // namespace dhpvm::offload

int main(int argc, char** argv) { return dhpvm::offload::run(argc, argv); }
