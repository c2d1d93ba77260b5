// SPDX-License-Identifier: Apache-2.0
#include "vm/compile_service.h"

#include <dlfcn.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/private_library.h"
#include "codegen/cached/build_id.h"
#include "codegen/cached/cached_generator.h"

namespace dhpvm::vm {
namespace {

// The time after a job for which the library's code, 28 MiB, stays in memory. Most programs compile nothing after that,
// and one that does gets the pages mapped again from the system's page cache.
constexpr std::chrono::milliseconds kPatienceWithCode{500};

struct FoundLibrary {
  codegen::CreateCodeGenerator create;
  std::string build;
};

Result<FoundLibrary> find_library(const std::vector<std::string>& paths) {
  OpenedLibrary opened = open_first(paths);
  if (opened.handle != nullptr) {
    if (void* const symbol = dlsym(opened.handle, codegen::kCreateSymbol)) {
      return FoundLibrary{reinterpret_cast<codegen::CreateCodeGenerator>(symbol), codegen::build_id(symbol)};
    }
    opened.reason = opened.path + " is not DHPVM's code generator";
  }
  return error(
      ErrorCode::kUnsupported,
      "programs are interpreted, because the code generator could not be loaded: {}. Install {} next to "
      "the library, or switch it off with --jit=off",
      opened.reason, codegen::kLibraryName);
}

std::vector<std::string> library_paths(const std::string& path) {
  if (!path.empty()) return {path};
  return private_library_paths(reinterpret_cast<const void*>(&find_library), codegen::kLibraryName);
}

}  // namespace

CompileService::CompileService(codegen::GeneratorOptions options, std::string library)
    : options_(std::move(options)), library_(std::move(library)) {}

CompileService::~CompileService() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
    jobs_.clear();
  }
  changed_.notify_all();
  thread_.join();
}

Result<codegen::CodeGenerator*> CompileService::generator() {
  const std::lock_guard lock(generator_mutex_);
  if (generator_ == nullptr) {
    generator_ = std::make_unique<codegen::CachedGenerator>(options_, library_paths(library_),
                                                            [this] { return load_library(); });
  }
  DHPVM_TRY(generator_->prepare());
  return generator_.get();
}

Result<codegen::CodeGenerator*> CompileService::loaded_generator() {
  DHPVM_ASSIGN(codegen::CodeGenerator* const generator, this->generator());
  DHPVM_TRY(static_cast<codegen::CachedGenerator*>(generator)->load());
  return generator;
}

Result<codegen::LoadedGenerator> CompileService::load_library() {
  const std::lock_guard lock(library_mutex_);
  // The time before the library is loaded again. Wrong options stay wrong, but a library may have been unreachable for
  // lack of memory or descriptors.
  constexpr std::chrono::seconds kPatience{1};
  const auto now = std::chrono::steady_clock::now();
  if (failure_ && (failure_->code() == ErrorCode::kInvalidArgument || now < retry_at_)) return *failure_;
  const auto load = [&]() -> Result<codegen::LoadedGenerator> {
    DHPVM_ASSIGN(FoundLibrary found, find_library(library_paths(library_)));
    Result<std::unique_ptr<codegen::CodeGenerator>> made = Error(ErrorCode::kInternal, "");
    found.create(codegen::kInterfaceVersion, options_, made);
    if (!made.ok()) return std::move(made).error();
    return codegen::LoadedGenerator{std::move(made).value(), std::move(found.build)};
  };
  Result<codegen::LoadedGenerator> loaded = load();
  if (loaded.ok()) {
    failure_.reset();
  } else {
    failure_ = loaded.error();
    retry_at_ = now + kPatience;
  }
  return loaded;
}

std::optional<Error> CompileService::failure() {
  const std::lock_guard lock(library_mutex_);
  return failure_;
}

codegen::GeneratorStats CompileService::stats() {
  const std::lock_guard lock(generator_mutex_);
  return generator_ == nullptr ? codegen::GeneratorStats{} : generator_->stats();
}

bool CompileService::finish(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return !is_busy_ && jobs_.empty(); });
}

bool CompileService::settle(std::chrono::steady_clock::time_point deadline) {
  {
    std::unique_lock lock(mutex_);
    jobs_.clear();
    const bool is_idle = changed_.wait_until(lock, deadline, [this] { return !is_busy_; });
    lock.unlock();
    if (background_.finish(deadline) && is_idle) return true;
  }
  const std::lock_guard lock(generator_mutex_);
  if (generator_ != nullptr) generator_->give_up();
  return false;
}

unsigned CompileService::attempts() {
  const std::lock_guard lock(generator_mutex_);
  return generator_ == nullptr ? 0 : generator_->attempts();
}

void CompileService::add(Job job, Turn turn) {
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return;
    if (thread_.start_once("dhpvm-compiler", [this] { work(); }).ok()) {
      jobs_.insert(turn == Turn::kFirst ? jobs_.begin() : jobs_.end(), std::move(job));
      changed_.notify_all();
      return;
    }
  }
  run(job);
}

void CompileService::run(const Job& job) {
  const auto loaded = generator();
  if (loaded.ok()) return job(**loaded);
  // Warn once if options were given and are wrong. A missing library is no reason to warn.
  if (loaded.error().code() != ErrorCode::kInvalidArgument || has_warned_.exchange(true)) return;
  if (options_.warn) options_.warn(loaded.error().message());
}

void CompileService::work() {
  const auto is_wanted = [this] { return stop_ || !jobs_.empty(); };
  bool was_used = false;
  std::unique_lock lock(mutex_);
  for (;;) {
    if (was_used && !changed_.wait_for(lock, kPatienceWithCode, is_wanted)) {
      was_used = false;
      lock.unlock();  // the caller of add() must not wait for the system
      release_library_pages(codegen::kLibraryName);
      lock.lock();
    }
    changed_.wait(lock, is_wanted);
    if (stop_) return;
    was_used = true;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    is_busy_ = true;
    lock.unlock();
    run(job);
    job = nullptr;
    lock.lock();
    is_busy_ = false;
    changed_.notify_all();
  }
}

}  // namespace dhpvm::vm
