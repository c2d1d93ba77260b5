// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/cached_generator.h"

#include <algorithm>
#include <utility>

#include "codegen/cached/build_id.h"
#include "codegen/cached/kernel_content.h"
#include "codegen/cached/loaded_code.h"

namespace dhpvm::codegen {

// One request, from its start to its end.
class CachedGenerator::Attempt {
 public:
  template <typename Request>
  Attempt(CachedGenerator& generator, const Request& request) : generator_(generator) {
    if (generator.cache_ == nullptr) return;
    const std::lock_guard lock(generator.mutex_);
    key_ = key_of(request, generator.setting_);
    generator.begun_.push_back(key_);
    const unsigned before = generator.cache_->attempts(key_);
    if (before > generator.attempts()) generator.attempts_.store(before, std::memory_order_relaxed);
  }
  ~Attempt() {
    const std::lock_guard lock(generator_.mutex_);
    const auto mine = std::ranges::find(generator_.begun_, key_);
    if (mine != generator_.begun_.end()) generator_.begun_.erase(mine);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

 private:
  CachedGenerator& generator_;
  CacheKey key_;
};

CachedGenerator::CachedGenerator(const GeneratorOptions& options, const std::vector<std::string>& paths,
                                 Load load)
    : options_(options),
      load_(std::move(load)),
      track_(options.tracer == nullptr ? 0 : options.tracer->add_track("code cache")) {
  // Listings and counted mutations require that code is compiled.
  const bool is_listed = options.list_kernels != Listing::kNone || options.list_functions != Listing::kNone;
  if (!options.cache || is_listed || options.mutation != nullptr) return;
  auto linker =
      Linker::create(std::make_unique<SymbolTable>(),
                     {.debugger = options.debugger, .profiler = options.profiler, .loaded = options.loaded});
  // The library reports the reason.
  if (!linker.ok()) return;
  linker_ = std::move(linker).value();
  cache_ = std::make_unique<CodeCache>(
      CodeCacheOptions{.directory = options.cache_directory, .limit = options.cache_limit, .warn = {}});
  setting_.cpu = options.cpu;
  setting_.is_traceable = options.debugger || options.profiler || options.loaded;
  // Only LLVM knows whether it supports any other processor.
  if (options.cpu != "native") return;
  for (const std::string& path : paths) {
    if (path.find('/') == path.npos) return;  // the dynamic loader searches for it
    setting_.build = build_id_in_file(path);
    if (!setting_.build.empty()) return;
  }
}

CachedGenerator::~CachedGenerator() = default;

Status CachedGenerator::prepare() {
  {
    const std::lock_guard lock(mutex_);
    if (cache_ != nullptr && !setting_.build.empty()) return {};
  }
  return load();
}

Status CachedGenerator::load() {
  Result<CodeGenerator*> loaded = library();
  if (!loaded.ok()) return std::move(loaded).error();
  return {};
}

Result<CodeGenerator*> CachedGenerator::library() {
  const std::lock_guard lock(mutex_);
  if (library_ == nullptr) {
    DHPVM_ASSIGN(LoadedGenerator loaded, load_());
    library_ = std::move(loaded.generator);
    setting_.build = std::move(loaded.build);
  }
  return library_.get();
}

template <typename Request>
std::optional<CachedCompilation> CachedGenerator::find_code(const Request& request,
                                                            std::span<const NamedAddress> symbols) {
  if (cache_ == nullptr) return std::nullopt;
  CodeSetting setting;
  {
    const std::lock_guard lock(mutex_);
    setting = setting_;
  }
  if (setting.build.empty()) return std::nullopt;
  const auto begin = Tracer::Clock::now();
  std::optional<CachedCompilation> found = load_cached(*cache_, *linker_, key_of(request, setting), symbols);
  if (found && options_.tracer != nullptr)
    options_.tracer->slice(track_, "load from the cache", begin, Tracer::Clock::now());
  return found;
}

Result<std::unique_ptr<CompiledFunctions>> CachedGenerator::compile(const FunctionRequest& request) {
  DHPVM_TRY(prepare());
  if (auto found = find_code(request, named_calls(request.calls))) {
    hits_.fetch_add(1, std::memory_order_relaxed);
    return compiled_functions(std::move(found->code));
  }
  DHPVM_ASSIGN(CodeGenerator* const generator, library());
  const Attempt attempt(*this, request);
  return generator->compile(request);
}

Result<std::unique_ptr<CompiledKernel>> CachedGenerator::compile(const KernelRequest& request) {
  DHPVM_TRY(prepare());
  if (std::unique_ptr<CompiledKernel> found = find(request)) return found;
  DHPVM_ASSIGN(CodeGenerator* const generator, library());
  const Attempt attempt(*this, request);
  return generator->compile(request);
}

std::unique_ptr<CompiledKernel> CachedGenerator::find(const KernelRequest& request) {
  if (!prepare().ok()) return nullptr;
  auto found = find_code(request, {});
  if (!found) return nullptr;
  auto description = decode_description(found->metadata);
  if (!description) return nullptr;
  hits_.fetch_add(1, std::memory_order_relaxed);
  return compiled_kernel(std::move(found->code), std::move(*description));
}

Result<DeviceCode> CachedGenerator::compile(const KernelRequest& request, const DeviceTarget& target) {
  DHPVM_ASSIGN(CodeGenerator* const generator, library());
  return generator->compile(request, target);
}

void CachedGenerator::give_up() {
  const std::lock_guard lock(mutex_);
  for (const CacheKey& key : begun_) cache_->note_attempt(key);
}

GeneratorStats CachedGenerator::stats() const {
  const std::lock_guard lock(mutex_);
  GeneratorStats stats = library_ == nullptr ? GeneratorStats{} : library_->stats();
  stats.cache_hits += hits_.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace dhpvm::codegen
