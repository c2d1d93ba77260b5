// SPDX-License-Identifier: Apache-2.0
#include "bench/workers.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

#include "bench/outputs.h"
#include "open.h"

namespace dhpvm::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kBatch = 100;
constexpr std::uint64_t kWarmUp = 3;
// The executions of a loop of one iteration that each run measures.
constexpr std::uint64_t kLoopsPerRun = 30;
// The operations for each element: the first guess, and the most.
constexpr std::int64_t kFirstOperations = 256;
constexpr std::int64_t kMostOperations = 1 << 20;
// A product that takes the interpreter longer than this is interpreted once.
constexpr double kPatience = 1;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void tell(const RemotePlan& plan, const std::string& what) {
  if (plan.progress) plan.progress(what);
}

// Settings for one of several modes that take turns.
Settings settings_for(std::string device) {
  Settings settings;
  settings.device = std::move(device);
  return settings;
}

Kernel polynomial(std::int64_t operations) {
  return {"polynomial", "polynomial", operations, static_cast<double>(operations), 8, 0, ""};
}

}  // namespace

// ---- Loops that do nothing ------------------------------------------------------------------------------------------

Result<LoopCosts> measure_loops(const Engine& engine, const RemotePlan& plan, const std::string& device) {
  tell(plan, device + ": loops that do nothing");
  DHPVM_ASSIGN(const Module module, compile_program(engine, "loops"));
  IsolateOptions options;
  options.jit_wait = true;
  options.device = device;
  DHPVM_ASSIGN(const Isolate isolate, Isolate::create(module, options));
  DHPVM_ASSIGN(const auto prepare, isolate.function<Object()>("prepare"));
  DHPVM_ASSIGN(const auto run, isolate.function<void(Object, std::int64_t)>("run"));
  DHPVM_ASSIGN(const auto finish, isolate.function<std::int64_t(Object)>("finish"));
  DHPVM_ASSIGN(const Object work, prepare());
  std::int64_t done = 0;
  const auto time_of = [&](std::int64_t loops) -> Result<double> {
    const auto begin = Clock::now();
    DHPVM_TRY(run(work, loops));
    DHPVM_ASSIGN(const std::int64_t counted, finish(work));
    done += loops;
    if (counted != done) {
      return Error(ErrorCode::kInternal,
                   fmt::format("{} loops have been counted on {}, and there were {}", counted, device, done));
    }
    return seconds_since(begin);
  };
  std::vector<double> single;
  std::vector<double> batched;
  for (std::uint64_t n = 0; n < kLoopsPerRun * (plan.runs + 1); ++n) {
    DHPVM_ASSIGN(const double time, time_of(1));
    if (n >= kLoopsPerRun) single.push_back(time);
  }
  for (std::uint64_t n = 0; n < plan.runs + kWarmUp; ++n) {
    DHPVM_ASSIGN(const double time, time_of(kBatch));
    if (n >= kWarmUp) batched.push_back(time);
  }
  if (isolate.statistics().device_loops == 0) {
    return Error(ErrorCode::kUnsupported, "no loop ran on " + device + ":\n" + isolate.explain_loops());
  }
  return LoopCosts{device, median(std::move(single)), median(std::move(batched)) / kBatch};
}

// ---- Overlap --------------------------------------------------------------------------------------------------------

