// SPDX-License-Identifier: Apache-2.0
#include "python/core/machine.h"

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <pthread.h>

#include <utility>

#include "python/core/callbacks.h"
#include "python/core/errors.h"
#include "python/core/interrupt.h"
#include "python/core/progress.h"
#include "python/core/stable.h"

namespace nb = nanobind;

namespace dhpvm::python {
namespace {

unsigned forks = 0;

struct Engine {
  EngineHandle handle;
};
struct Program {
  ModuleHandle handle;
};

// Lends devices of this machine; null after close.
struct Worker {
  WorkerHandle handle;

  nb::str addresses() const {
    dhpvm_bytes text{};
    Failure failure;
    failure.check(dhpvm_worker_addresses(handle.get(), &text, failure.out()));
    nb::str result(text.data, text.size);
    dhpvm_bytes_free(&text);
    return result;
  }
  bool is_needed() const { return dhpvm_worker_is_needed(handle.get()) != 0; }
  void drain(std::int64_t patience_ns) const {
    Failure failure;
    dhpvm_code code = DHPVM_OK;
    {
      const nb::gil_scoped_release release;
      code = dhpvm_worker_drain(handle.get(), patience_ns, failure.out());
    }
    failure.check(code);
  }
  void close() { handle.reset(); }
};

// Calls `free` without the interpreter lock, if this thread has it.
template <typename F>
void without_lock(F&& free) {
  if (Py_IsInitialized() == 0 || PyGILState_Check() == 0) {
    free();
    return;
  }
  const nb::gil_scoped_release release;
  free();
}

nb::bytes take_bytes(dhpvm_bytes bytes) {
  nb::bytes result(bytes.data, bytes.size);
  dhpvm_bytes_free(&bytes);
  return result;
}
nb::str take_text(dhpvm_bytes bytes) {
  nb::str result(bytes.data, bytes.size);
  dhpvm_bytes_free(&bytes);
  return result;
}

// A visitor of the library adds to the list that it is given.
template <typename... Arguments>
void append(void* list, Arguments... arguments) {
  static_cast<nb::list*>(list)->append(nb::make_tuple(arguments...));
}

void append_device(void* list, const dhpvm_device* device) {
  append(list, device->name, device->description, device->problem);
}

struct CompileOptions {
  dhpvm_compile_options given;
  std::vector<const char*> addresses;

