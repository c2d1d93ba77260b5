// SPDX-License-Identifier: Apache-2.0
#include "vm/api/c/options.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <optional>
#include <span>
#include <vector>

namespace dhpvm::c {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

static_assert(static_cast<int>(Listing::kDevice) == DHPVM_LIST_DEVICE &&
                  static_cast<int>(Seal::kFull) == DHPVM_SEAL_FULL &&
                  static_cast<int>(Jit::kBaseline) == DHPVM_JIT_BASELINE &&
                  static_cast<int>(Policy::kRemote) == DHPVM_POLICY_REMOTE &&
                  static_cast<int>(Batching::kSerialPageable) == DHPVM_BATCHING_SERIAL_PAGEABLE &&
                  static_cast<int>(DeviceOperation::Kind::kOther) == DHPVM_OTHER_OPERATION &&
                  static_cast<int>(LogKind::kListing) == DHPVM_LOG_LISTING &&
                  Limits::kUnlimitedFuel == DHPVM_UNLIMITED && Limits::kUnlimitedBytes == DHPVM_UNLIMITED &&
                  Limits::kNoDeadline.count() == DHPVM_NO_DEADLINE,
              "the numbers of dhpvm/c/options.h are those of the enumerations in C++");

template <typename E>
Status take_choice(std::uint32_t number, E last, std::string_view name, E& choice) {
  if (number > static_cast<std::uint32_t>(last))
    return error(ErrorCode::kInvalidArgument, "{} is {}, and can be at most {}", name, number,
                 static_cast<unsigned>(last));
  choice = static_cast<E>(number);
  return {};
}

Status take_texts(const char* const* texts, std::size_t count, std::string_view name,
                  std::vector<std::string>& list) {
  if (count != 0) DHPVM_TRY(check_pointer(texts, name));
  for (const char* text : std::span(texts, count)) {
    DHPVM_TRY(check_pointer(text, name));
    list.emplace_back(text);
  }
  return {};
}

Status take_security(const dhpvm_security& given, Security& security) {
  security.key_file = text_or_empty(given.key_file);
  security.certificate_file = text_or_empty(given.certificate_file);
  security.private_key_file = text_or_empty(given.private_key_file);
  security.authority_file = text_or_empty(given.authority_file);
  return take_choice(given.seal, Seal::kFull, "dhpvm_security.seal", security.seal);
}

OutputFunction output_of(dhpvm_write_function write, void* user, const char* name) {
  if (write == nullptr) return {};
  return [write, user, name](std::string_view text) -> Status {
    const dhpvm_code code = write(user, text.data(), text.size());
    if (code == DHPVM_OK) return {};
    return error_of(code, fmt::format("the host's function for {} failed", name));
  };
}

InputFunction input_of(dhpvm_read_function read, void* user) {
  if (read == nullptr) return {};
  return [read, user](std::span<char> buffer) -> Result<std::size_t> {
    const std::int64_t count = read(user, buffer.data(), buffer.size());
    if (count < 0 || static_cast<std::uint64_t>(count) > buffer.size())
      return error(ErrorCode::kIo,
                   "the host's function for standard input returned {}, for a buffer of {} bytes", count,
                   buffer.size());
    return static_cast<std::size_t>(count);
  };
}

template <typename Options>
void take_streams(const dhpvm_streams& given, Options& options) {
  options.standard_output = output_of(given.standard_output, given.output_user, "standard output");
  options.standard_error = output_of(given.standard_error, given.error_user, "standard error");
  options.standard_input = input_of(given.standard_input, given.input_user);
}

Status take_remote(const dhpvm_engine_options& given, RemoteOptions& remote) {
  DHPVM_TRY(take_texts(given.workers, given.worker_count, "dhpvm_engine_options.workers", remote.workers));
  remote.listen = text_or_empty(given.listen);
  remote.arrival = duration_cast<milliseconds>(nanoseconds(given.arrival_ns));
  remote.silence = duration_cast<milliseconds>(nanoseconds(given.silence_ns));
  remote.provider = text_or_empty(given.provider);
  remote.write_back = given.remote_write_back != 0;
  return take_security(given.security, remote.security);
}

Status take_rights(const dhpvm_rights* given, std::optional<SystemRights>& rights) {
  if (given == nullptr) return {};
  dhpvm_rights known{};
  DHPVM_TRY(take_structure(given, known, "dhpvm_rights"));
  SystemRights& taken = rights.emplace();
  DHPVM_TRY(take_texts(known.read, known.read_count, "dhpvm_rights.read", taken.read));
  DHPVM_TRY(take_texts(known.write, known.write_count, "dhpvm_rights.write", taken.write));
  taken.environment = known.environment != 0;
  taken.run = known.run != 0;
  return {};
}

void take_limits(const dhpvm_isolate_options& given, Limits& limits) {
  limits.heap_bytes = given.heap_bytes;
  limits.off_heap_bytes = given.off_heap_bytes;
  limits.device_bytes = given.device_bytes;
  limits.stack_bytes = given.stack_bytes;
  limits.fuel = given.fuel;
  limits.deadline = nanoseconds(given.deadline_ns);
}

std::function<void(const DeviceOperation&)> observer_of(dhpvm_device_observer observer, void* user) {
  if (observer == nullptr) return {};
  return [observer, user](const DeviceOperation& operation) {
    const std::string device(operation.device);
    const dhpvm_device_operation told{sizeof told,
                                      device.c_str(),
                                      static_cast<uint32_t>(operation.kind),
                                      0,
                                      operation.bytes,
                                      operation.iterations,
                                      operation.begin.count(),
                                      operation.end.count()};
    observer(user, &told);
  };
}

}  // namespace

