// SPDX-License-Identifier: Apache-2.0
// dhpvm-run: runs a program from bytecode or source.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <optional>
#include <string>

#include "dhpvm/dhpvm.h"
#include "ending.h"
#include "open.h"
#include "options.h"
#include "profile_report.h"
#include "remote.h"
#include "run_options.h"
#include "statistics.h"
#include "test_command.h"
#include "worker_status.h"

namespace dhpvm::tools {
namespace {

constexpr std::string_view kTool = "dhpvm-run";

// The program that Ctrl-C stops, and the signal that stopped it. A signal handler can access nothing else.
const Isolate* volatile running = nullptr;
volatile std::sig_atomic_t stopped_by = 0;

extern "C" void on_signal(int signal) {
  stopped_by = signal;
  if (const Isolate* const isolate = running; isolate != nullptr) isolate->interrupt();
}

void catch_signals() {
  ignore_broken_pipes();
  struct sigaction action{};
  action.sa_handler = on_signal;
  // A second signal kills: the program may be in a system call that does not end. Without SA_RESTART the call itself is
  // interrupted, too.
  action.sa_flags = SA_RESETHAND;
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  // A parent process may have left it ignored; then the exit codes of a program's child processes would be lost.
  std::signal(SIGCHLD, SIG_DFL);
}

// Options after the program are its own. If the program takes no arguments, an option of dhpvm-run there is a mistake,
// which would only show in what does not happen.
void remark_lost_option(const Module& module, std::span<const std::string> arguments) {
  const auto is_ours = [](const std::string& argument) {
    const std::string_view name = std::string_view(argument).substr(0, argument.find('='));
    return std::ranges::any_of(run_options(), [&](const Option& option) { return option.name == name; });
  };
  const auto lost = std::ranges::find_if(arguments, is_ours);
  if (lost == arguments.end()) return;
  const std::vector<std::string> exports = module.exports();
  const auto takes_none = [](const std::string& function) { return function.starts_with("main()"); };
  if (std::ranges::none_of(exports, takes_none)) return;
  const std::string name = lost->substr(0, lost->find('='));
  std::fprintf(
      stderr,
      "dhpvm-run: %s has no effect behind the program, whose main takes no arguments: write it before "
      "the program\n",
      name.c_str());
}

Status tell_profile(const Arguments& arguments, std::span<const ProfileStack> profile) {
  const std::string* const path = arguments.last("--profile");
  if (path == nullptr) return {};
  std::fputs(profile_table(profile).c_str(), stderr);
  if (path->empty()) return {};
  DHPVM_ASSIGN(const ProfileForm form, profile_form_of(*path));
  return write_file(*path, profile_text(profile, form, arguments.operands[0]));
}

Result<int> run(const Engine& engine, const Arguments& arguments, const RunRequest& request) {
  const std::string* const trace = arguments.last("--trace");
  DHPVM_ASSIGN(const Module module,
               open_program(engine, arguments.operands[0], request.compile, WarningPolicy::kTerminal));
  if (arguments.has("--disasm")) {
    DHPVM_TRY(print(module.disassemble()));
    return 0;
  }
  if (arguments.has("--verify-only")) return 0;
  remark_lost_option(module, std::span(arguments.operands).subspan(1));

  std::optional<Statistics> statistics;  // of a program that was started
  std::string story;
  std::vector<ProfileStack> profile;
  const auto run_isolate = [&]() -> Result<int> {
    DHPVM_ASSIGN(Isolate isolate, Isolate::create(module, request.isolate));
    running = &isolate;
    catch_signals();
    Result<int> outcome = isolate.run_main(std::span(arguments.operands).subspan(1));
    running = nullptr;
    statistics = isolate.statistics();
    if (arguments.has("--explain-offload")) story = isolate.explain_loops();
    profile = isolate.profile();
    return outcome;
  };
  Result<int> outcome = run_isolate();
  const Leftovers left = engine.leftovers();

  // Printed after a trap, too, when they matter most.
  if (statistics && request.stats == RunRequest::Stats::kTable)
    std::fputs(statistics_table(*statistics, left, engine.workers()).c_str(), stderr);
  if (statistics && request.stats == RunRequest::Stats::kJson)
    std::fputs(statistics_json(*statistics, left, engine.workers()).c_str(), stderr);
  std::fputs(story.c_str(), stderr);
  if (const Status told = tell_profile(arguments, profile); !told.ok() && outcome.ok()) return told.error();
  if (!left.none() && outcome.ok()) {
    return Error(
        ErrorCode::kInternal,
        "memory is still held after the program has ended, which is an error of dhpvm-run: report it with "
        "the output of --stats");
  }
  if (trace != nullptr) {
    Status written = engine.write_trace(*trace);
    if (!written.ok() && outcome.ok()) return std::move(written).error();
  }
  return outcome;
}

// Waits for compilations, for so much processor time; if other programs have the processors most of the time, that
// takes longer. A compilation that is given up begins anew in the next run, which waits eight times as long for it, and
// the third one 64 times. Waiting longer each time would delay the end of every run.
void finish_compiling(const Engine& engine, std::chrono::nanoseconds patience) {
  constexpr int kLonger[] = {1, 8, 64};  // by the number of earlier attempts
  constexpr std::chrono::nanoseconds kSlice = std::chrono::milliseconds(10);
  constexpr int kMostTimes = 16;  // the longest wait on the clock, as a multiple of the patience
  const auto processor_time = [] {
    return std::chrono::nanoseconds(std::chrono::seconds(1)) * std::clock() / CLOCKS_PER_SEC;
  };
  const std::chrono::nanoseconds used = processor_time();
  const auto begin = std::chrono::steady_clock::now();
  const auto waits_on = [&] {
    // Known only after the compilation has begun.
    const unsigned attempts = engine.compile_attempts();
    const auto longer = patience * (attempts < std::size(kLonger) ? kLonger[attempts] : 1);
    return processor_time() - used < longer && std::chrono::steady_clock::now() - begin < kMostTimes * longer;
  };
  while (!engine.finish_compiling(kSlice) && waits_on()) {
  }
}

// Ends the process at once if compilations, or launches of a device, would delay its end noticeably: they cannot be
// cancelled. With listings to print, or with workers, the process ends in the ordinary way.
void leave_early(const Engine& engine, const Arguments& arguments, std::chrono::nanoseconds elapsed,
                 const Result<int>& outcome, const Ending& ending) {
  // A short program waits this long once: later runs find the code in the cache, which they would never have otherwise.
  constexpr std::chrono::nanoseconds kPatience = std::chrono::milliseconds(250);
  const bool lists = arguments.has("--print-kernel") || arguments.has("--print-function");
  const bool has_workers = !engine.workers().empty();
  const bool was_stopped = !outcome.ok() && (outcome.error().code() == ErrorCode::kDeadline ||
                                             outcome.error().code() == ErrorCode::kInterrupted);
  // After a trap or a stop, the process does not wait, and workers find out that it is gone.
  if (lists || (has_workers && outcome.ok())) return;
  const bool is_kept = !arguments.has("--no-cache") && outcome.ok();
  if (is_kept) finish_compiling(engine, std::max(kPatience, elapsed / 10));
  // Closing devices in order takes some drivers a tenth of a second.
  if (engine.settle(std::chrono::nanoseconds(0)) && (has_workers || !was_stopped)) return;
  std::fflush(nullptr);
  std::_Exit(end_process(ending));
}

// One line for each device: its name, and its description or why it cannot be used.
std::string device_table(const EngineOptions& options) {
  const std::vector<DeviceEntry> devices = Engine(options).devices();
  std::size_t width = 0;
  for (const DeviceEntry& device : devices) width = std::max(width, device.name.size());
  std::string text;
  for (const DeviceEntry& device : devices) {
    text += device.name + std::string(width + 2 - device.name.size(), ' ');
    text += device.problem.empty() ? device.description : "cannot be used: " + device.problem;
    text += '\n';
  }
  return text;
}

// The exit code when a required device does not run a loop.
constexpr int kDeviceExitCode = 4;

bool is_about_device(ErrorCode code) {
  return code == ErrorCode::kDeviceFailed || code == ErrorCode::kDeviceLost ||
         code == ErrorCode::kDeviceExhausted;
}

// If a signal has stopped the program, the process ends by that signal, after everything else.
Ending ending_of_run(const Result<int>& outcome, bool requires_device) {
  if (outcome.ok()) return {.code = *outcome};
  Ending ending = ending_of(kTool, outcome.error());
  if (requires_device && is_about_device(outcome.error().code())) ending.code = kDeviceExitCode;
  if (outcome.error().code() == ErrorCode::kInterrupted) ending.signal = stopped_by;
  return ending;
}

// The commands for the operator of a worker.
Ending operate(const Arguments& arguments, const RemoteRequest& remote) {
  const std::string& address = *arguments.last("--worker-status");
  if (const std::string* const session = arguments.last("--end-session"); session != nullptr) {
    const Result<std::uint64_t> number = parse_count(*session);
    if (!number.ok()) return usage_ending(kTool, number.error());
    const std::string* const reason = arguments.last("--reason");
    const Status ended = end_worker_session(address, remote.options.security, *number,
                                            reason == nullptr ? std::string() : *reason);
    return ended.ok() ? Ending{} : ending_of(kTool, ended.error());
  }
  const Result<WorkerStatus> status = worker_status(address, remote.options.security);
  if (!status.ok()) return ending_of(kTool, status.error());
  const Status printed = print(arguments.has("--json") ? status_json(*status) : status_table(*status));
  return printed.ok() ? Ending{} : ending_of(kTool, printed.error());
}

Ending main_of(std::span<const char* const> words) {
  const Result<Arguments> arguments = parse_arguments(run_options(), words, Operands::kEndOptions);
  if (!arguments.ok()) return usage_ending(kTool, arguments.error());
  std::string text;
  if (arguments->has("--help")) text = run_help();
  if (arguments->has("--version")) text = "dhpvm-run " + std::string(library_version()) + "\n";
  if (const std::string* const key = arguments->last("--make-key"); key != nullptr && text.empty()) {
    const Status made = make_key_file(*key);
    return made.ok() ? Ending{} : ending_of(kTool, made.error());
  }
  const Result<RunRequest> request = request_of(*arguments);
  if (text.empty() && !request.ok()) return usage_ending(kTool, request.error());
  if (text.empty() && arguments->has("--list-devices")) text = device_table(request->engine);
  if (!text.empty()) {
    const Status printed = print(text);
    return printed.ok() ? Ending{} : ending_of(kTool, printed.error());
  }
  if (arguments->has("--worker-status")) return operate(*arguments, request->remote);
  if (request->remote.worker) {
    const Result<int> lent = lend(request->engine, request->remote, request->isolate.device, words);
    return lent.ok() ? Ending{.code = *lent} : ending_of(kTool, lent.error());
  }
  if (arguments->has("--test")) {
    const Result<TestRequest> tests = test_request_of(*arguments);
    if (!tests.ok()) return usage_ending(kTool, tests.error());
    return run_tests(*tests, request->engine, request->isolate, request->compile);
  }
  if (const Status alone = check_without_tests(*arguments); !alone.ok())
    return usage_ending(kTool, alone.error());
  if (arguments->operands.empty())
    return usage_ending(kTool,
                        Error(ErrorCode::kInvalidArgument, "no program given: write dhpvm-run PROGRAM.dhp"));
  const auto begin = std::chrono::steady_clock::now();
  const Engine engine(request->engine);
  const Result<int> outcome = run(engine, *arguments, *request);
  const Ending ending = ending_of_run(outcome, request->isolate.require_device);
  leave_early(engine, *arguments, std::chrono::steady_clock::now() - begin, outcome, ending);
  return ending;
}

}  // namespace
}  // namespace dhpvm::tools

int main(int count, char** words) {
  return dhpvm::tools::end_process(
      dhpvm::tools::main_of(std::span<const char* const>(words, static_cast<std::size_t>(count)).subspan(1)));
}
