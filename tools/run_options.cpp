// SPDX-License-Identifier: Apache-2.0
#include "run_options.h"

#include <algorithm>
#include <string_view>

#include "open.h"
#include "profile_report.h"
#include "rights.h"

namespace dhpvm::tools {
namespace {

constexpr std::string_view kUsage =
    "usage: dhpvm-run [options] PROGRAM [arguments...]\n"
    "       dhpvm-run --test [options] PROGRAM...\n"
    "\n"
    "Runs PROGRAM: bytecode (.bc), source text (.dhp, compiled in memory), assembly (.dasm), or - for "
    "standard input.\n"
    "Options after PROGRAM belong to the program.\n";

constexpr std::string_view kLimitsGroup =
    "What the program may use; reaching a limit is a trap with a stack trace";

constexpr Option kOptions[] = {
    {"What to do", "--verify-only", 0, Value::kNone, "", "check the program and do not run it"},
    {"What to do", "--disasm", 0, Value::kNone, "",
     "print the bytecode as text, which dhpvmc accepts, and do not run it"},
    {"What to do", "--version", 0, Value::kNone, "", "print the version"},
    {"What to do", "--help", 'h', Value::kNone, "", "print this text"},

    {kLimitsGroup, "--limits", 0, Value::kRequired, "LIST",
     "several at once: heap=64M,off-heap=1G,device-memory=2G,stack=8M,fuel=1000000,deadline=2s;\n"
     "0 leaves nothing, none is no limit"},
    {kLimitsGroup, "--heap", 0, Value::kRequired, "SIZE",
     "objects and small arrays (default 4G); sizes take K, M, G, T"},
    {kLimitsGroup, "--off-heap", 0, Value::kRequired, "SIZE",
     "elements of arrays of 64 KiB and more (default 8G)"},
    {kLimitsGroup, "--device-memory", 0, Value::kRequired, "SIZE",
     "memory of each accelerator, for copies of arrays (default: all it has)"},
    {kLimitsGroup, "--stack", 0, Value::kRequired, "SIZE", "all nested calls together (default 16M)"},
    {kLimitsGroup, "--fuel", 0, Value::kRequired, "N",
     "calls, turns of loops and iterations of parallel loops (default: unlimited)"},
    {kLimitsGroup, "--deadline", 0, Value::kRequired, "TIME",
     "real time, with ns, us, ms, s, m or h (default: unlimited)"},

    {kLimitsGroup, "--no-system", 0, Value::kNone, "",
     "refuse programs that use files, folders, the environment or other programs"},
    {kLimitsGroup, "--allow", 0, Value::kRequired, "LIST",
     "permit only these parts of the system: read:DIR,write:DIR,env,run; a DIR stands for\n"
     "everything below it, with links followed"},

    {"Machine code", "--jit", 0, Value::kRequired, "MODE",
     "off: interpret everything; on: compile what is hot (default); eager: all functions at once;\n"
     "baseline: as on, but loops keep their baseline code, which takes little time to compile"},
    {"Machine code", "--jit-threshold", 0, Value::kRequired, "N",
     "compile code that N samples found running, one every 1000 calls and turns (default 8)"},
    {"Machine code", "--threads", 0, Value::kRequired, "N",
     "threads for parallel loops (default: one for each core)"},
    {"Machine code", "--jit-wait", 0, Value::kNone, "",
     "stop for every compilation, so that runs are repeatable"},

    {"Machine code", "--cache-dir", 0, Value::kRequired, "DIR",
     "keep compiled code there (default ~/.cache/dhpvm)"},
    {"Machine code", "--cache-limit", 0, Value::kRequired, "SIZE", "at most this much of it (default 256M)"},
    {"Machine code", "--no-cache", 0, Value::kNone, "", "keep no compiled code, and use none that was kept"},
    {"Machine code", "--cpu", 0, Value::kRequired, "CPU",
     "native (default), or a processor and features that LLVM knows: x86-64-v3,-fma"},
    {"Machine code", "--print-kernel", 0, Value::kRequired, "FORM",
     "print the code of parallel loops to standard error: llvm, asm, ptx or opencl"},
    {"Machine code", "--print-function", 0, Value::kRequired, "FORM",
     "the same for compiled functions: llvm or asm"},
    {"Machine code", "--perf", 0, Value::kNone, "", "name compiled functions for perf, in /tmp/perf-PID.map"},
    {"Machine code", "--gdb", 0, Value::kNone, "", "name compiled functions for gdb"},

    {"Devices", "--device", 0, Value::kRequired, "NAMES",
     "where parallel loops run: auto (default), host, a device,\nor several to choose from: host,cuda:0"},
    {"Devices", "--require-device", 0, Value::kNone, "",
     "end with exit code 4 if a loop would run elsewhere than --device says"},
    {"Devices", "--list-devices", 0, Value::kNone, "",
     "print what --device accepts, and do not run anything"},
    {"Devices", "--policy", 0, Value::kRequired, "NAME",
     "how to choose among places for a loop: fastest (default): earliest completion;\n"
     "remote: workers, to spare the battery, unless they take 4 times as long; remote:N: N times"},
    {"Devices", "--batch", 0, Value::kRequired, "N",
     "send N iterations to a device at a time (default: chosen by measurements)"},
    {"Devices", "--batching", 0, Value::kRequired, "MODE",
     "overlapped (default); serial: wait after every step; pageable: the same, and pin no memory"},

    {kRemoteGroup, "--connect", 0, Value::kRequired, "LIST",
     "use the devices of these workers: gpubox:7471,otherbox; with --worker: lend to these clients"},
    {kRemoteGroup, "--listen", 0, Value::kRequired, "ADDRESS",
     "use the devices of workers that dial in here; with --worker: lend to clients that do"},
    {kRemoteGroup, "--worker", 0, Value::kNone, "",
     "run no program, but lend this machine's devices (--device: these) to programs elsewhere"},
    // Used by a worker when it starts the processes of its sessions.
    {kRemoteGroup, "--worker-session", 0, Value::kNone, "", ""},
    {kRemoteGroup, "--key-file", 0, Value::kRequired, "FILE",
     "the secret that both sides have;\nwithout one, or certificates, only connections within this machine"},
    {kRemoteGroup, "--clients", 0, Value::kRequired, "FILE",
     "for a worker, instead of a key: the clients that may come in, each with keys and limits"},
    {kRemoteGroup, "--metrics", 0, Value::kRequired, "ADDRESS",
     "for a worker: serve /metrics (Prometheus) and /healthz to this machine: 127.0.0.1:9471"},
    {kRemoteGroup, "--worker-status", 0, Value::kRequired, "ADDRESS",
     "print the state of the worker there: sessions, queue, devices; needs its key, or the right"},
    {kRemoteGroup, "--json", 0, Value::kNone, "", "with --worker-status: print JSON"},
    {kRemoteGroup, "--end-session", 0, Value::kRequired, "N",
     "with --worker-status: end the session of that number instead"},
    {kRemoteGroup, "--reason", 0, Value::kRequired, "TEXT",
     "with --end-session: the reason that its client gets"},
    {kRemoteGroup, "--log", 0, Value::kRequired, "FORM",
     "the form of a worker's log: text (default), or json: an object on each line"},
    {kRemoteGroup, "--log-level", 0, Value::kRequired, "LEVEL",
     "the least severe level that a worker logs: error, warning, info (default) or debug"},
    {kRemoteGroup, "--make-key", 0, Value::kRequired, "FILE", "make a key file, and do nothing else"},
    {kRemoteGroup, "--certificate", 0, Value::kRequired, "FILE",
     "instead of a key: the certificate of this side (PEM),"},
    {kRemoteGroup, "--private-key", 0, Value::kRequired, "FILE", "its private key,"},
    {kRemoteGroup, "--authority", 0, Value::kRequired, "FILE",
     "and the authority whose certificates are accepted"},
    {kRemoteGroup, "--seal", 0, Value::kRequired, "MODE",
     "protection of array data in transit: full (default): encrypted;\nintegrity: cannot be changed "
     "unnoticed; none"},
    {kRemoteGroup, "--provider", 0, Value::kRequired, "NAME",
     "a provider of libfabric instead of TCP: verbs for InfiniBand and RoCE; closed networks only"},
    {kRemoteGroup, "--silence", 0, Value::kRequired, "TIME",
     "the other side counts as dead after this time without a sign of life (default 3s)"},
    {kRemoteGroup, "--write-back", 0, Value::kRequired, "MODE",
     "copy results back: eager (default), so that no worker has the only copy; lazy: when needed"},
    {kRemoteGroup, "--lend", 0, Value::kRequired, "LIST",
     "limits for each session of a worker: memory=4G,code=64M,time=1h,idle=10m;\n"
     "and for all: sessions=16,waiting=16,total-memory=16G"},

    {"Testing", "--test", 0, Value::kNone, "",
     "run the functions of the programs whose names begin with test_, each by itself"},
    {"Testing", "--filter", 0, Value::kRequired, "NAME",
     "only tests with NAME in their names; with * and ? it is the whole name. May be repeated"},
    {"Testing", "--jobs", 0, Value::kRequired, "N", "run N tests at once (default: one for each core)"},
    {"Testing", "--junit", 0, Value::kRequired, "FILE",
     "write the results of the tests there, in JUnit's XML"},
    {"Testing", "--coverage", 0, Value::kRequired, "FILE",
     "write there how often each line was run, in lcov's format; interprets everything"},

    {"Watching", "--stats", 0, Value::kOptional, "json",
     "afterwards, print counters of the run to standard error"},
    {"Watching", "--profile", 0, Value::kOptional, "FILE",
     "afterwards, print the functions and lines that took most of the time; write all there,\n"
     "as a picture (.html), for speedscope.app (.json) or for other programs (.folded)"},
    {"Watching", "--explain-offload", 0, Value::kNone, "",
     "afterwards, print how each parallel loop was run, and why"},
    {"Watching", "--trace", 0, Value::kRequired, "FILE",
     "write a timeline for ui.perfetto.dev or chrome://tracing"},

    {"Finding errors", "--check-races", 0, Value::kNone, "",
     "report conflicting accesses of different iterations of a parallel loop"},
    {"Finding errors", "--gc-stress", 0, Value::kOptional, "N",
     "collect garbage before every N-th allocation (default 1)"},
    {"Finding errors", "--gc-verify", 0, Value::kNone, "", "check the whole heap around every collection"},

    {"Compiling source", "--import-path", 'I', Value::kRequired, "DIR",
     "look for imported modules there; may be repeated"},
};

constexpr std::string_view kClosing =
    "\n"
    "The exit code is that of the program's main function; 2 if the program or the command line is unusable, "
    "3 after\n"
    "a trap, 4 where a device that is required fails, 70 after an internal error. Standard output is the "
    "program's alone.\n";

constexpr std::uint64_t kMostThreads = 1024;

// One rule for all limits: 0 leaves nothing, and `none` is no limit.
template <typename T, typename Parse>
Status set_to(T& limit, std::string_view value, T none, Parse&& parse) {
  if (value == "none") {
    limit = none;
    return {};
  }
  DHPVM_ASSIGN(limit, parse(value));
  return {};
}

Status set_limit(Limits& limits, std::string_view name, std::string_view value) {
  if (name == "fuel") {
    DHPVM_TRY(set_to(limits.fuel, value, Limits::kUnlimitedFuel, parse_count));
  } else if (name == "device-memory") {
    DHPVM_TRY(set_to(limits.device_bytes, value, std::uint64_t{Limits::kUnlimitedBytes}, parse_size));
  } else if (name == "deadline") {
    DHPVM_TRY(set_to(limits.deadline, value, Limits::kNoDeadline, parse_duration));
  } else {
    std::size_t* const size = name == "heap"       ? &limits.heap_bytes
                              : name == "off-heap" ? &limits.off_heap_bytes
                              : name == "stack"    ? &limits.stack_bytes
                                                   : nullptr;
    if (size == nullptr) {
      return Error(ErrorCode::kInvalidArgument,
                   "'" + std::string(name) +
                       "' is not a limit: there are heap, off-heap, device-memory, stack, fuel and deadline");
    }
    DHPVM_TRY(set_to(*size, value, Limits::kUnlimitedBytes, parse_size));
  }
  return {};
}

// A number of at least 1; `instead` says what happens without the option.
Result<std::uint64_t> parse_number_of(std::string_view option, std::string_view value,
                                      std::string_view instead) {
  DHPVM_ASSIGN(const std::uint64_t count, parse_count(value));
  if (count != 0) return count;
  return Error(ErrorCode::kInvalidArgument, std::string(option) +
                                                "=0 is too little: give a number from 1 up, or leave " +
                                                std::string(option) + " out for " + std::string(instead));
}

Status set_limits(Limits& limits, std::string_view list) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(','));
    const std::size_t equals = item.find('=');
    if (equals == item.npos) {
      return Error(ErrorCode::kInvalidArgument,
                   "'" + std::string(item) + "' is not a limit: write it like heap=64M");
    }
    DHPVM_TRY(set_limit(limits, item.substr(0, equals), item.substr(equals + 1)));
    list.remove_prefix(std::min(item.size() + 1, list.size()));
  }
  return {};
}

