// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/worker.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <optional>
#include <utility>

#include "base/cache_folder.h"
#include "base/error.h"
#include "base/one_line.h"
#include "dhpvm/engine.h"
#include "dhpvm/remote.h"
#include "dhpvm/version.h"
#include "offload/remote/fabric/key_file.h"
#include "offload/remote/fabric/load_fabric.h"
#include "offload/remote/worker/clients_file.h"
#include "offload/remote/worker/local_sessions.h"
#include "offload/remote/worker/metrics_server.h"
#include "offload/remote/worker/session_process.h"
#include "offload/remote/worker/session_processes.h"
#include "vm/api/security.h"
#include "vm/api/state.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {
namespace {

constexpr std::chrono::milliseconds kRetry{500};

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "a worker";
  return name.data();
}

// The named devices, or all that can be opened, which always include the host's cores.
Result<std::vector<std::shared_ptr<offload::Device>>> open_devices(offload::DeviceRegistry& registry,
                                                                   const std::vector<std::string>& names) {
  std::vector<std::shared_ptr<offload::Device>> devices;
  if (!names.empty()) {
    for (const std::string& name : names) {
      DHPVM_ASSIGN(std::shared_ptr<offload::Device> device, registry.open(name));
      devices.push_back(std::move(device));
    }
    return devices;
  }
  std::vector<offload::DeviceListing> listings = registry.list();
  // Clients that do not name a device get the first one.
  std::ranges::stable_sort(listings, {}, [](const offload::DeviceListing& listing) {
    return listing.is_gpu ? 0 : listing.name == "host" ? 1 : 2;
  });
  for (const offload::DeviceListing& listing : listings) {
    if (listing.problem || listing.name.starts_with("sim") || listing.name.starts_with("remote")) continue;
    if (auto device = registry.open(listing.name); device.ok()) devices.push_back(std::move(device).value());
  }
  return devices;
}

std::string cache_folder_of(const EngineOptions& options) {
  return options.code_cache_directory.empty() ? default_cache_folder() : options.code_cache_directory;
}

// The options of sessions.
offload::WorkerOptions session_options(const Engine& engine, const WorkerOptions& options) {
  offload::WorkerOptions made;
  made.name = host_name();
  made.release = DHPVM_VERSION;
  made.limits.sessions = options.sessions;
  made.limits.memory_bytes = options.memory_bytes;
  made.limits.module_bytes = options.code_bytes;
  made.limits.time = options.time;
  made.limits.idle = options.idle;
  made.limits.waiting = options.waiting;
  made.limits.total_memory_bytes = options.total_memory_bytes;
  made.silence_deadline = options.silence;
  made.generator = [service = engine.state()->compile_service] { return service->loaded_generator(); };
  return made;
}

}  // namespace

struct Worker::State {
  ~State();
  Result<std::unique_ptr<offload::SessionRunner>> make_runner(const WorkerOptions& options,
                                                              const offload::WorkerOptions& made) const;
  void dial(const offload::Address& numeric, const std::string& host,
            std::chrono::steady_clock::time_point deadline, const std::string& told = {});

  void log(const offload::Address& client, const std::string& text) const {
    worker->log({LogLevel::kInfo, 0, fmt::format("client {}: {}", client.to_string(), text), {}});
  }

  std::shared_ptr<detail::EngineState> engine;
  std::unique_ptr<offload::Fabric> fabric;
  std::unique_ptr<offload::Transport> transport;
  std::unique_ptr<offload::Worker> worker;
  std::unique_ptr<offload::MetricsServer> metrics;
  std::vector<std::string> addresses;
  std::string clients_file;                         // empty: none
  std::shared_ptr<offload::Identity> certificates;  // in addition to the keys of that file; null: none
  std::atomic<unsigned> dialled = 0;                // clients that are being dialled or served
  // True while the worker ends: posted tasks then do nothing. Used only by the progress thread.
  const std::shared_ptr<bool> ending = std::make_shared<bool>(false);
};

Worker::State::~State() {
  metrics = nullptr;
  if (worker == nullptr) return;
  std::promise<void> told;
  transport->post([&] {
    *ending = true;
    told.set_value();
  });
  told.get_future().wait();
  worker = nullptr;
}

