// SPDX-License-Identifier: Apache-2.0
// The engine: state that all programs of an application share. Start here; dhpvm/dhpvm.h includes everything.
//
//   dhpvm::Engine engine;
//   engine.define("host.log", [](std::string_view text) { std::clog << text << '\n'; });
//   auto module = dhpvm::Module::compile(
//       engine, R"(extern fn log(s: str);  fn twice(x: f64) -> f64 { log("hi"); return 2 * x; })");
//   auto isolate = dhpvm::Isolate::create(*module);
//   auto twice = isolate->function<double(double)>("twice");
//   dhpvm::Result<double> y = (*twice)(21);
//
// (Each of these steps returns a Result or Status, which a real application checks.)
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dhpvm/detail/host_function.h"
#include "dhpvm/device.h"
#include "dhpvm/export.h"
#include "dhpvm/host_class.h"
#include "dhpvm/limits.h"
#include "dhpvm/remote.h"
#include "dhpvm/result.h"
#include "dhpvm/rights.h"
#include "dhpvm/version.h"

namespace dhpvm::inline DHPVM_CPP_NAMESPACE {

// The form in which compiled code is listed. kDevice applies only to parallel loops: the code for a device that takes
// EngineOptions::list_language, whether such a device is present or not.
enum class Listing : std::uint8_t { kNone, kLlvm, kAssembly, kDevice };

struct EngineOptions {
  // Where programs write and read, unless their isolate says otherwise. Empty functions stand for the
  // standard streams of the process. Called from every thread that runs an isolate.
  OutputFunction standard_output = {};
  OutputFunction standard_error = {};
  InputFunction standard_input = {};

  // Receives warnings and listings. Empty: they are dropped; the library writes to no stream of the process by itself.
  LogFunction log = {};

  // Whether programs may use files, folders and the environment through the standard library, and start other
  // programs. Without it, a program that uses such a function is refused when its first isolate is made (kLink);
  // the console, time and everything else stay. Set it to false for untrusted programs.
  bool system_access = true;
  // With system access: only these parts of the system; std::nullopt permits all of it. Asking for anything else is an
  // error that the program can handle (kPermissionDenied), or a trap where the function returns no error.
  std::optional<SystemRights> rights = {};

  // The number of threads that work on a parallel loop, the calling one included; 0 is one for each core.
  unsigned threads = 0;

  // Machine code. Compiled code is kept on disk and used again by every process of this user; the directory is
  // $XDG_CACHE_HOME/dhpvm, or ~/.cache/dhpvm, unless one is given. The limit is in bytes.
  bool code_cache = true;
  std::string code_cache_directory = {};
  std::uint64_t code_cache_limit = std::uint64_t{256} << 20;
  // "native", or a processor that LLVM knows, and features: "x86-64-v3,-fma". Code for it must run here.
  std::string processor = "native";
  // Announce compiled functions to gdb, or to perf.
  bool code_for_debugger = false;
  bool code_for_profiler = false;
  // Send listings of compiled code to `log`.
  Listing list_kernels = Listing::kNone;
  Listing list_functions = Listing::kNone;
  // "opencl", for a device with all that OpenCL knows; "ptx", or "ptx:sm_90" for another GPU. For an unknown language,
  // a warning lists the known ones, and everything is interpreted.
  std::string list_language = "opencl";

  // Workers whose devices programs may use.
  RemoteOptions remote = {};

  // Take samples of what programs do, for Isolate::profile: 500 a second, each of which takes some 20 us. Where modules
  // share an engine, a compiled caller may bear the name of a function of another module.
  bool profile = false;
  // Collect events (runs, collections, compilations) for write_trace. Costs memory for as long as the engine lives.
  bool trace = false;
};

// A handle: copies refer to the same engine, which lives as long as any handle, module or isolate
// of it. Thread-safe.
class DHPVM_API Engine {
 public:
  explicit Engine(EngineOptions options = {});

  // Makes `function` callable from programs that declare it: `extern fn log(text: str);` finds "host.log".
  // It is any callable object with one, non-template signature of types of
  // dhpvm/types.h; it may return nothing, a value, a Result or a Status. Replaces
  // an earlier definition of the name, for modules that have no isolate yet.
  //
  // The engine keeps a copy of `function` and calls it from every thread that runs an isolate, possibly at
  // the same time. An error that it returns ends the program: as it is if it is a trap (kUserTrap, say), else
  // as kHostException with its text. A std::exception is caught at the boundary and becomes kHostException as
  // well. The function may call functions of the isolate that called it; it should refer to them by pointer
  // or reference, because a copy inside the engine would keep the isolate alive, which keeps the engine.
  //
  // kInvalidArgument if the name is not "module.name".
  template <typename F>
  Status define(std::string_view name, F function) {
    using Host = detail::HostFunction<F>;
    return define_function(name, Host::signature(), std::make_shared<F>(std::move(function)), &Host::call);
  }

  // Makes a class of the host's known to programs that are compiled from now on, as dhpvm/host_class.h says. Replaces
  // an earlier class of this name. kInvalidArgument for an invalid name, and for a module of the standard library.
  template <typename T>
  Status define(const HostClass<T>& host_class) {
    return define_class(host_class.parts());
  }

  // Writes the events collected so far as a Chrome trace (for ui.perfetto.dev). kInvalidArgument if the engine
  // was made without `trace`; kIo with the system's reason. An existing file is replaced atomically.
  Status write_trace(const std::string& path) const;

  // The devices of this machine. Loads the vendors' libraries that are installed, which takes some time.
  std::vector<DeviceEntry> devices() const;

  // Memory still held, for leak tests and for hosts that run many isolates over a long time.
  Leftovers leftovers() const;

  // The workers that programs of the engine have used, or tried to use, so far.
  std::vector<WorkerUse> workers() const;

  // Waits up to `patience` for all compilations that are under way or queued, so that later runs find their code in the
  // cache. False if some are left.
  bool finish_compiling(std::chrono::nanoseconds patience) const;
  // Drops queued compilations, and waits up to `patience` for the running one. False if it still runs: it cannot be
  // cancelled, and destroying the engine waits for it. Call this before the end of a process that
  // need not wait.
  bool settle(std::chrono::nanoseconds patience) const;
  // The number of earlier processes in a row that ended before they had compiled the code that this one is compiling
  // (their settle() returned false), as the cache on disk has noted. If it is not 0, a process that usually waits for a
  // short time may wait longer: otherwise no later run will find the code either. Thread-safe.
  unsigned compile_attempts() const;

  // For the library's own use.
  const std::shared_ptr<detail::EngineState>& state() const { return state_; }

 private:
  Status define_function(std::string_view name, const detail::HostSignature& signature,
                         std::shared_ptr<void> function, detail::HostThunk thunk);
  Status define_class(const detail::HostClassParts& parts);

  std::shared_ptr<detail::EngineState> state_;
};

// The version of the library that runs, which may be a later patch than the DHPVM_VERSION
// compiled against: "0.1.0".
DHPVM_API std::string_view library_version();

}  // namespace dhpvm::inline DHPVM_CPP_NAMESPACE
