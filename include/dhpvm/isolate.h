// SPDX-License-Identifier: Apache-2.0
// A program that runs: one module with a heap of its own, limits and console.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dhpvm/export.h"
#include "dhpvm/function.h"
#include "dhpvm/limits.h"
#include "dhpvm/module.h"
#include "dhpvm/object.h"
#include "dhpvm/result.h"
#include "dhpvm/stats.h"
#include "dhpvm/value.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

// A stack of calls, outermost first, and the time that was spent in it. The line of a frame is that of its call, and of
// the innermost frame the line that ran; `file` is empty where it is unknown. Time spent on something else has an
// innermost frame in brackets: "[garbage collection]", "[parallel loop on the cores]", "[native io.read_text]". The
// outermost frame is "[callers left out]" if there were more than 200.
struct ProfileStack {
  std::vector<StackFrame> frames;
  std::chrono::nanoseconds time{0};
};

// How often a line of the source was run.
struct LineCount {
  std::string file;
  std::uint32_t line = 0;
  std::uint64_t count = 0;
};

// How far a long parallel loop has come.
struct Progress {
  std::string_view loop;    // where it is in the source: "blur.dhp:12"
  std::uint64_t done = 0;   // iterations, also those that a device has been given
  std::uint64_t total = 0;  // more than 0
  std::chrono::nanoseconds elapsed{0};
  bool has_ended = false;  // well, or with a trap
};
// Called on the thread that runs the isolate. Must neither throw nor call into the isolate, and delays the loop.
using ProgressFunction = std::function<void(const Progress&)>;

// Used by one thread at a time: the application may move it between threads, with synchronisation of its own,
// but not use it or its functions and objects from two at once; interrupt() is the exception. A call of a function
// while another thread is in one is kInvalidArgument. Isolates share nothing that changes, so any number of them run
// in parallel.
//
// A handle that can be moved, not copied. Functions and objects of the isolate keep it in existence when the
// handle is gone.
class DHPVM_API Isolate {
 public:
  // A fresh heap for `module`; costs some tens of microseconds. The first isolate of a module binds it to
  // the host functions that are defined then. kLink if one that the module needs is missing, or has
  // another signature: the message names it and shows both signatures. kOutOfMemory if the system grants
  // no address space.
  static Result<Isolate> create(const Module& module, const IsolateOptions& options = {});

  // Finds an exported function and checks once that Signature fits, as dhpvm/types.h says:
  //   auto dot = isolate.function<double(std::span<const double>, std::span<const double>)>("dot");
  // kNotFound, with the nearest name; kInvalidArgument with both signatures.
  template <CallSignature Signature>
  Result<Function<Signature>> function(std::string_view name) const {
    auto target = find(name, Function<Signature>::signature());
    if (!target.ok()) return std::move(target).error();
    return Function<Signature>(std::move(target).value());
  }

  // Calls an exported function with values whose types are known at run time only, as Object::call does with a method.
  // Looks the function up each time, and costs some hundred nanoseconds: `call("scale", {image, 0.5})`. A result `T!`
  // is the T or, as kUserTrap with the places where it was made and passed on, the error that the function gives.
  Result<std::vector<Value>> call(std::string_view name, std::span<const Value> arguments) const;
  Result<std::vector<Value>> call(std::string_view name, std::initializer_list<Value> arguments = {}) const {
    return call(name, std::span(arguments.begin(), arguments.size()));
  }
  // Returns the only result, converted as Value::as does it: `call<double>("area", {2, 3.5})`. With void, there must be
  // no result.
  template <typename T>
  Result<T> call(std::string_view name, std::initializer_list<Value> arguments = {}) const {
    return detail::only_result<T>(call(name, arguments));
  }

  // A new object of a class, made as the program makes it: `make("Node", {7, "leaf"})` is `Node(7, "leaf")` there, with
  // all arguments that it can have, and `make("List<f64>", {0})` an empty list. For modules that were compiled with
  // CompileOptions::host_objects; where the types are known, it is the function `new Node`, as any other. kNotFound if
  // there is no such constructor, and the errors of `call`.
  Result<Object> make(std::string_view type, std::span<const Value> arguments) const;
  Result<Object> make(std::string_view type, std::initializer_list<Value> arguments = {}) const {
    return make(type, std::span(arguments.begin(), arguments.size()));
  }

