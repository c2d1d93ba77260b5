// SPDX-License-Identifier: Apache-2.0
#include "dhpvm/isolate.h"

#include <algorithm>

#include "base/error.h"
#include "offload/devices/device.h"
#include "offload/schedule/placement/policy.h"
#include "stdlib/native/natives.h"
#include "vm/api/signature.h"
#include "vm/api/state.h"
#include "vm/api/target.h"
#include "vm/loop_tier.h"
#include "vm/open_devices.h"

namespace dhpvm {
namespace {

// The module bound to its natives, which happens once.
Result<std::shared_ptr<const vm::LinkedModule>> linked(detail::ModuleState& module) {
  const std::lock_guard module_lock(module.mutex);
  if (module.linked == nullptr) {
    detail::EngineState& engine = *module.engine;
    const std::lock_guard engine_lock(engine.mutex);
    const auto reach = engine.options.system_access ? stdlib::Reach::kSystem : stdlib::Reach::kSelf;
    DHPVM_TRY(stdlib::register_natives(engine.natives, reach, module.module->imports));
    DHPVM_ASSIGN(module.linked, vm::LinkedModule::link(module.module, engine.natives));
  }
  return module.linked;
}

std::string physical_or_empty(const std::string& folder) {
  Result<std::string> path = stdlib::physical_path(folder, stdlib::PathUse::kRead);
  return path.ok() ? std::move(path).value() : std::string();
}

bool is_within(const std::string& path, const std::string& folder) {
  return folder == "/" || path == folder || path.starts_with(folder + "/");
}

// For folders that lie in each other, the inner ones; a folder that cannot be found permits nothing.
std::vector<std::string> common_folders(const std::vector<std::string>& one,
                                        const std::vector<std::string>& other) {
  std::vector<std::string> common;
  for (const std::string& of_one : one) {
    const std::string left = physical_or_empty(of_one);
    for (const std::string& of_other : other) {
      const std::string right = physical_or_empty(of_other);
      if (left.empty() || right.empty()) continue;
      if (is_within(left, right)) {
        common.push_back(left);
      } else if (is_within(right, left)) {
        common.push_back(right);
      }
    }
  }
  return common;
}

// The rights that both permit.
SystemRights common_rights(const SystemRights& one, const SystemRights& other) {
  return {common_folders(one.read, other.read), common_folders(one.write, other.write),
          one.environment && other.environment, one.run && other.run};
}

// The isolate's function, or the engine's if the isolate has none.
template <typename F>
F first_of(const F& own, const F& shared) {
  return own ? own : shared;
}

std::function<void(const std::string&, const offload::OperationRecord&)> observer_of(
    std::function<void(const DeviceOperation&)> observer, LogFunction log) {
  return [observer = std::move(observer), log = std::move(log)](const std::string& device,
                                                                const offload::OperationRecord& record) {
    using Kind = offload::OperationRecord::Kind;
    DeviceOperation operation;
    operation.device = device;
    operation.kind = record.kind == Kind::kUpload     ? DeviceOperation::Kind::kUpload
                     : record.kind == Kind::kDownload ? DeviceOperation::Kind::kDownload
                     : record.kind == Kind::kLaunch   ? DeviceOperation::Kind::kLaunch
                                                      : DeviceOperation::Kind::kOther;
    operation.bytes = record.bytes;
    operation.iterations = record.iterations;
    operation.begin = record.begin;
    operation.end = record.end;
    // No exception may leave, because a device's thread has no caller that could catch it.
    try {
      observer(operation);
    } catch (...) {
      if (log) log(LogKind::kWarning, "device_observer threw an exception, which is ignored");
    }
  };
}

vm::IsolateOptions machine_options(const IsolateOptions& options, detail::EngineState& engine) {
  vm::IsolateOptions machine;
  machine.jit.mode = static_cast<vm::JitMode>(options.jit);
  machine.jit.threshold_samples = options.jit_threshold;
  machine.jit.wait = options.jit_wait;
  machine.compile_service = engine.compile_service;
  machine.thread_pool = engine.thread_pool;
  machine.alarm = engine.alarm;
  machine.address_space = engine.address_space;
  machine.limits.heap_bytes = options.limits.heap_bytes;
  machine.limits.off_heap_bytes = options.limits.off_heap_bytes;
  machine.limits.device_bytes = options.limits.device_bytes;
  machine.limits.stack_bytes = options.limits.stack_bytes;
  machine.limits.fuel = options.limits.fuel;
  machine.limits.deadline = options.limits.deadline;
  machine.check_races = options.check_races;
  machine.count_lines = options.count_lines;
  machine.gc_stress = options.gc_stress;
  machine.gc_verify = options.gc_verify;
  machine.tracer = engine.tracer.get();
  machine.profiled_code = engine.profiled_code;
  machine.left_buffer_bytes = &engine.left_buffer_bytes;
  if (options.device != "host") machine.devices.registry = engine.devices;
  machine.devices.names = options.device;
  machine.devices.is_required = options.require_device;
  if (options.policy == Policy::kRemote) {
    machine.devices.policy = offload::prefer_remote(options.policy_factor);
  }
  machine.devices.batch_iterations = options.batch;
  machine.devices.batching = static_cast<vm::Batching>(options.batching);
  if (options.device_observer)
    machine.devices.observer = observer_of(options.device_observer, engine.options.log);
  if (const LogFunction& log = engine.options.log)
    machine.devices.warn = [log](const std::string& text) { log(LogKind::kWarning, text); };
  return machine;
}

// Hands reports of loops to the host's function.
offload::LoopProgress::Listener listener_of(ProgressFunction function, LogFunction log) {
  return [function = std::move(function), log = std::move(log)](const offload::ProgressReport& report) {
    // No exception may leave: the loop runs in code without exception handling.
    try {
      function({report.position, report.done, report.total, report.elapsed, report.has_ended});
    } catch (...) {
      if (log) log(LogKind::kWarning, "the function for progress threw an exception, which is ignored");
    }
  };
}

// Whether devices can be required at all.
Status check_required(const IsolateOptions& options) {
  const std::vector<std::string> names = vm::split_names(options.device);
  const auto is_no_device = [](const std::string& name) { return name == "auto" || vm::is_host(name); };
  if (names.empty() || std::ranges::any_of(names, is_no_device))
    return error(ErrorCode::kInvalidArgument,
                 "devices can be required only if they are named, and the host is not among them: '{}'",
                 options.device);
  if (options.jit == Jit::kOff || options.check_races || options.count_lines)
    return error(
        ErrorCode::kInvalidArgument,
        "loops are interpreted on the host without native code, and where races are looked for or lines "
        "are counted: leave that out, or do not require a device");
  return {};
}

}  // namespace

Result<Isolate> Isolate::create(const Module& module, const IsolateOptions& options) {
  const std::shared_ptr<detail::ModuleState>& from = module.state();
  if (options.require_device) DHPVM_TRY(check_required(options));
  if (options.policy == Policy::kRemote && !(options.policy_factor > 0)) {
    return error(
        ErrorCode::kInvalidArgument,
        "IsolateOptions::policy_factor is {}: it says how many times as long workers may take, and must "
        "be more than 0",
        options.policy_factor);
  }
  DHPVM_ASSIGN(const std::shared_ptr<const vm::LinkedModule> program, linked(*from));
  const EngineOptions& shared = from->engine->options;
  auto state = std::make_shared<detail::IsolateState>(
      from, stdlib::Console(first_of(options.standard_output, shared.standard_output),
                            first_of(options.standard_error, shared.standard_error),
                            first_of(options.standard_input, shared.standard_input),
                            shared.system_access ? stdlib::Console::HostInput::kOpen
                                                 : stdlib::Console::HostInput::kDenied));
  DHPVM_ASSIGN(state->machine, vm::Isolate::create(program, machine_options(options, *from->engine)));
  state->console.set_stop_check([machine = state->machine.get()] { return machine->poll(); });
  state->console.set_rest([machine = state->machine.get()](auto waited) {
    machine->rest({gc::IdleWatch::WaitKind::kSoFar, waited});
  });
  state->rights = from->engine->rights;
  if (options.rights) {
    state->rights = std::make_shared<stdlib::Rights>(
        shared.rights ? common_rights(*options.rights, *shared.rights) : *options.rights);
  }
  state->machine->set_host_data(static_cast<stdlib::NativeState*>(state.get()));
  state->options = options;
  return Isolate(std::move(state));
}

Status Isolate::reload(const Module& module) {
  if (module.state()->engine != state_->module->engine)
    return Error(ErrorCode::kInvalidArgument, "an isolate is reloaded with a module of its own engine");
  DHPVM_ASSIGN(Isolate fresh, create(module, state_->options));
  detail::IsolateState& to = *fresh.state_;
  DHPVM_TRY(detail::turn_targets(*state_, fresh.state_));
  to.machine->set_fuel(state_->machine->fuel_left());
  to.c_handle = state_->c_handle;
  to.main_time = state_->main_time;
  fresh.set_progress(state_->on_progress, state_->progress_interval);
  to.replaced = std::move(state_->replaced);
  std::erase_if(to.replaced, [](const auto& each) { return each->depth == 0; });
  if (state_->depth != 0) to.replaced.push_back(state_);
  state_ = fresh.state_;
  return {};
}

Result<std::shared_ptr<const detail::Target>> Isolate::find(std::string_view name,
                                                            const detail::HostSignature& signature) const {
  DHPVM_ASSIGN(const std::uint32_t index, detail::find_export(*state_, name));
  const bytecode::Module& module = state_->machine->module();
  const bytecode::Signature& program = module.functions[index].signature;
  if (!detail::matches(module, program, signature)) {
    return error(ErrorCode::kInvalidArgument, "function '{}' is {} in the program, and the host asks for {}",
                 name, vm::signature_text(module, program), detail::signature_text(signature));
  }
  return detail::make_kept_target(state_, index);
}

Result<int> Isolate::run_main(std::span<const std::string> arguments) {
  const bytecode::Module& module = state_->machine->module();
  if (module.entry == bytecode::kNoIndex)
    return Error(ErrorCode::kNotFound,
                 "the program has no function main, in which it would begin: fn main() { ... }");
  const bytecode::Signature& signature = module.functions[module.entry].signature;

  // A copy of the state of this call, because the call may reload the isolate.
  const std::shared_ptr<detail::IsolateState> state = state_;
  state->exit_code.reset();
  const detail::Target target{state, module.entry, {}};
  detail::Call call(target);
  if (call.has_windows() && !signature.parameters.empty()) DHPVM_TRY(detail::put_texts(call, 0, arguments));
  const auto begin = std::chrono::steady_clock::now();
  Status status = call.run();
  state_->main_time += std::chrono::steady_clock::now() - begin;
  // An error other than a trap, such as a full disk below standard output, takes precedence over the program's exit
  // code.
  if (state->exit_code && (status.ok() || status.error().is_trap())) return *state->exit_code;
  if (!status.ok()) return std::move(status).error();
  return signature.results.empty() ? 0 : detail::from_register<std::int32_t>(call.p[0]);
}

void Isolate::interrupt() const {
  const detail::IsolateState* running = state_.get();
  for (auto each = state_->replaced.rbegin(); running->depth == 0 && each != state_->replaced.rend(); ++each)
    running = each->get();
  (running->depth == 0 ? state_.get() : running)->machine->interrupt();
}
std::uint64_t Isolate::fuel_left() const { return state_->machine->fuel_left(); }
void Isolate::set_fuel(std::uint64_t fuel) { state_->machine->set_fuel(fuel); }
void Isolate::set_deadline(std::chrono::nanoseconds deadline) {
  state_->options.limits.deadline = deadline;
  state_->machine->set_deadline(deadline);
}
void Isolate::set_progress(ProgressFunction function, std::chrono::nanoseconds interval) {
  state_->on_progress = function;
  state_->progress_interval = interval;
  vm::LoopTier* const loops = state_->machine->loops();
  if (loops == nullptr) return;
  if (!function) {
    loops->set_progress(nullptr);
    return;
  }
  loops->set_progress(std::make_unique<offload::LoopProgress>(
      listener_of(std::move(function), state_->module->engine->options.log), interval));
}
Status Isolate::rest(std::chrono::nanoseconds waited) const {
  DHPVM_TRY(state_->machine->poll());
  state_->machine->rest({gc::IdleWatch::WaitKind::kSoFar, waited});
  return {};
}
void Isolate::collect() { state_->machine->heap().collect(gc::CollectionKind::kFull); }

Result<Object> Isolate::make_array_of(detail::Kind kind, std::span<const std::int64_t> sizes) {
  return detail::new_array(state_, kind, sizes);
}

Result<Object> Isolate::make_text(std::string_view text) {
  DHPVM_ASSIGN(gc::String* const string, state_->machine->new_string(text));
  return detail::ObjectState::wrap(state_, reinterpret_cast<gc::Ref>(string));
}

std::string Isolate::explain_loops() const {
  std::string text = state_->machine->explain_loops();
  if (const auto loaded = state_->module->engine->compile_service->failure()) {
    text = loaded->message() + "\n" + text;
  }
  return text.empty() ? "no parallel loop was run, or programs are only interpreted\n" : text;
}

std::vector<DeviceUse> Isolate::devices() const {
  std::vector<DeviceUse> devices;
  for (vm::DeviceUse& device : state_->machine->devices()) {
    devices.push_back({std::move(device.name), std::move(device.description), device.is_simulated,
                       device.shares_host_memory, device.copy_engines, device.memory_bytes, device.clock});
  }
  return devices;
}

Statistics Isolate::statistics() const {
  const vm::IsolateStats stats = state_->machine->stats();
  const gc::HeapStats& heap = stats.heap;
  Statistics result;
  result.host_calls = stats.host_calls;
  result.main_time = static_cast<std::uint64_t>(state_->main_time.count());
  result.fuel_used = stats.fuel_used;
  result.parallel_loops = stats.parallel_loops;
  result.parallel_iterations = stats.parallel_iterations;
  result.bytes_allocated = heap.bytes_allocated;
  result.live_bytes = heap.live_bytes;
  result.heap_bytes = heap.block_bytes + heap.large_bytes + heap.immortal_bytes;
  result.heap_peak_bytes = heap.peak_block_bytes;
  result.off_heap_bytes = stats.off_heap_bytes;
  result.off_heap_peak_bytes = stats.off_heap_peak_bytes;
  const vm::DeviceTotals& devices = stats.devices;
  const auto nanoseconds = [](std::chrono::nanoseconds time) {
    return static_cast<std::uint64_t>(time.count());
  };
  result.device_loops = devices.loops;
  result.device_chained = devices.chained;
  result.device_chunks = devices.chunks;
  result.device_uploads = devices.uploads.operations;
  result.device_upload_bytes = devices.uploads.units;
  result.device_upload_time = nanoseconds(devices.uploads.time);
  result.device_launches = devices.launches.operations;
  result.device_launch_time = nanoseconds(devices.launches.time);
  result.device_downloads = devices.downloads.operations;
  result.device_download_bytes = devices.downloads.units;
  result.device_download_time = nanoseconds(devices.downloads.time);
  result.device_registrations = devices.registrations;
  result.device_registration_time = nanoseconds(devices.registration_time);
  result.device_bytes = devices.bytes_in_use;
  result.minor_collections = heap.minor_collections;
  result.full_collections = heap.full_collections;
  result.minor_pause_total = heap.minor_pauses.total_ns();
  result.minor_pause_p99 = heap.minor_pauses.percentile_ns(0.99);
  result.minor_pause_max = heap.minor_pauses.max_ns();
  result.full_pause_total = heap.full_pauses.total_ns();
  result.full_pause_max = heap.full_pauses.max_ns();
  result.cleaners_run = heap.cleaners_run;
  const codegen::GeneratorStats code = state_->module->engine->compile_service->stats();
  result.compiles = code.compiles;
  result.compile_median = code.compile_median_ns;
  result.loop_compile_median = code.kernel_compile_median_ns;
  result.cache_hits = code.cache_hits;
  return result;
}

}  // namespace dhpvm