Result<std::unique_ptr<offload::SessionRunner>> Worker::State::make_runner(
    const WorkerOptions& options, const offload::WorkerOptions& made) const {
  // Connections of libfabric cannot leave their process.
  if (!options.session_command.empty() && options.provider.empty()) {
    offload::SessionProcessesOptions processes;
    processes.command = options.session_command;
    processes.caches = cache_folder_of(engine->options);
    processes.code_bytes = engine->options.code_cache ? engine->options.code_cache_limit : 0;
    processes.memory_bytes = options.memory_bytes;
    processes.log = [write = made.log](const WorkerLogEntry& entry) {
      if (write) write(entry);
    };
    return offload::start_session_processes(*transport, std::move(processes));
  }
  DHPVM_ASSIGN(std::vector<std::shared_ptr<offload::Device>> devices,
               open_devices(*engine->devices, options.devices));
  return offload::make_local_sessions(*fabric, *transport, std::move(devices), made);
}

// Dials a client again and again until it has answered once, because it may be started after its workers.
void Worker::State::dial(const offload::Address& numeric, const std::string& host,
                         std::chrono::steady_clock::time_point deadline, const std::string& told) {
  const auto ended = [this, gone = ending, numeric, host, deadline, told](const Error& reason,
                                                                          bool was_open) {
    if (*gone) return;
    const std::string text = one_line(reason);
    if (!was_open && std::chrono::steady_clock::now() < deadline) {
      // Log each problem once, not for each attempt.
      if (text != told) log(numeric, text + "; dialling again");
      transport->post_at(std::chrono::steady_clock::now() + kRetry,
                         [this, gone, numeric, host, deadline, text] {
                           if (!*gone) dial(numeric, host, deadline, text);
                         });
      return;
    }
    log(numeric, text);
    --dialled;
  };
  if (Status status = worker->dial(numeric, host, ended); !status.ok()) {
    log(numeric, status.error().to_string());
    --dialled;
  }
}

namespace {

std::vector<offload::ClientKey> keys_of(const std::vector<offload::ClientEntry>& clients) {
  std::vector<offload::ClientKey> keys;
  for (const offload::ClientEntry& client : clients) {
    for (const offload::SecretBytes& key : client.keys) keys.push_back({client.name, key});
  }
  return keys;
}

// The clients of the file, with their present keys.
Result<offload::WorkerAccess> read_access(offload::Fabric& fabric, const std::string& path,
                                          const std::shared_ptr<offload::Identity>& certificates) {
  DHPVM_ASSIGN(std::vector<offload::ClientEntry> clients, offload::read_clients_file(path));
  if (clients.empty()) {
    return error(ErrorCode::kInvalidArgument,
                 "{} names no client, so none could come in; end the worker to refuse all", path);
  }
  offload::Credentials credentials;
  credentials.clients = keys_of(clients);
  std::shared_ptr<offload::Identity> keys;
  if (!credentials.clients.empty()) {
    DHPVM_ASSIGN(keys, fabric.load_identity(credentials));
  }
  return offload::WorkerAccess::of_clients(std::move(keys), certificates, std::move(clients));
}

}  // namespace

Status make_key_file(const std::string& path) { return offload::make_key_file(path); }