Result<EngineOptions> engine_options(const dhpvm_engine_options* given) {
  dhpvm_engine_options known{};
  dhpvm_engine_options_init(&known, sizeof known);
  DHPVM_TRY(take_structure(given, known, "dhpvm_engine_options", {offsetof(dhpvm_engine_options, rights)}));
  EngineOptions options;
  take_streams(known.streams, options);
  if (known.log != nullptr) {
    options.log = [log = known.log, user = known.log_user](LogKind kind, std::string_view text) {
      log(user, static_cast<std::uint32_t>(kind), text.data(), text.size());
    };
  }
  options.system_access = known.system_access != 0;
  options.threads = known.threads;
  options.code_cache = known.code_cache != 0;
  options.code_cache_directory = text_or_empty(known.code_cache_directory);
  options.code_cache_limit = known.code_cache_limit;
  options.processor = text_or_empty(known.processor);
  options.code_for_debugger = known.code_for_debugger != 0;
  options.code_for_profiler = known.code_for_profiler != 0;
  options.trace = known.trace != 0;
  options.list_language = text_or_empty(known.list_language);
  DHPVM_TRY(take_choice(known.list_kernels, Listing::kDevice, "dhpvm_engine_options.list_kernels",
                        options.list_kernels));
  DHPVM_TRY(take_choice(known.list_functions, Listing::kDevice, "dhpvm_engine_options.list_functions",
                        options.list_functions));
  DHPVM_TRY(take_remote(known, options.remote));
  DHPVM_TRY(take_rights(known.rights, options.rights));
  return options;
}

Result<CompileOptions> compile_options(const dhpvm_compile_options* given) {
  dhpvm_compile_options known{};
  dhpvm_compile_options_init(&known, sizeof known);
  DHPVM_TRY(
      take_structure(given, known, "dhpvm_compile_options", {offsetof(dhpvm_compile_options, host_objects)}));
  CompileOptions options;
  options.file_name = text_or_empty(known.file_name);
  options.host_objects = known.host_objects != 0;
  DHPVM_TRY(take_texts(known.import_paths, known.import_path_count, "dhpvm_compile_options.import_paths",
                       options.import_paths));
  return options;
}

Result<IsolateOptions> isolate_options(const dhpvm_isolate_options* given) {
  dhpvm_isolate_options known{};
  dhpvm_isolate_options_init(&known, sizeof known);
  DHPVM_TRY(take_structure(given, known, "dhpvm_isolate_options", {offsetof(dhpvm_isolate_options, rights)}));
  IsolateOptions options;
  take_limits(known, options.limits);
  take_streams(known.streams, options);
  options.jit_threshold = known.jit_threshold;
  options.jit_wait = known.jit_wait != 0;
  options.device = text_or_empty(known.device);
  options.require_device = known.require_device != 0;
  options.policy_factor = known.policy_factor;
  options.batch = known.batch;
  options.device_observer = observer_of(known.device_observer, known.observer_user);
  options.check_races = known.check_races != 0;
  options.gc_stress = known.gc_stress;
  options.gc_verify = known.gc_verify != 0;
  DHPVM_TRY(take_choice(known.jit, Jit::kBaseline, "dhpvm_isolate_options.jit", options.jit));
  DHPVM_TRY(take_choice(known.policy, Policy::kRemote, "dhpvm_isolate_options.policy", options.policy));
  DHPVM_TRY(take_choice(known.batching, Batching::kSerialPageable, "dhpvm_isolate_options.batching",
                        options.batching));
  DHPVM_TRY(take_rights(known.rights, options.rights));
  return options;
}