Result<Jit> parse_jit(std::string_view text) {
  if (text == "off") return Jit::kOff;
  if (text == "on") return Jit::kOn;
  if (text == "eager") return Jit::kEager;
  if (text == "baseline") return Jit::kBaseline;
  return Error(ErrorCode::kInvalidArgument,
               "--jit=" + std::string(text) + " is not known; write off, on, eager or baseline");
}

Result<Batching> parse_batching(std::string_view text) {
  if (text == "overlapped") return Batching::kOverlapped;
  if (text == "serial") return Batching::kSerial;
  if (text == "pageable") return Batching::kSerialPageable;
  return Error(ErrorCode::kInvalidArgument,
               "--batching=" + std::string(text) + " is not known; write overlapped, serial or pageable");
}

Status parse_policy(std::string_view text, IsolateOptions& options) {
  constexpr std::string_view kRemote = "remote:";
  if (text == "fastest") {
    options.policy = Policy::kFastest;
  } else if (text == "remote" || text.starts_with(kRemote)) {
    options.policy = Policy::kRemote;
    if (text != "remote") {
      DHPVM_ASSIGN(options.policy_factor, parse_factor(text.substr(kRemote.size())));
    }
  } else {
    return Error(ErrorCode::kInvalidArgument,
                 "--policy=" + std::string(text) + " is not known; write fastest, remote or remote:8");
  }
  return {};
}

