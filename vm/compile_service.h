// SPDX-License-Identifier: Apache-2.0
// The code generator's library, loaded on first need, and the thread on which it compiles. Shared by the
// isolates of an engine; thread-safe.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/background_calls.h"
#include "base/thread.h"
#include "codegen/codegen.h"
#include "dhpvm/result.h"

namespace dhpvm::codegen {
class CachedGenerator;
struct LoadedGenerator;
}  // namespace dhpvm::codegen

namespace dhpvm::vm {

class CompileService {
 public:
  // `library`: the path of the code generator's library; empty to look for it next to this code and where the
  // loader looks.
  explicit CompileService(codegen::GeneratorOptions options, std::string library = {});
  // Drops queued jobs, and waits for the running one and for calls in the background.
  ~CompileService();
  CompileService(const CompileService&) = delete;
  CompileService& operator=(const CompileService&) = delete;

  // The code generator. Code that was compiled before comes from the cache, without loading the library. kUnsupported,
  // with the remedy, if this installation has none.
  Result<codegen::CodeGenerator*> generator();
  // The same with the library loaded, for callers that expect to need it.
  Result<codegen::CodeGenerator*> loaded_generator();

  // The error of the last attempt to load the library; empty without one.
  std::optional<Error> failure();
  // All zero before something was compiled.
  codegen::GeneratorStats stats();

  // Waits until `deadline` for all jobs that were added. False if some are left.
  bool finish(std::chrono::steady_clock::time_point deadline);
  // Drops queued jobs, and waits until `deadline` for the running one and for calls in the background. False if one of
  // them still runs, which is noted for the next processes: see attempts().
  bool settle(std::chrono::steady_clock::time_point deadline);

  // Whether the code of loops is listed for people: they want to see optimised code.
  bool lists_kernels() const { return options_.list_kernels != codegen::Listing::kNone; }

  // How many processes in a row have ended before they had compiled what this one has begun to compile, too: the most
  // of any code.
  unsigned attempts();

  using Job = std::function<void(codegen::CodeGenerator&)>;
  // The place of a new job in the queue. A job that takes little time, and that a program waits for, goes first.
  enum class Turn : std::uint8_t { kFirst, kLast };
  // run(): at once, on the calling thread. add(): on the background thread; at once if the system starts no thread.
  // Neither runs the job if there is no generator.
  void run(const Job& job);
  void add(Job job, Turn turn = Turn::kLast);

  // For what nobody can interrupt on behalf of an isolate: compilations by a device's driver, and waiting for launches
  // that have been left behind.
  BackgroundCalls& background() { return background_; }

 private:
  void work();
  // Tries again after a second if it has failed.
  Result<codegen::LoadedGenerator> load_library();

  const codegen::GeneratorOptions options_;
  const std::string library_;
  std::mutex library_mutex_;
  std::optional<Error> failure_;
  std::chrono::steady_clock::time_point retry_at_;  // after that
  std::atomic<bool> has_warned_ = false;            // of options that are not understood

  std::mutex generator_mutex_;
  std::unique_ptr<codegen::CachedGenerator> generator_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  bool stop_ = false;
  bool is_busy_ = false;  // with a job that was added
  Thread thread_;         // started by the first job

  BackgroundCalls background_;  // ends first: its calls use the generator
};

}  // namespace dhpvm::vm
