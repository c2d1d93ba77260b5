// SPDX-License-Identifier: Apache-2.0
#include "bench/measure.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "bench/outputs.h"

namespace dhpvm::tools {
namespace {

using Clock = std::chrono::steady_clock;

// The speed of a simulated device without `rate=` in its name: that of a card some years old.
constexpr double kSimulatedOperations = 1e12;  // a second
constexpr double kSimulatedBandwidth = 200e9;  // bytes a second

double in_seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

// Records the operations of a device; thread-safe.
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

// The time of a run on the device's clock, by which its operations are found.
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

// The functions of a program that a run calls.
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
    // The results are on the host once one of them can be read.
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
  options.import_paths = {"dhpvm-bench"};  // all of its modules are found by their names
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

// A program on the device in one mode, for as many runs as requested.
class Workload::Session {
 public:
  static Result<std::unique_ptr<Session>> create(const Workload& workload, Mode mode, std::uint64_t chunks) {
    const Settings& settings = *workload.settings_;
    auto recorder = std::make_shared<Recorder>();
    IsolateOptions options = options_for(workload.bytes_);
    options.device = workload.device_name();
    options.limits.device_bytes = settings.budget;
    options.batching = mode == Mode::kSerialPageable ? Batching::kSerialPageable
                       : mode == Mode::kSerialPinned ? Batching::kSerial
                                                     : Batching::kOverlapped;
    if (mode == Mode::kPipelined) options.batch = (workload.iterations_ + chunks - 1) / chunks;
    options.device_observer = [recorder](const DeviceOperation& operation) { (*recorder)(operation); };
    DHPVM_ASSIGN(Isolate isolate, Isolate::create(workload.module_, options));
    DHPVM_ASSIGN(Object work, workload.prepare(isolate));
    DHPVM_ASSIGN(Steps steps, Steps::find(isolate));
    std::unique_ptr<Session> session(new Session(
        workload, std::move(recorder), Parts{std::move(isolate), std::move(work), std::move(steps)}));
    session->result_.mode = mode;
    session->result_.chunks_wanted = chunks;
    const std::uint64_t warm_up = mode == Mode::kAutomatic ? settings.automatic_warm_up : settings.warm_up;
    for (std::uint64_t n = 0; n < warm_up; ++n) DHPVM_TRY(session->execute());
    return session;
  }

  // A run that counts, after the warm-up.
  Status run() {
    const Isolate& isolate = parts_->isolate;
    const Statistics before = isolate.statistics();
    Run& run = runs_.emplace_back();
    DHPVM_TRY(execute());
    const Statistics after = isolate.statistics();
    run.wall_seconds = wall_seconds_;
    run.seconds = in_seconds(window_.end - window_.begin);
    run.loops = after.device_loops - before.device_loops;
    run.chunks = after.device_chunks - before.device_chunks;
    run.registrations = after.device_registrations - before.device_registrations;
    result_.seconds.push_back(run.seconds);
    windows_.push_back(window_);
    return {};
  }

  // Called after the last run.
  Result<Measurement> finish() {
    DHPVM_ASSIGN(result_.difference, difference(parts_->isolate, parts_->work, workload_.expected_,
                                                workload_.kernel_->tolerance));
    std::vector<DeviceUse> devices = parts_->isolate.devices();
    if (devices.empty() || runs_[0].loops == 0) {
      return Error(ErrorCode::kUnsupported, "no loop of '" + std::string(workload_.kernel_->name) +
                                                "' ran on " + workload_.settings_->device + ":\n" +
                                                parts_->isolate.explain_loops());
    }
    result_.device = std::move(devices[0]);
    // All operations have been recorded when the isolate is gone.
    parts_.reset();
    const std::vector<DeviceOperation> operations = recorder_->take();
    for (std::size_t n = 0; n < runs_.size(); ++n) add_operations(runs_[n], windows_[n], operations);
    std::ranges::nth_element(runs_, runs_.begin() + static_cast<std::ptrdiff_t>(runs_.size() / 2), {},
                             &Run::seconds);
    result_.run = std::move(runs_[runs_.size() / 2]);
    return std::move(result_);
  }

 private:
  struct Parts {
    Isolate isolate;
    Object work;
    Steps steps;
  };
  Session(const Workload& workload, std::shared_ptr<Recorder> recorder, Parts parts)
      : workload_(workload), recorder_(std::move(recorder)), parts_(std::move(parts)) {}

  std::chrono::nanoseconds clock() const {
    const std::vector<DeviceUse> devices = parts_->isolate.devices();
    return devices.empty() ? std::chrono::nanoseconds(0) : devices[0].clock;
  }
  Status execute() {
    DHPVM_TRY(parts_->steps.touch(parts_->work));
    const auto wall = Clock::now();
    window_.begin = clock();
    DHPVM_TRY(parts_->steps.execute(parts_->work));
    window_.end = clock();
    wall_seconds_ = in_seconds(Clock::now() - wall);
    return {};
  }

  const Workload& workload_;
  std::shared_ptr<Recorder> recorder_;
  std::optional<Parts> parts_;
  Measurement result_;
  std::vector<Run> runs_;
  std::vector<Window> windows_;
  Window window_;  // of the last run
  double wall_seconds_ = 0;
};

Result<Measurement> Workload::measure(Mode mode, std::uint64_t chunks) const {
  DHPVM_ASSIGN(const std::unique_ptr<Session> session, Session::create(*this, mode, chunks));
  for (std::uint64_t n = 0; n < settings_->runs; ++n) DHPVM_TRY(session->run());
  return session->finish();
}

Result<std::pair<Measurement, Measurement>> Workload::measure_in_turns(std::uint64_t chunks) const {
  DHPVM_ASSIGN(const std::unique_ptr<Session> fixed, Session::create(*this, Mode::kPipelined, chunks));
  DHPVM_ASSIGN(const std::unique_ptr<Session> automatic, Session::create(*this, Mode::kAutomatic, 0));
  for (std::uint64_t n = 0; n < settings_->runs; ++n) {
    DHPVM_TRY(fixed->run());
    DHPVM_TRY(automatic->run());
  }
  DHPVM_ASSIGN(Measurement first, fixed->finish());
  DHPVM_ASSIGN(Measurement second, automatic->finish());
  return std::pair(std::move(first), std::move(second));
}

}  // namespace dhpvm::tools