Result<Overlap> measure_overlap(const Engine& engine, const RemotePlan& plan, const std::string& device) {
  Overlap overlap;
  overlap.device = device;
  overlap.bytes = plan.bytes;
  const Settings quick = settings_for(device);
  // Searches for the amount of computation that takes as long as the data.
  std::int64_t operations = kFirstOperations;
  for (int n = 0; n < 2; ++n) {
    tell(plan, fmt::format("{}: {} operations for each element", device, operations));
    const Kernel kernel = polynomial(operations);
    DHPVM_ASSIGN(Workload workload, Workload::create(engine, kernel, plan.bytes, quick));
    DHPVM_TRY(workload.run_on_host());
    DHPVM_ASSIGN(const Measurement serial, workload.measure(Mode::kSerialPinned, 0));
    const Stages& stages = serial.run.stages;
    const double wanted =
        std::max(stages.upload, stages.download) / stages.kernel * static_cast<double>(operations);
    operations = std::clamp(static_cast<std::int64_t>(wanted) / 2 * 2, std::int64_t{2}, kMostOperations);
  }
  const Kernel kernel = polynomial(operations);
  DHPVM_ASSIGN(Workload workload, Workload::create(engine, kernel, plan.bytes, quick));
  DHPVM_TRY(workload.run_on_host());
  std::vector<double> uploads, kernels, downloads, serial_times, times;
  unsigned copy_engines = 0;
  // The two modes take turns, so that other work of machines and network affects both alike.
  for (std::uint64_t turn = 0; turn < plan.runs; ++turn) {
    tell(plan, fmt::format("{}: overlap of data and computation, {} of {}", device, turn + 1, plan.runs));
    DHPVM_ASSIGN(const Measurement serial, workload.measure(Mode::kSerialPinned, 0));
    uploads.push_back(serial.run.stages.upload);
    kernels.push_back(serial.run.stages.kernel);
    downloads.push_back(serial.run.stages.download);
    serial_times.push_back(serial.run.seconds);
    DHPVM_ASSIGN(const Measurement overlapped, workload.measure(Mode::kAutomatic, 0));
    times.push_back(overlapped.run.seconds);
    overlap.chunks = overlapped.run.chunks_per_loop();
    copy_engines = overlapped.device.copy_engines;
    if (overlap.difference.empty()) overlap.difference = serial.difference + overlapped.difference;
  }
  overlap.operations = operations;
  overlap.stages = {median(std::move(uploads)), median(std::move(kernels)), median(std::move(downloads))};
  overlap.serial_seconds = median(std::move(serial_times));
  overlap.seconds = median(std::move(times));
  overlap.ideal = ideal_seconds(overlap.stages, overlap.chunks, copy_engines);
  return overlap;
}

// ---- Several workers ------------------------------------------------------------------------------------------------

double Several::gain() const { return *std::ranges::min_element(alone) / together; }

Result<Several> measure_several(const Engine& engine, const RemotePlan& plan) {
  Several several;
  several.bytes = plan.bytes;
  std::string all;
  for (const std::string& device : plan.devices) all += (all.empty() ? "" : ",") + device;
  const Kernel kernel = polynomial(2);
  const auto time_on = [&](const std::string& devices) -> Result<double> {
    const Settings settings = settings_for(devices);
    DHPVM_ASSIGN(Workload workload, Workload::create(engine, kernel, plan.bytes, settings));
    DHPVM_TRY(workload.run_on_host());
    DHPVM_ASSIGN(const Measurement measured, workload.measure(Mode::kAutomatic, 0));
    if (!measured.difference.empty()) several.difference = devices + ": " + measured.difference;
    return measured.run.seconds;
  };
  std::vector<std::vector<double>> alone(plan.devices.size());
  std::vector<double> together;
  for (std::uint64_t turn = 0; turn < plan.runs; ++turn) {
    tell(plan,
         fmt::format("a loop that moves data, on each device and on all, {} of {}", turn + 1, plan.runs));
    for (std::size_t n = 0; n < plan.devices.size(); ++n) {
      DHPVM_ASSIGN(const double seconds, time_on(plan.devices[n]));
      alone[n].push_back(seconds);
    }
    DHPVM_ASSIGN(const double seconds, time_on(all));
    together.push_back(seconds);
  }
  for (std::vector<double>& times : alone) several.alone.push_back(median(std::move(times)));
  several.together = median(std::move(together));
  return several;
}

// ---- Products of matrices -------------------------------------------------------------------------------------------

namespace {

// Records the operations of a device; thread-safe.
class Recorder {
 public:
  void add(const DeviceOperation& operation) {
    if (operation.kind == DeviceOperation::Kind::kOther) return;
    const std::lock_guard lock(mutex_);
    operations_.push_back({operation.kind == DeviceOperation::Kind::kLaunch, operation.begin, operation.end});
  }
  // Seconds of the launches (or of the copies) that began in a window of the device's clock.
  double spent(bool computing, std::chrono::nanoseconds begin, std::chrono::nanoseconds end) {
    const std::lock_guard lock(mutex_);
    std::chrono::nanoseconds sum{0};
    for (const Done& done : operations_) {
      if (done.computes == computing && done.begin >= begin && done.begin <= end)
        sum += done.end - done.begin;
    }
    return std::chrono::duration<double>(sum).count();
  }

