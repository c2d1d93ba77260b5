// SPDX-License-Identifier: Apache-2.0
#include "test_command.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "open.h"
#include "test_report.h"

namespace dhpvm::tools {
namespace {

constexpr std::string_view kTool = "dhpvm-run";

// More threads would only wait for each other.
constexpr unsigned kMostJobs = 256;

Error invalid(std::string message) { return Error(ErrorCode::kInvalidArgument, std::move(message)); }

// Whether `name` fits a pattern in which * stands for any text and ? for any letter.
bool fits_pattern(std::string_view name, std::string_view pattern) {
  std::size_t at = 0;
  std::size_t in_pattern = 0;
  std::size_t star = pattern.npos;  // the last star, and where the text that it stands for begins
  std::size_t from = 0;
  while (at < name.size()) {
    if (in_pattern < pattern.size() && pattern[in_pattern] == '*') {
      star = in_pattern++;
      from = at;
    } else if (in_pattern < pattern.size() &&
               (pattern[in_pattern] == '?' || pattern[in_pattern] == name[at])) {
      ++in_pattern, ++at;
    } else if (star != pattern.npos) {
      in_pattern = star + 1;
      at = ++from;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', in_pattern) == pattern.npos;
}

bool is_chosen(std::string_view name, const std::vector<std::string>& filters) {
  if (filters.empty()) return true;
  return std::ranges::any_of(filters, [&](std::string_view filter) {
    return filter.find_first_of("*?") == filter.npos ? name.find(filter) != name.npos
                                                     : fits_pattern(name, filter);
  });
}

// Stops the running tests when a signal comes. The signals are blocked in all threads, and one thread waits for them,
// because a handler could not tell which isolates still exist.
class Interrupts {
 public:
  Interrupts() {
    sigemptyset(&signals_);
    for (const int signal : {SIGINT, SIGTERM}) sigaddset(&signals_, signal);
    pthread_sigmask(SIG_BLOCK, &signals_, &before_);
    watcher_ = std::thread([this] { watch(); });
  }
  ~Interrupts() {
    is_over_ = true;
    pthread_kill(watcher_.native_handle(), SIGINT);
    watcher_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  // The signal that has stopped the tests; 0: none.
  int stopped_by() const { return stopped_by_; }

  Status run(Isolate& isolate, const std::string& name) {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_by_ != 0) return Error(ErrorCode::kInterrupted, "not run, because the tests were stopped");
      running_.push_back(&isolate);
    }
    Status status = isolate.run_test(name);
    const std::lock_guard lock(mutex_);
    std::erase(running_, &isolate);
    return status;
  }

 private:
  void watch() {
    while (true) {
      int signal = 0;
      sigwait(&signals_, &signal);
      if (is_over_) return;
      const std::lock_guard lock(mutex_);
      // A second signal kills, as it does without --test: a test may be in a system call that does not end.
      if (stopped_by_ != 0) end_process({.code = 0, .signal = signal});
      stopped_by_ = signal;
      for (const Isolate* const isolate : running_) isolate->interrupt();
    }
  }

  sigset_t signals_{};
  sigset_t before_{};
  std::thread watcher_;
  std::atomic<bool> is_over_{false};
  std::atomic<int> stopped_by_{0};
  std::mutex mutex_;  // guards running_
  std::vector<const Isolate*> running_;
};

// All tests of a command, and the threads that run them.
class TestRun {
 public:
  TestRun(const Engine& engine, IsolateOptions options) : engine_(engine), options_(std::move(options)) {}

  // Compiles or loads `file`, and adds the requested tests.
  Status add(const TestRequest& request, const std::string& file, const CompileOptions& compile) {
    DHPVM_ASSIGN(Module module, open_program(engine_, file, compile, WarningPolicy::kTerminal));
    const std::vector<std::string> names = module.tests();
    remark_others(module, names, file);
    if (names.empty()) {
      return invalid(file + " has no tests: write them as functions, `fn " + std::string(kTestPrefix) +
                     "sums() { assert(1 + 1 == 2); }`");
    }
    // A program that cannot be linked fails once, as it does without --test, and not with each of its tests.
    const Result<Isolate> linked = Isolate::create(module, options_);
    if (!linked.ok()) return linked.error();
    for (const std::string& name : names) {
      if (!is_chosen(name, request.filters)) {
        ++left_out_;
        continue;
      }
      tests_.push_back({.file = file, .name = name, .failure = {}, .output = {}});
      modules_.push_back(module);
    }
    return {};
  }

  bool has_tests() const { return !tests_.empty(); }

  // Prints each test when it and all tests before it have ended.
  Status run(unsigned jobs, Interrupts& interrupts) {
    done_.assign(tests_.size(), false);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::min<std::size_t>(jobs, tests_.size()); ++i) {
      threads.emplace_back([&] { work(interrupts); });
    }
    Status printed;
    std::string file = tests_.front().file;
    const bool has_several =
        std::ranges::any_of(tests_, [&](const TestCase& test) { return test.file != file; });
    file.clear();
    for (std::size_t i = 0; i < tests_.size(); ++i) {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return done_[i]; });
      lock.unlock();
      std::string text;
      if (has_several && tests_[i].file != file) text = (file = tests_[i].file) + ":\n";
      text += test_text(tests_[i]);
      if (printed.ok()) printed = print(text);
    }
    for (std::thread& thread : threads) thread.join();
    if (!printed.ok()) return printed;
    return print(std::to_string(tests_.size() - failures()) + " passed, " + std::to_string(failures()) +
                 " failed, " + std::to_string(left_out_) + " left out\n");
  }

