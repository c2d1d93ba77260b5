// SPDX-License-Identifier: Apache-2.0
// Engines, modules and workers in C.
#include <chrono>
#include <span>

#include "vm/api/c/options.h"
#include "vm/native.h"

namespace {

using dhpvm::ErrorCode;
using dhpvm::Status;
using dhpvm::c::check_pointer;
using dhpvm::c::guarded;

dhpvm_device device_of(const dhpvm::DeviceEntry& entry) {
  dhpvm_device device{};
  device.size = sizeof device;
  device.name = entry.name.c_str();
  device.description = entry.description.c_str();
  device.problem = entry.problem.c_str();
  return device;
}

dhpvm_worker_use use_of(const dhpvm::WorkerUse& worker) {
  return {sizeof(dhpvm_worker_use), worker.name.c_str(),   worker.host.c_str(),
          worker.state.c_str(),     worker.seal.c_str(),   worker.jobs,
          worker.bytes_sent,        worker.bytes_received, worker.round_trip.count()};
}

Status give_module(dhpvm::Result<dhpvm::Module> made, dhpvm_module** module) {
  if (!made.ok()) return std::move(made).error();
  return dhpvm::c::give(std::make_unique<dhpvm::Module>(std::move(made).value()), module);
}

}  // namespace

dhpvm_code dhpvm_engine_new(const dhpvm_engine_options* options, dhpvm_engine** engine, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_TRY(check_pointer(engine, "engine"));
    DHPVM_ASSIGN(dhpvm::EngineOptions wanted, dhpvm::c::engine_options(options));
    return dhpvm::c::give(std::make_unique<dhpvm::Engine>(std::move(wanted)), engine);
  });
}

void dhpvm_engine_free(dhpvm_engine* engine) {
  (void)guarded(nullptr, [&]() -> Status {
    (void)dhpvm::c::take_back(engine);
    return {};
  });
}

dhpvm_code dhpvm_engine_devices(const dhpvm_engine* engine, dhpvm_device_visitor visit, void* user,
                                dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, engine);
    DHPVM_TRY(check_pointer(visit, "visit"));
    for (const dhpvm::DeviceEntry& entry : found->devices()) {
      const dhpvm_device device = device_of(entry);
      visit(user, &device);
    }
    return {};
  });
}

dhpvm_code dhpvm_engine_workers(const dhpvm_engine* engine, dhpvm_worker_visitor visit, void* user,
                                dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, engine);
    DHPVM_TRY(check_pointer(visit, "visit"));
    for (const dhpvm::WorkerUse& worker : found->workers()) {
      const dhpvm_worker_use use = use_of(worker);
      visit(user, &use);
    }
    return {};
  });
}

dhpvm_code dhpvm_engine_leftovers(const dhpvm_engine* engine, dhpvm_leftovers* leftovers,
                                  dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, engine);
    const dhpvm::Leftovers left = found->leftovers();
    return dhpvm::c::fill_structure(
        leftovers, dhpvm_leftovers{0, left.buffer_bytes, left.device_bytes, left.registrations},
        "dhpvm_leftovers");
  });
}

dhpvm_code dhpvm_engine_write_trace(const dhpvm_engine* engine, const char* path, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, engine);
    DHPVM_TRY(check_pointer(path, "path"));
    return found->write_trace(path);
  });
}

dhpvm_code dhpvm_engine_settle(const dhpvm_engine* engine, int64_t patience_ns, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, engine);
    if (found->settle(std::chrono::nanoseconds(patience_ns))) return {};
    return dhpvm::Error(ErrorCode::kDeadline, "a compilation still runs; the end of the engine waits for it");
  });
}

dhpvm_code dhpvm_module_compile(dhpvm_engine* engine, const char* source, size_t size,
                                const dhpvm_compile_options* options, dhpvm_module** module,
                                dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, engine);
    DHPVM_TRY(check_pointer(source, "source"));
    DHPVM_TRY(check_pointer(module, "module"));
    DHPVM_ASSIGN(const dhpvm::CompileOptions wanted, dhpvm::c::compile_options(options));
    return give_module(dhpvm::Module::compile(*found, {source, size}, wanted), module);
  });
}