 private:
  struct Done {
    bool computes;
    std::chrono::nanoseconds begin;
    std::chrono::nanoseconds end;
  };
  std::mutex mutex_;
  std::vector<Done> operations_;
};

struct Executor {
  std::string name;
  std::string device;
  bool interpreted = false;
};

Result<Product> measure_product(const Engine& engine, const RemotePlan& plan, const Executor& executor,
                                const std::array<std::int64_t, 3>& shape, std::vector<Output>& expected) {
  tell(plan, fmt::format("{} x {}: {}", shape[0], shape[1], executor.name));
  DHPVM_ASSIGN(const Module module, compile_program(engine, "product"));
  const auto recorder = std::make_shared<Recorder>();
  IsolateOptions options;
  options.jit = executor.interpreted ? Jit::kOff : Jit::kOn;
  options.jit_wait = true;
  options.device = executor.device;
  options.device_observer = [recorder](const DeviceOperation& operation) { recorder->add(operation); };
  Product product{executor.name, shape, 0, 0, 0, true};
  std::vector<double> times;
  std::vector<std::pair<std::chrono::nanoseconds, std::chrono::nanoseconds>> windows;
  {
    DHPVM_ASSIGN(const Isolate isolate, Isolate::create(module, options));
    DHPVM_ASSIGN(const auto prepare,
                 isolate.function<Object(std::int64_t, std::int64_t, std::int64_t)>("prepare"));
    DHPVM_ASSIGN(const auto touch, isolate.function<void(Object)>("touch"));
    DHPVM_ASSIGN(const auto run, isolate.function<void(Object)>("run"));
    DHPVM_ASSIGN(const auto finish, isolate.function<double(Object)>("finish"));
    DHPVM_ASSIGN(const Object work, prepare(shape[0], shape[1], shape[2]));
    const auto clock = [&] {
      const std::vector<DeviceUse> devices = isolate.devices();
      return devices.empty() ? std::chrono::nanoseconds(0) : devices[0].clock;
    };
    const std::uint64_t warm_up = executor.interpreted ? 0 : kWarmUp;
    for (std::uint64_t n = 0; n < warm_up + plan.runs; ++n) {
      DHPVM_TRY(touch(work));
      const auto begin = Clock::now();
      const std::chrono::nanoseconds device_begin = clock();
      DHPVM_TRY(run(work));
      DHPVM_TRY(finish(work));
      if (n < warm_up) continue;
      times.push_back(seconds_since(begin));
      windows.emplace_back(device_begin, clock());
      if (executor.interpreted && times.back() > kPatience) break;
    }
    if (expected.empty()) {
      DHPVM_ASSIGN(expected, outputs_of(isolate, work));
    } else {
      DHPVM_ASSIGN(const std::string difference, tools::difference(isolate, work, expected, 0));
      product.verified = difference.empty();
    }
    if (executor.device != "host" && isolate.statistics().device_loops == 0) {
      return Error(ErrorCode::kUnsupported,
                   "no loop ran on " + executor.device + ":\n" + isolate.explain_loops());
    }
  }
  // All operations have been reported when the isolate is gone.
  product.total = median(std::move(times));
  product.compute = product.total;
  if (executor.device == "host") return product;
  std::vector<double> compute;
  std::vector<double> movement;
  for (const auto& [begin, end] : windows) {
    compute.push_back(recorder->spent(true, begin, end));
    movement.push_back(recorder->spent(false, begin, end));
  }
  product.compute = median(std::move(compute));
  product.movement = median(std::move(movement));
  return product;
}

}  // namespace

Result<std::vector<Product>> measure_products(const Engine& engine, const RemotePlan& plan,
                                              const std::array<std::int64_t, 3>& shape) {
  std::vector<Product> products;
  std::vector<Output> expected;
  EngineOptions one_thread;
  one_thread.log = print_log;
  one_thread.threads = 1;
  const Engine sequential(one_thread);
  const auto add = [&](const Engine& with, const Executor& executor) -> Status {
    DHPVM_ASSIGN(Product product, measure_product(with, plan, executor, shape, expected));
    products.push_back(std::move(product));
    return {};
  };
  DHPVM_TRY(add(sequential, {"local, interpreted", "host", true}));
  DHPVM_TRY(add(sequential, {"local, native, one core", "host", false}));
  DHPVM_TRY(add(engine, {"local, native, all cores", "host", false}));
  for (const std::string& device : plan.devices) DHPVM_TRY(add(engine, {device, device, false}));
  return products;
}

}  // namespace dhpvm::tools