  // Runs the module's main function with `arguments` (without the program's name) and returns its result, or
  // the code given to os.exit: the exit code for a process. Output is flushed. kNotFound without a main
  // function; the trap if it trapped.
  Result<int> run_main(std::span<const std::string> arguments = {});

  // Runs one of Module::tests(). Fails with the test's trap, or, if the test gives an error, with kUserTrap: the
  // error's text, and as frames the places where it was made and passed on. os.exit is an error as well. kNotFound and
  // kInvalidArgument if there is no such test. Output is flushed.
  Status run_test(std::string_view name);

  // Goes on with a newer module, with an empty heap. From the next call on, functions that were found by `function` run
  // the functions of the same name in the newer module; calls that are under way, from which a host function may have
  // called this, end in the old code. Objects, and their methods and closures, stay in the old module's heap, which
  // lives as long as they do. Fuel goes on, options and deadline stay. kNotFound or kInvalidArgument, with both
  // signatures, if the newer module lacks such a function or has another signature for it, and the errors of `create`:
  // the isolate then stays as it is. Not while other threads call interrupt().
  Status reload(const Module& module);

  // Makes the running call trap with kInterrupted soon, unless it ends first; without one, the next call. The only
  // function that other threads, and signal handlers, may call at any time while the isolate exists.
  void interrupt() const;

  // Fuel is counted over the life of the isolate: a host that runs a program in slices refills it here. Host functions
  // may call these while the program runs.
  std::uint64_t fuel_left() const;
  void set_fuel(std::uint64_t fuel);
  // Applies to calls that start from now on; Limits::kNoDeadline: no deadline.
  void set_deadline(std::chrono::nanoseconds deadline);

  // From now on, `function` is called for parallel loops that take longer than `interval`: at most once an interval,
  // and once at their end. With an empty function, the default, nothing is called, at no cost. There are no calls for
  // loops that are interpreted to their end (Jit::kOff, fuel, check_races, count_lines), nor for those that devices run
  // together with later ones. Call this only between calls of the program.
  void set_progress(ProgressFunction function,
                    std::chrono::nanoseconds interval = std::chrono::milliseconds(100));

  // Input and host functions that wait call this a few times a second, with the time that they have waited so far. It
  // gives back memory that a waiting program does not need. kInterrupted or kDeadline if the program has to stop: the
  // function should return this error. A function that never calls rest() delays the stop.
  Status rest(std::chrono::nanoseconds waited) const;

  // A new array in the program's memory, zeroed, to be filled through Object::elements and passed as often as
  // wanted without a copy. One size per dimension, up to three. kOutOfMemory or kOffHeapExhausted at the
  // limit; kInvalidArgument if no function of the module deals with such arrays.
  template <Primitive T>
  Result<Object> make_array(std::span<const std::int64_t> sizes) {
    return make_array_of(detail::kind_of<T>(), sizes);
  }
  template <Primitive T>
  Result<Object> make_array(std::initializer_list<std::int64_t> sizes) {
    return make_array<T>(std::span(sizes.begin(), sizes.size()));
  }
  // A new str.
  Result<Object> make_text(std::string_view text);

  // Runs a full collection now: for a host that knows when a pause does no harm.
  void collect();
  Statistics statistics() const;
  // Explains to the author of the program how each parallel loop has run so far, and why it ran no faster.
  std::string explain_loops() const;
  // How often each line was run so far, in the order of the module's functions. Only lines that have code are listed; a
  // line is listed once for each function that has code of it. Empty unless IsolateOptions::count_lines is set, and for
  // a module without lines (`strip`). A function that nothing in the module refers to has no code.
  std::vector<LineCount> line_counts() const;
  // Where the time of calls from the host went so far, by samples of the stack, 500 a second. Empty unless
  // EngineOptions::profile is set.
  std::vector<ProfileStack> profile() const;
  // The devices on which loops have run so far.
  std::vector<DeviceUse> devices() const;

  // For the library's own use.
  const std::shared_ptr<detail::IsolateState>& state() const { return state_; }

 private:
  explicit Isolate(std::shared_ptr<detail::IsolateState> state) : state_(std::move(state)) {}
  Result<std::shared_ptr<const detail::Target>> find(std::string_view name,
                                                     const detail::HostSignature& signature) const;
  Result<Object> make_array_of(detail::Kind kind, std::span<const std::int64_t> sizes);

  std::shared_ptr<detail::IsolateState> state_;
};

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
