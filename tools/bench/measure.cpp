// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>

#include "bench/outputs.h"

namespace dhpvm::tools {
namespace {

using Clock = std::chrono::steady_clock;

// What a simulated device computes with, unless its name says how fast it is: a card of some years ago.
constexpr double kSimulatedOperations = 1e12;  // a second
constexpr double kSimulatedBandwidth = 200e9;  // bytes a second

double in_seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

// Takes down what a device does, from whatever thread it is told.
class Recorder {
 public:
  void operator()(const DeviceOperation& operation) {
    const std::lock_guard lock(mutex_);
    operations_.push_back(operation);
    operations_.back().device = {};
  }
  std::vector<DeviceOperation> take() {
    const std::lock_guard lock(mutex_);
    return std::move(operations_);
  }

 private:
  std::mutex mutex_;
  std::vector<DeviceOperation> operations_;
};

// The time of a run on the clock of the device, for finding its operations.
struct Window {
  std::chrono::nanoseconds begin{0};
  std::chrono::nanoseconds end{0};
};

void add_operations(Run& run, const Window& window, const std::vector<DeviceOperation>& operations) {
  for (const DeviceOperation& operation : operations) {
    if (operation.begin < window.begin || operation.begin > window.end) continue;
    const double seconds = in_seconds(operation.end - operation.begin);
    switch (operation.kind) {
      case DeviceOperation::Kind::kUpload:
        run.stages.upload += seconds;
        run.upload_bytes += operation.bytes;
        break;
      case DeviceOperation::Kind::kLaunch: run.stages.kernel += seconds; break;
      case DeviceOperation::Kind::kDownload:
        run.stages.download += seconds;
        run.download_bytes += operation.bytes;
        break;
      case DeviceOperation::Kind::kOther: continue;
    }
    ++run.operations;
    run.timeline.push_back({operation.kind, in_seconds(operation.begin - window.begin),
                            in_seconds(operation.end - window.begin)});
  }
}

// The functions of a program that are called for a run.
struct Steps {
  static Result<Steps> find(const Isolate& isolate) {
    auto touch = isolate.function<void(Object)>("touch");
    if (!touch.ok()) return std::move(touch).error();
    auto run = isolate.function<void(Object)>("run");
    if (!run.ok()) return std::move(run).error();
    auto finish = isolate.function<double(Object)>("finish");
    if (!finish.ok()) return std::move(finish).error();
    return Steps{std::move(*touch), std::move(*run), std::move(*finish)};
  }
  Status execute(const Object& work) const {
    DHPVM_TRY(run(work));
    // The results are on the host when one of them can be looked at.
    DHPVM_TRY(finish(work));
    return {};
  }

  Function<void(Object)> touch;
  Function<void(Object)> run;
  Function<double(Object)> finish;
};

}  // namespace

std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::kSerialPageable: return "serial pageable";
    case Mode::kSerialPinned: return "serial pinned";
    case Mode::kPipelined: return "pipelined";
    case Mode::kAutomatic: return "automatic";
  }
  return {};
}

Result<Module> compile_program(const Engine& engine, std::string_view name) {
  DHPVM_ASSIGN(const std::string_view text, program_text(name));
  CompileOptions options;
  options.file_name = std::string(name) + ".dhp";
  options.import_paths = {"dhpvm-bench"};  // whose modules are all found by their names
  options.read = [](const std::string& path) -> Result<std::string> {
    std::string_view imported = std::string_view(path).substr(path.rfind('/') + 1);
    if (imported.ends_with(".dhp")) imported.remove_suffix(4);
    DHPVM_ASSIGN(const std::string_view found, program_text(imported));
    return std::string(found);
  };
  return Module::compile(engine, text, options);
}

Result<Workload> Workload::create(const Engine& engine, const Kernel& kernel, std::uint64_t bytes,
                                  const Settings& settings) {
  DHPVM_ASSIGN(Module module, compile_program(engine, kernel.program));
  return Workload(std::move(module), kernel, bytes, settings);
}

Result<Object> Workload::prepare(const Isolate& isolate) const {
  DHPVM_ASSIGN(const auto function,
               isolate.function<Object(std::int64_t, std::int64_t, std::string_view)>("prepare"));
  return function(static_cast<std::int64_t>(bytes_), kernel_->parameter, settings_->folder);
}