  CompileOptions(const char* file_name, const std::vector<std::string>& import_paths) {
    dhpvm_compile_options_init(&given, sizeof given);
    if (file_name != nullptr) given.file_name = file_name;
    for (const std::string& path : import_paths) addresses.push_back(path.c_str());
    given.import_paths = addresses.data();
    given.import_path_count = addresses.size();
  }
};

// Compiling runs without the interpreter lock.
template <typename F>
Program new_program(F&& compile) {
  dhpvm_module* module = nullptr;
  Failure failure;
  dhpvm_code code = DHPVM_OK;
  {
    const nb::gil_scoped_release release;
    code = compile(&module, failure.out());
  }
  failure.check(code);
  return {{module, ModuleDeleter()}};
}

Program compile(const Engine& engine, const std::string& source, const char* file_name,
                const std::vector<std::string>& import_paths) {
  const CompileOptions options(file_name, import_paths);
  return new_program([&](dhpvm_module** module, dhpvm_error** error) {
    return dhpvm_module_compile(engine.handle.get(), source.data(), source.size(), &options.given, module,
                                error);
  });
}

Program open(const Engine& engine, const std::string& path, const std::vector<std::string>& import_paths) {
  const CompileOptions options(nullptr, import_paths);
  return new_program([&](dhpvm_module** module, dhpvm_error** error) {
    return dhpvm_module_open(engine.handle.get(), path.c_str(), &options.given, module, error);
  });
}

Program load(const Engine& engine, const nb::bytes& bytes) {
  return new_program([&](dhpvm_module** module, dhpvm_error** error) {
    return dhpvm_module_load(engine.handle.get(), bytes.c_str(), bytes.size(), module, error);
  });
}

nb::list exports(const Program& program) {
  nb::list list;
  Failure failure;
  failure.check(dhpvm_module_exports(
      program.handle.get(),
      [](void* user, const char* name, const char* signature) { append(user, name, signature); }, &list,
      failure.out()));
  return list;
}

nb::bytes to_bytes(const Program& program) {
  dhpvm_bytes bytes{};
  Failure failure;
  failure.check(dhpvm_module_bytes(program.handle.get(), &bytes, failure.out()));
  return take_bytes(bytes);
}

nb::list devices(const Engine& engine) {
  nb::list list;
  Failure failure;
  failure.check(dhpvm_engine_devices(engine.handle.get(), &append_device, &list, failure.out()));
  return list;
}

nb::list workers(const Engine& engine) {
  nb::list list;
  Failure failure;
  failure.check(dhpvm_engine_workers(
      engine.handle.get(),
      [](void* user, const dhpvm_worker_use* use) {
        append(user, use->name, use->host, use->state, use->seal, use->jobs, use->bytes_sent,
               use->bytes_received);
      },
      &list, failure.out()));
  return list;
}

void write_trace(const Engine& engine, const std::string& path) {
  Failure failure;
  failure.check(dhpvm_engine_write_trace(engine.handle.get(), path.c_str(), failure.out()));
}

// Waits for the compilation that runs in the background, and drops those that wait.
void settle(const Engine& engine, std::int64_t patience_ns) {
  if (!std::get_deleter<EngineDeleter>(engine.handle)->forks.is_current()) return;
  const nb::gil_scoped_release release;
  (void)dhpvm_engine_settle(engine.handle.get(), patience_ns, nullptr);
}

int run_main(Machine& machine, const std::vector<std::string>& arguments) {
  std::vector<const char*> addresses;
  for (const std::string& argument : arguments) addresses.push_back(argument.c_str());
  Failure failure;
  std::int32_t exit_code = 0;
  dhpvm_code code = DHPVM_OK;
  bool was_interrupted = false;
  {
    const auto lock = machine.lock();
    forget_callback_exception();
    forget_progress_exception();
    follow_progress(machine);
    InterruptScope interrupts(machine.isolate());
    const nb::gil_scoped_release release;
    code = dhpvm_isolate_run_main(machine.isolate(), addresses.data(), addresses.size(), &exit_code,
                                  failure.out());
    was_interrupted = interrupts.leave();
  }
  if (restore_progress_exception()) throw nb::python_error();
  if (was_interrupted && PyErr_CheckSignals() != 0) throw nb::python_error();
  if (code != DHPVM_OK && restore_callback_exception(failure)) throw nb::python_error();
  failure.check(code);
  return exit_code;
}

// Functions that are taken from now on, and those that are there, run the newer program.
void reload(Machine& machine, const Program& program) {
  Failure failure;
  const auto lock = machine.lock();
  failure.check(dhpvm_isolate_reload(machine.isolate(), program.handle.get(), failure.out()));
}

nb::str explain(Machine& machine) {
  dhpvm_bytes bytes{};
  Failure failure;
  const auto lock = machine.lock();
  failure.check(dhpvm_isolate_explain(machine.isolate(), &bytes, failure.out()));
  return take_text(bytes);
}

nb::dict statistics(Machine& machine) {
  nb::dict counters;
  Failure failure;
  const auto lock = machine.lock();
  failure.check(dhpvm_isolate_statistics(
      machine.isolate(),
      [](void* user, const char* name, const char* /*unit*/, const char* /*meaning*/, std::uint64_t value) {
        (*static_cast<nb::dict*>(user))[name] = value;
      },
      &counters, failure.out()));
  return counters;
}

nb::list loop_devices(Machine& machine) {
  nb::list list;
  Failure failure;
  const auto lock = machine.lock();
  failure.check(dhpvm_isolate_devices(machine.isolate(), &append_device, &list, failure.out()));
  return list;
}

std::uint64_t fuel_left(Machine& machine) {
  std::uint64_t fuel = 0;
  Failure failure;
  const auto lock = machine.lock();
  failure.check(dhpvm_isolate_fuel_left(machine.isolate(), &fuel, failure.out()));
  return fuel;
}

void set_fuel(Machine& machine, std::uint64_t fuel) {
  Failure failure;
  const auto lock = machine.lock();
  failure.check(dhpvm_isolate_set_fuel(machine.isolate(), fuel, failure.out()));
}

void set_deadline(Machine& machine, std::int64_t deadline_ns) {
  Failure failure;
  const auto lock = machine.lock();
  failure.check(dhpvm_isolate_set_deadline(machine.isolate(), deadline_ns, failure.out()));
}

}  // namespace

unsigned ForkCount::current() { return forks; }
void ForkCount::watch() {
  (void)pthread_atfork(nullptr, nullptr, [] { ++forks; });
}

void EngineDeleter::operator()(dhpvm_engine* engine) const {
  if (forks.is_current()) without_lock([&] { dhpvm_engine_free(engine); });
}
void WorkerDeleter::operator()(dhpvm_worker* worker) const {
  if (forks.is_current()) without_lock([&] { dhpvm_worker_free(worker); });
}
void ModuleDeleter::operator()(dhpvm_module* module) const {
  if (forks.is_current()) without_lock([&] { dhpvm_module_free(module); });
}

Machine::~Machine() {
  if (!is_usable()) return;
  without_lock([&] {
    free_dropped();
    dhpvm_isolate_free(isolate_);
  });
}

std::unique_lock<std::recursive_mutex> Machine::lock() {
  if (!is_usable()) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "this program was made before the process was forked: make it in this process, or start processes "
        "with the method 'spawn' or 'forkserver'");
    throw nb::python_error();
  }
  std::unique_lock lock(running_, std::try_to_lock);
  if (!lock.owns_lock()) {
    const nb::gil_scoped_release release;
    lock.lock();
  }
  if (is_telling) {
    PyErr_SetString(
        PyExc_RuntimeError,
        "a function for progress cannot use the program whose loop it is told of: call it, or look at its "
        "arrays, when the loop has ended");
    throw nb::python_error();
  }
  free_dropped();
  return lock;
}

