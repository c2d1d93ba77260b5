// SPDX-License-Identifier: Apache-2.0
// The state behind the handles of the public API.
#pragma once

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/reservation_pool.h"
#include "base/thread_pool.h"
#include "base/trace.h"
#include "bytecode/module.h"
#include "dhpvm/engine.h"
#include "dhpvm/isolate.h"
#include "gc/roots.h"
#include "offload/devices/device_registry.h"
#include "stdlib/native/state.h"
#include "vm/alarm.h"
#include "vm/code_map.h"
#include "vm/compile_service.h"
#include "vm/isolate.h"
#include "vm/linker.h"
#include "vm/native.h"

// A handle of dhpvm/c.h.
struct dhpvm_isolate;

namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail {

struct EngineState {
  EngineOptions options;
  std::unique_ptr<Tracer> tracer;  // null when off
  std::mutex mutex;                // guards natives and host_classes
  vm::NativeRegistry natives;
  // The source of each class, by module and name.
  std::map<std::string, std::map<std::string, std::string>> host_classes;
  std::shared_ptr<const stdlib::Rights> rights;  // null: all
  std::shared_ptr<vm::CompileService> compile_service;
  std::shared_ptr<vm::CodeMap> profiled_code;  // null: no profiles are made
  std::shared_ptr<ThreadPool> thread_pool;
  std::shared_ptr<vm::Alarm> alarm;
  std::shared_ptr<ReservationPool> address_space;
  std::shared_ptr<offload::DeviceRegistry> devices;
  std::atomic<std::uint64_t> left_buffer_bytes{0};  // of isolates that have ended
};

struct ModuleState {
  std::shared_ptr<EngineState> engine;
  std::shared_ptr<const bytecode::Module> module;  // verified
  std::mutex mutex;                                // guards linked
  std::shared_ptr<const vm::LinkedModule> linked;  // after the first isolate was made
};

struct Target;

// The natives of the standard library find their console here: the machine's host data points
// at the NativeState.
struct IsolateState : stdlib::NativeState, std::enable_shared_from_this<IsolateState> {
  IsolateState(std::shared_ptr<ModuleState> from, stdlib::Console streams)
      : NativeState{std::move(streams), {}}, module(std::move(from)) {}

  static IsolateState& of(vm::Isolate& isolate) {
    return static_cast<IsolateState&>(NativeState::of(isolate));
  }

  std::shared_ptr<ModuleState> module;
  std::unique_ptr<vm::Isolate> machine;
  std::atomic<unsigned> depth{0};          // active calls from the host; interrupt() reads it
  std::atomic<const void*> user{nullptr};  // the thread that makes these calls: see this_thread()
  dhpvm_isolate* c_handle = nullptr;       // of the C interface; null: none
  std::chrono::nanoseconds main_time{0};
  IsolateOptions options = {};        // for Isolate::reload
  ProgressFunction on_progress = {};  // likewise
  std::chrono::nanoseconds progress_interval{0};
  std::vector<std::weak_ptr<Target>> targets;  // targets that a reload redirects to the new code
  // The states that this one has replaced, kept as long as calls run in them.
  std::vector<std::shared_ptr<IsolateState>> replaced;
};

struct Target {
  std::shared_ptr<IsolateState> isolate;
  std::uint32_t function;
  std::vector<gc::TypeId> reference_types;  // of the reference parameters, in order, without the receiver
  Object receiver = {};                     // of a method; null: none
};

struct ObjectState {
  ObjectState(std::shared_ptr<IsolateState> owner, gc::Ref object)
      : isolate(std::move(owner)), root(isolate->machine->heap(), object) {}
  static Object wrap(std::shared_ptr<IsolateState> isolate, gc::Ref object);
  // Null for a null object.
  static ObjectState* of(const Object& object) { return object.state_.get(); }

  std::shared_ptr<IsolateState> isolate;  // declared before the root: the heap must outlive it
  gc::Root<gc::Object> root;
};

// Different for each thread that runs.
inline const void* this_thread() { return __builtin_thread_pointer(); }

inline vm::Isolate& machine_of(const Window& window) { return *static_cast<vm::Isolate*>(window.isolate); }

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE::detail