  std::size_t failures() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(tests_, [](const TestCase& test) { return test.failure.has_value(); }));
  }

  Status write_reports(const TestRequest& request) const {
    if (!request.junit.empty()) DHPVM_TRY(write_file(request.junit, junit_text(tests_)));
    if (request.coverage.empty()) return {};
    if (coverage_.is_empty()) {
      return invalid("no lines are known for " + request.coverage +
                     ": the program was compiled with --strip; compile it without");
    }
    return write_file(request.coverage, coverage_.lcov_text());
  }

 private:
  // A test with parameters or a result would silently never run.
  static void remark_others(const Module& module, const std::vector<std::string>& tests,
                            const std::string& file) {
    for (const std::string& function : module.exports()) {
      const std::string name = function.substr(0, function.find('('));
      if (!name.starts_with(kTestPrefix) || std::ranges::find(tests, name) != tests.end()) continue;
      std::fprintf(
          stderr,
          "dhpvm-run: %s: %s is no test, because it takes arguments or gives a value; write `fn %s()` "
          "or `fn %s() -> void!`, or give it another name\n",
          file.c_str(), function.c_str(), name.c_str(), name.c_str());
    }
  }

  void work(Interrupts& interrupts) {
    while (true) {
      const std::size_t index = next_++;
      if (index >= tests_.size()) return;
      run_one(tests_[index], modules_[index], interrupts);
      const std::lock_guard lock(mutex_);
      done_[index] = true;
      changed_.notify_all();
    }
  }

  void run_one(TestCase& test, const Module& module, Interrupts& interrupts) {
    const auto begin = std::chrono::steady_clock::now();
    IsolateOptions options = options_;
    const auto collect_output = [&test](std::string_view text) -> Status {
      test.output += text;
      return {};
    };
    options.standard_output = collect_output;
    options.standard_error = collect_output;
    // Tests that run at the same time would compete for it.
    options.standard_input = [](std::span<char>) -> Result<std::size_t> { return 0; };
    Result<Isolate> isolate = Isolate::create(module, options);
    Status status = isolate.ok() ? interrupts.run(*isolate, test.name) : Status(isolate.error());
    if (!status.ok()) test.failure = std::move(status).error();
    test.time = std::chrono::steady_clock::now() - begin;
    if (!options.count_lines || !isolate.ok()) return;
    const std::vector<LineCount> counts = isolate->line_counts();
    const std::lock_guard lock(mutex_);
    coverage_.add(counts);
  }

  const Engine& engine_;
  const IsolateOptions options_;
  std::vector<TestCase> tests_;
  std::vector<Module> modules_;  // by test
  std::size_t left_out_ = 0;
  std::atomic<std::size_t> next_{0};

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<bool> done_;  // by test
  Coverage coverage_;
};

}  // namespace