dhpvm_code dhpvm_module_load(dhpvm_engine* engine, const void* bytes, size_t size, dhpvm_module** module,
                             dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, engine);
    DHPVM_TRY(check_pointer(bytes, "bytes"));
    DHPVM_TRY(check_pointer(module, "module"));
    return give_module(dhpvm::Module::load(*found, {static_cast<const std::byte*>(bytes), size}), module);
  });
}

dhpvm_code dhpvm_module_open(dhpvm_engine* engine, const char* path, const dhpvm_compile_options* options,
                             dhpvm_module** module, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, engine);
    DHPVM_TRY(check_pointer(path, "path"));
    DHPVM_TRY(check_pointer(module, "module"));
    DHPVM_ASSIGN(dhpvm::CompileOptions wanted, dhpvm::c::compile_options(options));
    return give_module(dhpvm::Module::open(*found, path, std::move(wanted)), module);
  });
}

dhpvm_code dhpvm_module_bytes(const dhpvm_module* module, dhpvm_bytes* bytes, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, module);
    const std::vector<std::byte> content = found->bytes();
    return dhpvm::c::give_bytes({reinterpret_cast<const char*>(content.data()), content.size()}, bytes);
  });
}

dhpvm_code dhpvm_module_exports(const dhpvm_module* module, dhpvm_export_visitor visit, void* user,
                                dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, module);
    DHPVM_TRY(check_pointer(visit, "visit"));
    const auto program = found->state()->module;
    for (const dhpvm::bytecode::Function& function : program->functions) {
      if (!function.exported) continue;
      visit(user, std::string(program->name_of(function)).c_str(),
            dhpvm::vm::signature_text(*program, function.signature).c_str());
    }
    return {};
  });
}

int dhpvm_module_has_main(const dhpvm_module* module) {
  const auto* const found = dhpvm::c::find(module);
  return found != nullptr && found->has_main() ? 1 : 0;
}

void dhpvm_module_free(dhpvm_module* module) {
  (void)guarded(nullptr, [&]() -> Status {
    (void)dhpvm::c::take_back(module);
    return {};
  });
}

// ---- Workers.

dhpvm_code dhpvm_make_key_file(const char* path, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_TRY(check_pointer(path, "path"));
    return dhpvm::make_key_file(path);
  });
}

dhpvm_code dhpvm_worker_start(dhpvm_engine* engine, const dhpvm_worker_options* options,
                              dhpvm_worker** worker, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, engine);
    DHPVM_TRY(check_pointer(worker, "worker"));
    DHPVM_ASSIGN(dhpvm::WorkerOptions wanted, dhpvm::c::worker_options(options));
    DHPVM_ASSIGN(dhpvm::Worker started, dhpvm::Worker::start(*found, std::move(wanted)));
    return dhpvm::c::give(std::make_unique<dhpvm::Worker>(std::move(started)), worker);
  });
}

dhpvm_code dhpvm_worker_addresses(const dhpvm_worker* worker, dhpvm_bytes* text, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, worker);
    std::string lines;
    for (const std::string& address : found->addresses()) lines += address + "\n";
    return dhpvm::c::give_bytes(lines, text);
  });
}

dhpvm_code dhpvm_worker_metrics(const dhpvm_worker* worker, dhpvm_bytes* address, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, worker);
    return dhpvm::c::give_bytes(found->metrics_address(), address);
  });
}

dhpvm_code dhpvm_worker_reload_clients(dhpvm_worker* worker, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, worker);
    return found->reload_clients();
  });
}

int dhpvm_worker_is_needed(const dhpvm_worker* worker) {
  return dhpvm::c::guarded_value(0, [&] {
    const auto* const found = dhpvm::c::find(worker);
    return found != nullptr && found->is_needed() ? 1 : 0;
  });
}

dhpvm_code dhpvm_worker_drain(dhpvm_worker* worker, int64_t patience_ns, dhpvm_error** error) {
  return guarded(error, [&]() -> Status {
    DHPVM_FIND(found, worker);
    if (found->drain(
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::nanoseconds(patience_ns))))
      return {};
    return dhpvm::Error(ErrorCode::kDeadline, "sessions still run; freeing the worker ends them");
  });
}

void dhpvm_worker_free(dhpvm_worker* worker) {
  (void)guarded(nullptr, [&]() -> Status {
    (void)dhpvm::c::take_back(worker);
    return {};
  });
}