Result<Worker> Worker::start(const Engine& engine, WorkerOptions options) {
  std::vector<offload::Address> listen;  // parsed here, so that mistakes are found before anything is started
  for (const std::string& text : options.listen) {
    DHPVM_ASSIGN(offload::Address address, offload::Address::parse(text));
    listen.push_back(std::move(address));
  }
  auto state = std::make_unique<State>();
  state->engine = engine.state();
  offload::WorkerOptions made = session_options(engine, options);
  made.seal = static_cast<offload::SealMode>(options.security.seal);
  made.log = std::move(options.log);
  offload::Credentials credentials = credentials_of(options.security);
  if (options.clients_file.empty() && !options.security.key_file.empty()) {
    DHPVM_ASSIGN(credentials.key, offload::read_key_file(options.security.key_file));
  }
  DHPVM_ASSIGN(state->fabric, offload::load_fabric());
  if (!credentials.key.empty() || !credentials.certificate_file.empty()) {
    DHPVM_ASSIGN(made.identity, state->fabric->load_identity(credentials));
  }
  offload::WorkerAccess access(made.identity);
  if (!options.clients_file.empty()) {
    state->clients_file = options.clients_file;
    state->certificates = made.identity;
    DHPVM_ASSIGN(access, read_access(*state->fabric, options.clients_file, made.identity));
  }
  DHPVM_ASSIGN(state->transport, state->fabric->create_transport({.provider = options.provider}));
  DHPVM_ASSIGN(auto runner, state->make_runner(options, made));
  state->worker = std::make_unique<offload::Worker>(*state->transport, std::move(runner), std::move(made));
  state->worker->set_access(std::move(access));
  for (const offload::Address& address : listen) {
    DHPVM_ASSIGN(const std::vector<offload::Address> numeric, offload::resolve(address));
    DHPVM_ASSIGN(const offload::Address chosen, state->worker->listen(numeric.front()));
    state->addresses.push_back(chosen.to_string());
  }
  if (!options.metrics.empty()) {
    DHPVM_ASSIGN(const offload::Address address, offload::Address::parse(options.metrics));
    DHPVM_ASSIGN(const std::vector<offload::Address> numeric, offload::resolve(address));
    DHPVM_ASSIGN(state->metrics,
                 offload::MetricsServer::start(numeric.front(),
                                               [worker = state->worker.get()] { return worker->report(); }));
  }
  for (const std::string& text : options.clients) {
    DHPVM_ASSIGN(const offload::Address address, offload::Address::parse(text));
    DHPVM_ASSIGN(const std::vector<offload::Address> numeric, offload::resolve(address));
    ++state->dialled;
    state->dial(numeric.front(), address.host, std::chrono::steady_clock::now() + options.patience);
  }
  return Worker(std::move(state));
}

Status Worker::serve_session(EngineOptions engine_options, const WorkerOptions& options) {
  DHPVM_ASSIGN(offload::SessionProcess process, offload::SessionProcess::create());
  std::unique_ptr<offload::Fabric> fabric;
  std::unique_ptr<offload::Transport> transport;
  std::optional<Engine> engine;
  offload::SessionProcess::Task task;
  const auto open = [&](std::uint64_t number, const std::string& name) {
    // Requested devices are lent in the order in which they were named, perhaps with parameters.
    const std::vector<std::string>& wished = options.devices;
    return engine->state()->devices->open(number < wished.size() ? wished[number] : name);
  };
  const auto show = [&]() -> Status {
    DHPVM_ASSIGN(const auto devices, open_devices(*engine->state()->devices, options.devices));
    return process.show(devices);
  };
  const auto prepare = [&]() -> Status {
    DHPVM_TRY(process.enter({cache_folder_of(engine_options) + "/clients"}));
    DHPVM_ASSIGN(fabric, offload::load_fabric());
    // Threads start only here, after the process has given up rights: they have no more than a session needs.
    DHPVM_ASSIGN(task, process.wait());
    engine_options.code_cache = engine_options.code_cache && !task.caches.empty();
    engine_options.code_cache_directory = task.caches;
    engine.emplace(std::move(engine_options));
    if (task.is_probe) return show();
    DHPVM_ASSIGN(transport, fabric->create_transport({}));
    return {};
  };
  Status status = prepare();
  if (!status.ok()) process.refuse(status.error());
  if (!status.ok() || task.is_probe) return status;
  process.serve(*fabric, *transport, open, session_options(*engine, options));
}

Worker::Worker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Worker::~Worker() = default;
Worker::Worker(Worker&& other) noexcept = default;
Worker& Worker::operator=(Worker&& other) noexcept = default;

std::vector<std::string> Worker::addresses() const { return state_->addresses; }

std::string Worker::metrics_address() const {
  return state_->metrics == nullptr ? std::string() : state_->metrics->address().to_string();
}

bool Worker::is_needed() const { return !state_->addresses.empty() || state_->dialled.load() != 0; }

Status Worker::reload_clients() {
  if (state_->clients_file.empty()) return {};
  DHPVM_ASSIGN(offload::WorkerAccess access,
               read_access(*state_->fabric, state_->clients_file, state_->certificates));
  state_->worker->set_access(std::move(access));
  return {};
}

bool Worker::drain(std::chrono::milliseconds patience) {
  return state_->worker->drain(std::chrono::steady_clock::now() + patience);
}

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
