// SPDX-License-Identifier: Apache-2.0
// Engines, modules and isolates, held by what Python holds of them.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "dhpvm/c.h"

namespace dhpvm::python {

// Counts the forks that led to this process. Threads of engines do not survive a fork: what was made before it cannot
// be used in the child, nor freed there.
class ForkCount {
 public:
  ForkCount() : made_(current()) {}
  bool is_current() const { return made_ == current(); }
  // Called once, when the package is imported.
  static void watch();

 private:
  static unsigned current();
  unsigned made_;
};

// Freeing the last handle waits for threads of the engine, which may wait for the interpreter lock to tell Python
// something.
struct EngineDeleter {
  ForkCount forks;
  void operator()(dhpvm_engine* engine) const;
};
struct ModuleDeleter {
  ForkCount forks;
  void operator()(dhpvm_module* module) const;
};
struct WorkerDeleter {
  ForkCount forks;
  void operator()(dhpvm_worker* worker) const;
};
using EngineHandle = std::shared_ptr<dhpvm_engine>;
using WorkerHandle = std::unique_ptr<dhpvm_worker, WorkerDeleter>;
using ModuleHandle = std::shared_ptr<dhpvm_module>;

// An isolate, which one thread uses at a time: a user of it or of one of its handles holds the lock.
class Machine {
 public:
  explicit Machine(dhpvm_isolate* isolate) : isolate_(isolate) {}
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  dhpvm_isolate* isolate() const { return isolate_; }
  // Waits without the interpreter lock, so that the thread that runs the isolate can call Python meanwhile. A host
  // function may call functions of the isolate that called it.
  // Throws an exception of Python in a process that was forked off since, and in a listener of progress that is told of
  // a loop of this isolate.
  std::unique_lock<std::recursive_mutex> lock();
  bool is_usable() const { return forks_.is_current(); }
  // Frees the object when no other thread uses the isolate: at once, or at the next lock().
  void drop(dhpvm_object* object);

  // Whether a SIGINT, or an exception of a listener, came so late that the next call is interrupted in its place.
  bool has_stale_interrupt = false;
  // Whether a listener is told of a loop that runs, on the thread that has the lock.
  bool is_telling = false;
  // As follow_progress has set it up; 0: nobody has listened yet.
  unsigned progress_version = 0;

 private:
  void free_dropped();

  ForkCount forks_;
  dhpvm_isolate* isolate_;
  std::recursive_mutex running_;
  std::mutex dropping_;
  std::vector<dhpvm_object*> dropped_;
};

// Options come as dictionaries, whose names python/dhpvm/options.py checks.
EngineHandle new_engine(const nanobind::dict& options);
WorkerHandle new_worker(const EngineHandle& engine, const nanobind::dict& options);
std::shared_ptr<Machine> new_machine(const ModuleHandle& module, const nanobind::dict& options);

// Adds Engine, Module, Isolate and Worker.
void bind_machine(nanobind::module_& module);

}  // namespace dhpvm::python