Result<WorkerOptions> worker_options(const dhpvm_worker_options* given) {
  dhpvm_worker_options known{};
  dhpvm_worker_options_init(&known, sizeof known);
  DHPVM_TRY(take_structure(
      given, known, "dhpvm_worker_options",
      {offsetof(dhpvm_worker_options, total_memory_bytes), offsetof(dhpvm_worker_options, metrics)}));
  WorkerOptions options;
  DHPVM_TRY(take_texts(known.devices, known.device_count, "dhpvm_worker_options.devices", options.devices));
  DHPVM_TRY(take_texts(known.listen, known.listen_count, "dhpvm_worker_options.listen", options.listen));
  DHPVM_TRY(take_texts(known.clients, known.client_count, "dhpvm_worker_options.clients", options.clients));
  options.patience = duration_cast<milliseconds>(nanoseconds(known.patience_ns));
  options.silence = duration_cast<milliseconds>(nanoseconds(known.silence_ns));
  options.time = duration_cast<milliseconds>(nanoseconds(known.time_ns));
  options.memory_bytes = known.memory_bytes;
  options.code_bytes = known.code_bytes;
  options.provider = text_or_empty(known.provider);
  options.sessions = known.sessions;
  options.waiting = known.waiting;
  options.total_memory_bytes = known.total_memory_bytes;
  options.idle = duration_cast<milliseconds>(nanoseconds(known.idle_ns));
  options.clients_file = text_or_empty(known.clients_file);
  options.metrics = text_or_empty(known.metrics);
  if (known.log != nullptr) {
    options.log = [log = known.log, user = known.log_user](const WorkerLogEntry& entry) {
      log(user, entry.to_line().c_str());
    };
  }
  DHPVM_TRY(take_security(known.security, options.security));
  return options;
}

}  // namespace dhpvm::c

namespace {

// Writes as many bytes as the caller's structure has: that of an older header is shorter; that of a newer one ends with
// members that are set to zero.
template <typename Structure>
void give_structure(Structure known, Structure* options, std::size_t size) {
  if (options == nullptr || size < sizeof known.size) return;
  known.size = size;
  std::memset(static_cast<void*>(options), 0, size);
  std::memcpy(static_cast<void*>(options), &known, std::min(size, sizeof known));
}

constexpr std::int64_t in_ns(std::chrono::nanoseconds time) { return time.count(); }

}  // namespace

void dhpvm_engine_options_init(dhpvm_engine_options* options, size_t size) {
  const dhpvm::EngineOptions defaults;
  dhpvm_engine_options known{};
  known.system_access = defaults.system_access ? 1 : 0;
  known.code_cache = defaults.code_cache ? 1 : 0;
  known.code_cache_limit = defaults.code_cache_limit;
  known.processor = "native";
  known.list_language = "opencl";
  known.remote_write_back = defaults.remote.write_back ? 1 : 0;
  known.arrival_ns = in_ns(defaults.remote.arrival);
  known.silence_ns = in_ns(defaults.remote.silence);
  known.security.seal = DHPVM_SEAL_FULL;
  give_structure(known, options, size);
}

void dhpvm_compile_options_init(dhpvm_compile_options* options, size_t size) {
  dhpvm_compile_options known{};
  known.file_name = "program.dhp";
  give_structure(known, options, size);
}

void dhpvm_isolate_options_init(dhpvm_isolate_options* options, size_t size) {
  const dhpvm::IsolateOptions defaults;
  dhpvm_isolate_options known{};
  known.heap_bytes = defaults.limits.heap_bytes;
  known.off_heap_bytes = defaults.limits.off_heap_bytes;
  known.device_bytes = defaults.limits.device_bytes;
  known.stack_bytes = defaults.limits.stack_bytes;
  known.fuel = defaults.limits.fuel;
  known.deadline_ns = in_ns(defaults.limits.deadline);
  known.device = "auto";
  known.policy_factor = defaults.policy_factor;
  known.jit_threshold = defaults.jit_threshold;
  known.jit = DHPVM_JIT_ON;
  give_structure(known, options, size);
}

void dhpvm_worker_options_init(dhpvm_worker_options* options, size_t size) {
  const dhpvm::WorkerOptions defaults;
  dhpvm_worker_options known{};
  known.patience_ns = in_ns(defaults.patience);
  known.silence_ns = in_ns(defaults.silence);
  known.memory_bytes = defaults.memory_bytes;
  known.code_bytes = defaults.code_bytes;
  known.security.seal = DHPVM_SEAL_FULL;
  known.sessions = defaults.sessions;
  known.waiting = defaults.waiting;
  known.total_memory_bytes = defaults.total_memory_bytes;
  known.idle_ns = in_ns(defaults.idle);
  give_structure(known, options, size);
}