Result<Listing> parse_function_listing(std::string_view text) {
  if (text == "llvm") return Listing::kLlvm;
  if (text == "asm") return Listing::kAssembly;
  return Error(ErrorCode::kInvalidArgument,
               "--print-function=" + std::string(text) + " is not known; write llvm or asm");
}

// Any text except these two is the name of a device language, which the code generator checks.
void set_kernel_listing(std::string_view text, EngineOptions& engine) {
  engine.list_kernels = text == "llvm"  ? Listing::kLlvm
                        : text == "asm" ? Listing::kAssembly
                                        : Listing::kDevice;
  engine.list_language = text;
}

Result<RunRequest::Stats> parse_stats(std::string_view text) {
  if (text.empty()) return RunRequest::Stats::kTable;
  if (text == "json") return RunRequest::Stats::kJson;
  return Error(ErrorCode::kInvalidArgument,
               "--stats=" + std::string(text) + " is not known; write --stats or --stats=json");
}

// Sets the options that have values; request_of looks up those without.
Status set_option(RunRequest& request, const Arguments::Given& given) {
  const std::string_view name = given.option->name;
  if (name == "--limits") {
    DHPVM_TRY(set_limits(request.isolate.limits, given.value));
  } else if (name == "--allow") {
    if (!request.engine.rights) request.engine.rights.emplace();
    DHPVM_TRY(add_rights(*request.engine.rights, given.value));
  } else if (given.option->group == kLimitsGroup && given.option->value == Value::kRequired) {
    DHPVM_TRY(set_limit(request.isolate.limits, name.substr(2), given.value));
  } else if (name == "--gc-stress") {
    DHPVM_ASSIGN(const std::uint64_t every, parse_count(given.value.empty() ? "1" : given.value));
    if (every > UINT32_MAX)
      return Error(ErrorCode::kInvalidArgument, "--gc-stress=" + given.value + " is too large");
    request.isolate.gc_stress = static_cast<std::uint32_t>(every);
  } else if (name == "--jit") {
    DHPVM_ASSIGN(request.isolate.jit, parse_jit(given.value));
  } else if (name == "--jit-threshold") {
    DHPVM_ASSIGN(const std::uint64_t samples, parse_count(given.value));
    request.isolate.jit_threshold = static_cast<std::uint32_t>(std::min<std::uint64_t>(samples, UINT32_MAX));
  } else if (name == "--threads") {
    DHPVM_ASSIGN(const std::uint64_t threads, parse_number_of(name, given.value, "one for each core"));
    request.engine.threads = static_cast<unsigned>(std::min<std::uint64_t>(threads, kMostThreads));
  } else if (name == "--cache-dir") {
    request.engine.code_cache_directory = given.value;
  } else if (name == "--cache-limit") {
    DHPVM_ASSIGN(request.engine.code_cache_limit, parse_size(given.value));
  } else if (name == "--cpu") {
    request.engine.processor = given.value;
  } else if (name == "--print-kernel") {
    set_kernel_listing(given.value, request.engine);
  } else if (name == "--print-function") {
    DHPVM_ASSIGN(request.engine.list_functions, parse_function_listing(given.value));
  } else if (name == "--device") {
    request.isolate.device = given.value;
  } else if (name == "--policy") {
    DHPVM_TRY(parse_policy(given.value, request.isolate));
  } else if (name == "--batch") {
    DHPVM_ASSIGN(request.isolate.batch, parse_number_of(name, given.value, "what measurements suggest"));
  } else if (name == "--batching") {
    DHPVM_ASSIGN(request.isolate.batching, parse_batching(given.value));
  } else if (given.option->group == kRemoteGroup) {
    DHPVM_TRY(set_remote(request.remote, name, given.value));
  } else if (name == "--stats") {
    DHPVM_ASSIGN(request.stats, parse_stats(given.value));
  } else if (name == "--import-path") {
    request.compile.import_paths.push_back(given.value);
  }
  return {};
}

