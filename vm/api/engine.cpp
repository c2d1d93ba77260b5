// SPDX-License-Identifier: Apache-2.0
#include "dhpvm/engine.h"

#include <cerrno>
#include <span>

#include "base/error.h"
#include "base/file.h"
#include "dhpvm/version.h"
#include "offload/drivers/device_kinds.h"
#include "offload/remote/client/remote_factory.h"
#include "vm/api/host_definitions.h"
#include "vm/api/security.h"
#include "vm/api/state.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

namespace {

codegen::GeneratorOptions generator_options(const detail::EngineState& engine) {
  const EngineOptions& options = engine.options;
  codegen::GeneratorOptions generator;
  generator.cpu = options.processor;
  generator.cache = options.code_cache;
  generator.cache_directory = options.code_cache_directory;
  generator.cache_limit = options.code_cache_limit;
  generator.debugger = options.code_for_debugger;
  generator.profiler = options.code_for_profiler;
  generator.list_kernels = static_cast<codegen::Listing>(options.list_kernels);
  generator.list_functions = static_cast<codegen::Listing>(options.list_functions);
  generator.list_language = options.list_language;
  if (options.log) {
    // A copy, because a compilation in the background may end after the engine.
    generator.list = [log = options.log](std::string_view text) { log(LogKind::kListing, text); };
    generator.warn = [log = options.log](const std::string& text) { log(LogKind::kWarning, text); };
  }
  generator.tracer = engine.tracer.get();
  if (engine.profiled_code != nullptr) {
    generator.loaded = [map = engine.profiled_code](const void* begin, std::size_t size,
                                                    std::string_view name) { map->add(begin, size, name); };
  }
  return generator;
}

// A malformed address is reported at the first use of the devices.
std::unique_ptr<offload::DeviceFactory> remote_devices(const RemoteOptions& options) {
  const auto setup_of = [&]() -> Result<offload::RemoteSetup> {
    offload::RemoteSetup setup;
    for (const std::string& worker : options.workers) {
      DHPVM_ASSIGN(offload::Address address, offload::Address::parse(worker));
      setup.options.workers.push_back(std::move(address));
    }
    if (!options.listen.empty()) {
      DHPVM_ASSIGN(setup.options.listen, offload::Address::parse(options.listen));
    }
    setup.options.credentials = credentials_of(options.security);
    setup.options.seal = static_cast<offload::SealMode>(options.security.seal);
    setup.options.provider = options.provider;
    setup.options.silence_deadline = options.silence;
    setup.options.writes_back = options.write_back;
    setup.options.name = program_invocation_short_name;
    setup.options.release = DHPVM_VERSION;
    setup.key_file = options.security.key_file;
    setup.arrival = options.arrival;
    return setup;
  };
  auto setup = setup_of();
  if (setup.ok()) return offload::remote_factory(std::move(setup).value());
  return offload::remote_factory(
      [problem = setup.error()]() -> Result<std::shared_ptr<offload::RemoteWorkers>> { return problem; });
}

}  // namespace

Engine::Engine(EngineOptions options) : state_(std::make_shared<detail::EngineState>()) {
  state_->options = std::move(options);
  if (state_->options.trace) state_->tracer = std::make_unique<Tracer>();
  if (state_->options.profile) state_->profiled_code = std::make_shared<vm::CodeMap>();
  state_->compile_service = std::make_shared<vm::CompileService>(generator_options(*state_));
  state_->thread_pool = std::make_shared<ThreadPool>(state_->options.threads);
  state_->alarm = std::make_shared<vm::Alarm>();
  state_->address_space = std::make_shared<ReservationPool>();
  state_->devices = std::make_shared<offload::DeviceRegistry>();
  offload::add_devices(*state_->devices, state_->thread_pool);
  state_->devices->add(remote_devices(state_->options.remote));
  if (state_->options.rights) state_->rights = std::make_shared<stdlib::Rights>(*state_->options.rights);
}

Status Engine::define_function(std::string_view name, const detail::HostSignature& signature,
                               std::shared_ptr<void> function, detail::HostThunk thunk) {
  return detail::define_function(*state_, name, signature, std::move(function), thunk);
}

std::vector<DeviceEntry> Engine::devices() const {
  std::vector<DeviceEntry> entries;
  for (const offload::DeviceListing& device : state_->devices->list()) {
    std::string problem;
    const Error* part = device.problem ? &*device.problem : nullptr;
    for (; part != nullptr; part = part->cause()) problem += (problem.empty() ? "" : ": ") + part->message();
    entries.push_back({device.name, device.description, std::move(problem)});
  }
  return entries;
}

Leftovers Engine::leftovers() const {
  // Calls in the background still use their memory.
  if (!state_->compile_service->background().finish(std::chrono::steady_clock::now())) return {};
  const offload::DeviceStats devices = state_->devices->stats();
  return {state_->left_buffer_bytes, devices.bytes_allocated, devices.imports};
}

bool Engine::finish_compiling(std::chrono::nanoseconds patience) const {
  return state_->compile_service->finish(std::chrono::steady_clock::now() + patience);
}

unsigned Engine::compile_attempts() const { return state_->compile_service->attempts(); }

bool Engine::settle(std::chrono::nanoseconds patience) const {
  return state_->compile_service->settle(std::chrono::steady_clock::now() + patience);
}

std::vector<WorkerUse> Engine::workers() const {
  std::vector<WorkerUse> workers;
  for (offload::PeerStatus& peer : state_->devices->peers()) {
    workers.push_back({std::move(peer.name), std::move(peer.host), std::move(peer.state),
                       std::move(peer.seal), peer.jobs, peer.bytes_sent, peer.bytes_received,
                       peer.round_trip});
  }
  return workers;
}

Status Engine::write_trace(const std::string& path) const {
  if (state_->tracer == nullptr) {
    return Error(ErrorCode::kInvalidArgument,
                 "there is no trace to write: set EngineOptions::trace before the engine is made");
  }
  const std::string json = state_->tracer->to_json();
  return write_file(path, std::as_bytes(std::span(json)));
}

std::string_view library_version() { return DHPVM_VERSION; }

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