std::string Workload::device_name() const {
  const std::string& name = settings_->device;
  const bool is_simulated = name == "sim" || name.starts_with("sim?");
  if (!is_simulated || name.find("rate=") != name.npos) return name;
  const double rate =
      1 / std::max(kernel_->operations / kSimulatedOperations, kernel_->traffic / kSimulatedBandwidth);
  return fmt::format("{}{}rate={:.6g}/s", name, name == "sim" ? '?' : '&', rate);
}

namespace {

IsolateOptions options_for(std::uint64_t bytes) {
  IsolateOptions options;
  options.jit_wait = true;
  options.limits.off_heap_bytes = 2 * bytes + (std::uint64_t{1} << 30);
  return options;
}

}  // namespace

Status Workload::run_on_host() {
  IsolateOptions options = options_for(bytes_);
  options.device = "host";
  DHPVM_ASSIGN(const Isolate isolate, Isolate::create(module_, options));
  DHPVM_ASSIGN(const Object work, prepare(isolate));
  DHPVM_ASSIGN(const auto iterations, isolate.function<std::int64_t(Object)>("iterations"));
  DHPVM_ASSIGN(const std::int64_t count, iterations(work));
  iterations_ = static_cast<std::uint64_t>(count);
  DHPVM_ASSIGN(const Steps steps, Steps::find(isolate));
  DHPVM_TRY(steps.touch(work));
  const auto begin = Clock::now();
  DHPVM_TRY(steps.execute(work));
  host_seconds_ = in_seconds(Clock::now() - begin);
  DHPVM_ASSIGN(expected_, outputs_of(isolate, work));
  return {};
}

Result<Measurement> Workload::measure(Mode mode, std::uint64_t chunks) const {
  Measurement result;
  result.mode = mode;
  result.chunks_wanted = chunks;
  const auto recorder = std::make_shared<Recorder>();
  std::vector<Run> runs;
  std::vector<Window> windows;
  {
    IsolateOptions options = options_for(bytes_);
    options.device = device_name();
    options.limits.device_bytes = settings_->budget;
    options.batching = mode == Mode::kSerialPageable ? Batching::kSerialPageable
                       : mode == Mode::kSerialPinned ? Batching::kSerial
                                                     : Batching::kOverlapped;
    if (mode == Mode::kPipelined) options.batch = (iterations_ + chunks - 1) / chunks;
    options.device_observer = [recorder](const DeviceOperation& operation) { (*recorder)(operation); };
    DHPVM_ASSIGN(const Isolate isolate, Isolate::create(module_, options));
    DHPVM_ASSIGN(const Object work, prepare(isolate));
    DHPVM_ASSIGN(const Steps steps, Steps::find(isolate));
    const auto clock = [&] {
      const std::vector<DeviceUse> devices = isolate.devices();
      return devices.empty() ? std::chrono::nanoseconds(0) : devices[0].clock;
    };
    const std::uint64_t warm_up =
        mode == Mode::kAutomatic ? settings_->automatic_warm_up : settings_->warm_up;
    for (std::uint64_t n = 0; n < warm_up + settings_->runs; ++n) {
      DHPVM_TRY(steps.touch(work));
      const Statistics before = isolate.statistics();
      const auto wall = Clock::now();
      const std::chrono::nanoseconds begin = clock();
      DHPVM_TRY(steps.execute(work));
      const std::chrono::nanoseconds end = clock();
      if (n < warm_up) continue;
      const Statistics after = isolate.statistics();
      Run& run = runs.emplace_back();
      run.wall_seconds = in_seconds(Clock::now() - wall);
      run.seconds = in_seconds(end - begin);
      run.loops = after.device_loops - before.device_loops;
      run.chunks = after.device_chunks - before.device_chunks;
      run.registrations = after.device_registrations - before.device_registrations;
      result.seconds.push_back(run.seconds);
      windows.push_back({begin, end});
    }
    DHPVM_ASSIGN(result.difference, difference(isolate, work, expected_, kernel_->tolerance));
    std::vector<DeviceUse> devices = isolate.devices();
    if (devices.empty() || runs[0].loops == 0) {
      return Error(ErrorCode::kUnsupported, "no loop of '" + std::string(kernel_->name) + "' ran on " +
                                                settings_->device + ":\n" + isolate.explain_loops());
    }
    result.device = std::move(devices[0]);
  }
  // The isolate is gone: all of its operations have been recorded.
  const std::vector<DeviceOperation> operations = recorder->take();
  for (std::size_t n = 0; n < runs.size(); ++n) add_operations(runs[n], windows[n], operations);
  std::ranges::nth_element(runs, runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2), {},
                           &Run::seconds);
  result.run = std::move(runs[runs.size() / 2]);
  return result;
}

}  // namespace dhpvm::tools