Result<TestRequest> test_request_of(const Arguments& arguments) {
  TestRequest request;
  request.files = arguments.operands;
  if (request.files.empty()) return invalid("no program given: write dhpvm-run --test PROGRAM.dhp");
  for (const std::string& file : request.files) {
    if (file.size() > 1 && file.front() == '-') {
      return invalid("with --test, options stand before the programs: move '" + file + "' to the front");
    }
  }
  for (const std::string_view alone :
       {"--verify-only", "--disasm", "--stats", "--explain-offload", "--profile", "--trace", "--worker"}) {
    if (arguments.has(alone)) {
      return invalid(std::string(alone) + " does not go together with --test: leave one of them out");
    }
  }
  for (const Arguments::Given& given : arguments.options) {
    if (given.option->name == "--filter") request.filters.push_back(given.value);
  }
  if (const std::string* const jobs = arguments.last("--jobs"); jobs != nullptr) {
    DHPVM_ASSIGN(const std::uint64_t count, parse_count(*jobs));
    if (count == 0) return invalid("--jobs=0 runs nothing: give a number from 1 up");
    request.jobs = static_cast<unsigned>(std::min<std::uint64_t>(count, kMostJobs));
  }
  if (const std::string* const junit = arguments.last("--junit"); junit != nullptr) request.junit = *junit;
  if (const std::string* const lcov = arguments.last("--coverage"); lcov != nullptr) request.coverage = *lcov;
  return request;
}

Status check_without_tests(const Arguments& arguments) {
  for (const std::string_view option : {"--filter", "--jobs", "--junit", "--coverage"}) {
    if (arguments.has(option))
      return invalid(std::string(option) + " belongs to tests: write --test before it");
  }
  return {};
}

Ending run_tests(const TestRequest& request, const EngineOptions& engine_options,
                 const IsolateOptions& isolate_options, const CompileOptions& compile) {
  ignore_broken_pipes();
  Interrupts interrupts;  // before the engine, whose threads must not take the signals
  const Engine engine(engine_options);
  IsolateOptions options = isolate_options;
  options.count_lines = !request.coverage.empty();
  TestRun run(engine, std::move(options));
  CompileOptions lines = compile;
  lines.all_lines = !request.coverage.empty();
  for (const std::string& file : request.files) {
    const Status added = run.add(request, file, lines);
    if (!added.ok()) return ending_of(kTool, added.error());
  }
  if (!run.has_tests())
    return ending_of(kTool, invalid("no test has a name that --filter asks for: see the names without it"));
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1u, kMostJobs);
  const Status printed = run.run(request.jobs == 0 ? cores : request.jobs, interrupts);
  if (!printed.ok()) return ending_of(kTool, printed.error());
  const Status written = run.write_reports(request);
  if (!written.ok()) return ending_of(kTool, written.error());
  const Ending ending{.code = run.failures() == 0 ? 0 : 1, .signal = interrupts.stopped_by()};
  // A running compilation cannot be cancelled, and the engine's end would wait for it.
  if (!engine.settle(std::chrono::nanoseconds(0))) {
    std::fflush(nullptr);
    std::_Exit(end_process(ending));
  }
  return ending;
}

}  // namespace dhpvm::tools