// Refuses an option that only changes the effect of another one where that is missing.
Status check_needed(const Arguments& arguments) {
  struct Need {
    std::string_view option;
    std::string_view needed;
  };
  constexpr Need kNeeds[] = {
      {"--reason", "--end-session"},
      {"--end-session", "--worker-status"},
      {"--json", "--worker-status"},
      {"--metrics", "--worker"},
  };
  for (const Need& need : kNeeds) {
    if (!arguments.has(need.option) || arguments.has(need.needed)) continue;
    return Error(ErrorCode::kInvalidArgument,
                 std::string(need.option) + " belongs to " + std::string(need.needed) +
                     ": write that as well, or leave " + std::string(need.option) + " out");
  }
  return {};
}

}  // namespace

std::span<const Option> run_options() { return kOptions; }
std::string run_help() { return help_text(kUsage, kOptions, kClosing); }

Result<RunRequest> request_of(const Arguments& arguments) {
  RunRequest request;
  for (const Arguments::Given& given : arguments.options) DHPVM_TRY(set_option(request, given));
  DHPVM_TRY(check_needed(arguments));
  request.isolate.check_races = arguments.has("--check-races");
  request.engine.code_cache = !arguments.has("--no-cache");
  request.engine.code_for_profiler = arguments.has("--perf");
  request.engine.code_for_debugger = arguments.has("--gdb");
  request.engine.system_access = !arguments.has("--no-system");
  if (!request.engine.system_access && request.engine.rights) {
    return Error(ErrorCode::kInvalidArgument,
                 "--no-system leaves nothing that --allow could name: leave out one of both");
  }
  request.engine.log = print_log;
  request.engine.trace = arguments.has("--trace");
  request.engine.profile = arguments.has("--profile");
  if (request.engine.profile && !arguments.last("--profile")->empty()) {
    DHPVM_TRY(profile_form_of(*arguments.last("--profile")));
  }
  request.isolate.jit_wait = arguments.has("--jit-wait");
  request.isolate.gc_verify = arguments.has("--gc-verify");
  const std::string* const device = arguments.last("--device");
  request.isolate.require_device = arguments.has("--require-device");
  request.remote.worker = arguments.has("--worker");
  request.remote.is_session = arguments.has("--worker-session");
  if (request.remote.worker && !arguments.operands.empty()) {
    return Error(ErrorCode::kInvalidArgument,
                 "--worker runs no program, but lends devices to those elsewhere: leave out '" +
                     arguments.operands[0] + "' and what stands behind it");
  }
  DHPVM_TRY(check_remote(request.remote, device == nullptr ? std::string_view() : *device));
  if (!request.remote.worker) {
    // Set even without an address, because --device may name workers.
    request.engine.remote = workers_of(request.remote);
    const bool any = !request.remote.connect.empty() || !request.remote.listen.empty();
    if (any && device == nullptr) request.isolate.device = "host,remote";
  }
  if (device != nullptr && *device != "host" && *device != "auto" && request.isolate.jit == Jit::kOff) {
    return Error(ErrorCode::kInvalidArgument,
                 "--device=" + *device + " needs native code: leave out --jit=off");
  }
  if (request.isolate.require_device && device == nullptr && request.isolate.device == "auto") {
    return Error(ErrorCode::kInvalidArgument,
                 "--require-device needs the device that is required: write --device=NAME as well");
  }
  return request;
}

}  // namespace dhpvm::tools