void Machine::drop(dhpvm_object* object) {
  if (!is_usable()) return;
  const std::unique_lock lock(running_, std::try_to_lock);
  if (lock.owns_lock()) {
    dhpvm_object_free(object);
    return;
  }
  const std::scoped_lock dropping(dropping_);
  dropped_.push_back(object);
}

void Machine::free_dropped() {
  const std::scoped_lock dropping(dropping_);
  for (dhpvm_object* const object : std::exchange(dropped_, {})) dhpvm_object_free(object);
}

void bind_machine(nb::module_& module) {
  nb::class_<Engine>(module, "Engine")
      .def("__init__",
           [](Engine* place, const nb::dict& options) { new (place) Engine{new_engine(options)}; })
      .def("compile", &compile, nb::arg("source"), nb::arg("file_name"), nb::arg("import_paths"))
      .def("open", &open, nb::arg("path"), nb::arg("import_paths"))
      .def("load", &load)
      .def("devices", &devices)
      .def("workers", &workers)
      .def("write_trace", &write_trace)
      .def("settle", &settle)
      .def("define", [](const Engine& engine, const std::string& name, const std::string& signature,
                        const nb::object& callable, const nb::list& results) {
        define_callback(engine.handle.get(), name, signature, callable, results);
      });
  nb::class_<Program>(module, "Program")
      .def("exports", &exports)
      .def("to_bytes", &to_bytes)
      .def("has_main",
           [](const Program& program) { return dhpvm_module_has_main(program.handle.get()) != 0; })
      .def("isolate", [](const Program& program, const nb::dict& options) {
        return new_machine(program.handle, options);
      });
  nb::class_<Machine>(module, "Isolate")
      .def("run_main", &run_main)
      .def("reload", &reload)
      .def("explain", &explain)
      .def("statistics", &statistics)
      .def("devices", &loop_devices)
      .def("fuel_left", &fuel_left)
      .def("set_fuel", &set_fuel)
      .def("set_deadline", &set_deadline)
      .def("interrupt", [](const Machine& machine) { (void)dhpvm_isolate_interrupt(machine.isolate()); });
  nb::class_<Worker>(module, "Worker")
      .def("__init__",
           [](Worker* place, const Engine& engine, const nb::dict& options) {
             new (place) Worker{new_worker(engine.handle, options)};
           })
      .def("addresses", &Worker::addresses)
      .def("is_needed", &Worker::is_needed)
      .def("drain", &Worker::drain)
      .def("close", &Worker::close);
  module.def("make_key_file", [](const std::string& path) {
    Failure failure;
    failure.check(dhpvm_make_key_file(path.c_str(), failure.out()));
  });
  module.def("version", &dhpvm_version);
}

}  // namespace dhpvm::python
