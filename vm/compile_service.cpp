// SPDX-License-Identifier: Apache-2.0
#include "vm/compile_service.h"

#include <dlfcn.h>

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/private_library.h"

namespace dhpvm::vm {
namespace {

Result<codegen::CreateCodeGenerator> find_library(const std::string& path) {
  std::vector<std::string> names{path};
  if (path.empty()) {
    names = private_library_paths(reinterpret_cast<const void*>(&find_library), codegen::kLibraryName);
  }
  OpenedLibrary opened = open_first(names);
  if (opened.handle != nullptr) {
    if (void* const symbol = dlsym(opened.handle, codegen::kCreateSymbol)) {
      return reinterpret_cast<codegen::CreateCodeGenerator>(symbol);
    }
    opened.reason = opened.path + " is not DHPVM's code generator";
  }
  return error(
      ErrorCode::kUnsupported,
      "programs are interpreted, because the code generator could not be loaded: {}. Install {} next to "
      "the library, or switch it off with --jit=off",
      opened.reason, codegen::kLibraryName);
}

}  // namespace

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
  const std::lock_guard lock(library_mutex_);
  if (generator_ != nullptr) return generator_.get();
  // Options that are not understood stay so. A library may have been unreachable for lack of memory or descriptors.
  constexpr std::chrono::seconds kPatience{1};
  const auto now = std::chrono::steady_clock::now();
  if (failure_ && (failure_->code() == ErrorCode::kInvalidArgument || now < retry_at_)) return *failure_;
  const auto load = [&]() -> Status {
    DHPVM_ASSIGN(const codegen::CreateCodeGenerator create, find_library(library_));
    Result<std::unique_ptr<codegen::CodeGenerator>> made = Error(ErrorCode::kInternal, "");
    create(codegen::kInterfaceVersion, options_, made);
    if (!made.ok()) return std::move(made).error();
    generator_ = std::move(made).value();
    return {};
  };
  if (Status status = load(); !status.ok()) {
    failure_ = std::move(status).error();
    retry_at_ = now + kPatience;
    return *failure_;
  }
  failure_.reset();
  return generator_.get();
}

std::optional<Error> CompileService::failure() {
  const std::lock_guard lock(library_mutex_);
  return failure_;
}

codegen::GeneratorStats CompileService::stats() {
  const std::lock_guard lock(library_mutex_);
  return generator_ == nullptr ? codegen::GeneratorStats{} : generator_->stats();
}

bool CompileService::finish(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, deadline, [this] { return !is_busy_ && jobs_.empty(); });
}

bool CompileService::settle(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(mutex_);
  jobs_.clear();
  return changed_.wait_until(lock, deadline, [this] { return !is_busy_; });
}

void CompileService::add(Job job) {
  {
    const std::lock_guard lock(mutex_);
    if (stop_) return;
    if (thread_.start_once("dhpvm-compiler", [this] { work(); }).ok()) {
      jobs_.push_back(std::move(job));
      changed_.notify_all();
      return;
    }
  }
  run(job);
}

void CompileService::run(const Job& job) {
  const auto loaded = generator();
  if (loaded.ok()) return job(**loaded);
  // Warn once if options were explicit and wrong. A missing library is no reason to warn.
  if (loaded.error().code() != ErrorCode::kInvalidArgument || has_warned_.exchange(true)) return;
  if (options_.warn) options_.warn(loaded.error().message());
}

void CompileService::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stop_ || !jobs_.empty(); });
    if (stop_) return;
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
