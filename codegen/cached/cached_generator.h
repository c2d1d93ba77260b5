// SPDX-License-Identifier: Apache-2.0
// A code generator in front of the cache: it loads cached code without the library of the code generator, which is
// large and is loaded at the first miss.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "codegen/cached/code_cache.h"
#include "codegen/cached/code_keys.h"
#include "codegen/cached/linker.h"
#include "codegen/cached/loaded_code.h"
#include "codegen/codegen.h"

namespace dhpvm::codegen {

// The code generator of the loaded library, and the library's build ID.
struct LoadedGenerator {
  std::unique_ptr<CodeGenerator> generator;
  std::string build;
};

// Thread-safe.
class CachedGenerator final : public CodeGenerator {
 public:
  using Load = std::function<Result<LoadedGenerator>()>;

  // `paths`: the candidates for the library, in order. `load` is called again after a failure.
  CachedGenerator(const GeneratorOptions& options, const std::vector<std::string>& paths, Load load);
  ~CachedGenerator() override;

  // Loads the library, unless its answers are cached: that it exists, and that it accepts the options.
  Status prepare();
  // Loads the library.
  Status load();

  Result<std::unique_ptr<CompiledFunctions>> compile(const FunctionRequest& request) override;
  Result<std::unique_ptr<CompiledKernel>> compile(const KernelRequest& request) override;
  std::unique_ptr<CompiledKernel> find(const KernelRequest& request) override;
  Result<DeviceCode> compile(const KernelRequest& request, const DeviceTarget& target) override;
  GeneratorStats stats() const override;

  // For a process that ends now: records in the cache what is still being compiled.
  void give_up();
  // The largest number of processes that ended before they had compiled a piece of code that this one has started to
  // compile.
  unsigned attempts() const { return attempts_.load(std::memory_order_relaxed); }

 private:
  class Attempt;

  Result<CodeGenerator*> library();
  template <typename Request>
  std::optional<CachedCompilation> find_code(const Request& request, std::span<const NamedAddress> symbols);

  const GeneratorOptions options_;
  const Load load_;
  const std::uint32_t track_;         // the track of the tracer
  std::unique_ptr<CodeCache> cache_;  // null: everything is compiled anew
  std::unique_ptr<Linker> linker_;    // as is the cache
  mutable std::mutex mutex_;
  CodeSetting
      setting_;  // guarded by the mutex; without a build ID, the cache cannot be used before the library is loaded
  std::unique_ptr<CodeGenerator> library_;  // guarded by the mutex
  std::vector<CacheKey> begun_;             // being compiled by the library; guarded by the mutex
  std::atomic<std::uint64_t> hits_ = 0;
  std::atomic<unsigned> attempts_ = 0;
};

}  // namespace dhpvm::codegen
