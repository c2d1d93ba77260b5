// SPDX-License-Identifier: Apache-2.0
// Options of engines and isolates from dictionaries, and the streams of programs.
#include <nanobind/stl/string.h>

#include <functional>
#include <string_view>
#include <typeinfo>

#include "python/core/errors.h"
#include "python/core/machine.h"

namespace nb = nanobind;

namespace dhpvm::python {
namespace {

// Holds the texts that options point to until the library has copied them.
struct Keeper {
  std::vector<std::string> texts;

  explicit Keeper(std::size_t count) { texts.reserve(count); }
  const char* keep(nb::handle text) { return texts.emplace_back(nb::cast<std::string>(text)).c_str(); }
};

// The streams of the process as Python sees them: notebooks and tests replace sys.stdout.
dhpvm_code write_stream(const char* stream, const char* text, std::size_t size) {
  if (Py_IsInitialized() == 0) return DHPVM_OK;
  const nb::gil_scoped_acquire lock;
  try {
    nb::module_::import_("sys").attr(stream).attr("write")(
        nb::bytes(text, size).attr("decode")("utf-8", "replace"));
    return DHPVM_OK;
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("the output of a program");
    return DHPVM_IO;
  }
}
dhpvm_code write_output(void* /*user*/, const char* text, std::size_t size) {
  return write_stream("stdout", text, size);
}
dhpvm_code write_error(void* /*user*/, const char* text, std::size_t size) {
  return write_stream("stderr", text, size);
}

void log_to(const char* logger, const char* level, std::string_view text) {
  if (Py_IsInitialized() == 0) return;
  const nb::gil_scoped_acquire lock;
  try {
    nb::module_::import_("logging").attr("getLogger")(logger).attr(level)("%s",
                                                                          nb::str(text.data(), text.size()));
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("a message of dhpvm");
  }
}
void write_log(void* /*user*/, std::uint32_t kind, const char* text, std::size_t size) {
  if (kind == DHPVM_LOG_WARNING) {
    log_to("dhpvm", "warning", {text, size});
  } else {
    log_to("dhpvm.listing", "info", {text, size});
  }
}
void write_worker_log(void* /*user*/, const char* line) { log_to("dhpvm.worker", "info", line); }

using Setter = std::function<void(nb::handle value)>;
struct Member {
  const char* name;
  Setter set;
};

template <typename T>
Setter number(T& member) {
  return [&member](nb::handle value) { member = nb::cast<T>(value); };
}
Setter flag(std::uint8_t& member) {
  return [&member](nb::handle value) { member = nb::cast<bool>(value) ? 1 : 0; };
}
// A list of texts; `addresses` outlives the options.
Setter texts(Keeper& keeper, std::vector<const char*>& addresses, const char* const*& member,
             std::size_t& count) {
  return [&](nb::handle values) {
    for (const nb::handle value : values) addresses.push_back(keeper.keep(value));
    member = addresses.data();
    count = addresses.size();
  };
}
Setter text(Keeper& keeper, const char*& member) {
  return [&keeper, &member](nb::handle value) { member = keeper.keep(value); };
}

void set_all(const nb::dict& options, std::initializer_list<Member> members) {
  for (const auto& [key, value] : options) {
    const std::string name = nb::cast<std::string>(key);
    const Member* found = nullptr;
    for (const Member& member : members) {
      if (name == member.name) found = &member;
    }
    if (found == nullptr) throw nb::key_error(name.c_str());
    try {
      found->set(value);
    } catch (const std::bad_cast&) {
      throw nb::type_error(("the option '" + name + "' cannot be " + nb::repr(value).c_str()).c_str());
    }
  }
}

// Rights as dhpvm/options.py gives them: folders to read, folders to write, environment, run.
struct GivenRights {
  dhpvm_rights rights{};
  std::vector<std::string> texts;
  std::vector<const char*> folders;

  Setter setter(const dhpvm_rights*& member) {
    return [this, &member](nb::handle value) {
      const nb::tuple parts = nb::cast<nb::tuple>(value);
      for (int i = 0; i < 2; ++i) {
        for (const nb::handle folder : parts[i]) texts.push_back(nb::cast<std::string>(folder));
      }
      for (const std::string& text : texts) folders.push_back(text.c_str());
      const std::size_t read_count = nb::len(nb::object(parts[0]));
      rights.size = sizeof rights;
      rights.read = folders.data();
      rights.read_count = read_count;
      rights.write = folders.data() + read_count;
      rights.write_count = folders.size() - read_count;
      rights.environment = nb::cast<bool>(parts[2]) ? 1 : 0;
      rights.run = nb::cast<bool>(parts[3]) ? 1 : 0;
      member = &rights;
    };
  }
};

}  // namespace

EngineHandle new_engine(const nb::dict& options) {
  dhpvm_engine_options given;
  dhpvm_engine_options_init(&given, sizeof given);
  given.streams.standard_output = &write_output;
  given.streams.standard_error = &write_error;
  given.log = &write_log;
  const std::size_t count = options.contains("workers") ? nb::len(nb::object(options["workers"])) : 0;
  Keeper keeper(count + options.size());
  std::vector<const char*> workers;
  GivenRights rights;
  set_all(options, {{"threads", number(given.threads)},
                    {"system_access", flag(given.system_access)},
                    {"code_cache", flag(given.code_cache)},
                    {"code_cache_directory", text(keeper, given.code_cache_directory)},
                    {"trace", flag(given.trace)},
                    {"list_kernels", number(given.list_kernels)},
                    {"list_language", text(keeper, given.list_language)},
                    {"workers", texts(keeper, workers, given.workers, given.worker_count)},
                    {"listen", text(keeper, given.listen)},
                    {"arrival_ns", number(given.arrival_ns)},
                    {"silence_ns", number(given.silence_ns)},
                    {"provider", text(keeper, given.provider)},
                    {"key", text(keeper, given.security.key_file)},
                    {"certificate", text(keeper, given.security.certificate_file)},
                    {"private_key", text(keeper, given.security.private_key_file)},
                    {"authority", text(keeper, given.security.authority_file)},
                    {"seal", number(given.security.seal)},
                    {"rights", rights.setter(given.rights)}});
  dhpvm_engine* engine = nullptr;
  Failure failure;
  failure.check(dhpvm_engine_new(&given, &engine, failure.out()));
  return {engine, EngineDeleter()};
}

WorkerHandle new_worker(const EngineHandle& engine, const nb::dict& options) {
  dhpvm_worker_options given;
  dhpvm_worker_options_init(&given, sizeof given);
  given.log = &write_worker_log;
  std::size_t count = options.size();
  for (const char* const name : {"devices", "listen", "clients"}) {
    if (options.contains(name)) count += nb::len(nb::object(options[name]));
  }
  Keeper keeper(count);
  std::vector<const char*> devices;
  std::vector<const char*> listen;
  std::vector<const char*> clients;
  set_all(options, {{"devices", texts(keeper, devices, given.devices, given.device_count)},
                    {"listen", texts(keeper, listen, given.listen, given.listen_count)},
                    {"clients", texts(keeper, clients, given.clients, given.client_count)},
                    {"patience_ns", number(given.patience_ns)},
                    {"silence_ns", number(given.silence_ns)},
                    {"time_ns", number(given.time_ns)},
                    {"idle_ns", number(given.idle_ns)},
                    {"memory", number(given.memory_bytes)},
                    {"sessions", number(given.sessions)},
                    {"provider", text(keeper, given.provider)},
                    {"key", text(keeper, given.security.key_file)},
                    {"certificate", text(keeper, given.security.certificate_file)},
                    {"private_key", text(keeper, given.security.private_key_file)},
                    {"authority", text(keeper, given.security.authority_file)},
                    {"seal", number(given.security.seal)}});
  dhpvm_worker* worker = nullptr;
  Failure failure;
  dhpvm_code code = DHPVM_OK;
  {
    const nb::gil_scoped_release release;
    code = dhpvm_worker_start(engine.get(), &given, &worker, failure.out());
  }
  failure.check(code);
  return {worker, WorkerDeleter()};
}

std::shared_ptr<Machine> new_machine(const ModuleHandle& module, const nb::dict& options) {
  dhpvm_isolate_options given;
  dhpvm_isolate_options_init(&given, sizeof given);
  Keeper keeper(options.size());
  GivenRights rights;
  set_all(options, {{"heap", number(given.heap_bytes)},
                    {"off_heap", number(given.off_heap_bytes)},
                    {"device_memory", number(given.device_bytes)},
                    {"stack", number(given.stack_bytes)},
                    {"fuel", number(given.fuel)},
                    {"deadline_ns", number(given.deadline_ns)},
                    {"device", text(keeper, given.device)},
                    {"require_device", flag(given.require_device)},
                    {"jit", number(given.jit)},
                    {"jit_threshold", number(given.jit_threshold)},
                    {"jit_wait", flag(given.jit_wait)},
                    {"check_races", flag(given.check_races)},
                    {"policy", number(given.policy)},
                    {"batch", number(given.batch)},
                    {"rights", rights.setter(given.rights)}});
  dhpvm_isolate* isolate = nullptr;
  Failure failure;
  dhpvm_code code = DHPVM_OK;
  {
    // It may wait for workers, and one in this process has something to log.
    const nb::gil_scoped_release release;
    code = dhpvm_isolate_new(module.get(), &given, &isolate, failure.out());
  }
  failure.check(code);
  return std::make_shared<Machine>(isolate);
}

}  // namespace dhpvm::python
