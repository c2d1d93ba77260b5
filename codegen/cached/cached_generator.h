// SPDX-License-Identifier: Apache-2.0
// The code generator for whoever has compiled before: what is in the cache is loaded without the code generator's
// library, which is large and is loaded for the first code that is not.
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

// The code generator of a library that was loaded, and the library's build.
struct LoadedGenerator {
  std::unique_ptr<CodeGenerator> generator;
  std::string build;
};

// Thread-safe.
class CachedGenerator final : public CodeGenerator {
 public:
  using Load = std::function<Result<LoadedGenerator>()>;

  // `paths`: where `load` looks for the library, in turn. It is called again after a failure.
  CachedGenerator(const GeneratorOptions& options, const std::vector<std::string>& paths, Load load);
  ~CachedGenerator() override;

  // Loads the library, unless all that it would say is known: that it is there, and that it takes the options.
  Status prepare();
  // Loads the library.
  Status load();

  Result<std::unique_ptr<CompiledFunctions>> compile(const FunctionRequest& request) override;
  Result<std::unique_ptr<CompiledKernel>> compile(const KernelRequest& request) override;
  std::unique_ptr<CompiledKernel> find(const KernelRequest& request) override;
  Result<DeviceCode> compile(const KernelRequest& request, const DeviceTarget& target) override;
  GeneratorStats stats() const override;

  // For a process that ends now: notes in the cache what is being compiled.
  void give_up();
  // How many processes have given up before what this one has begun to compile: the most of any code.
  unsigned attempts() const { return attempts_.load(std::memory_order_relaxed); }

 private:
  class Attempt;

  Result<CodeGenerator*> library();
  template <typename Request>
  std::optional<CachedCompilation> find_code(const Request& request, std::span<const NamedAddress> symbols);

  const GeneratorOptions options_;
  const Load load_;
  const std::uint32_t track_;         // of the tracer
  std::unique_ptr<CodeCache> cache_;  // null: everything is compiled anew
  std::unique_ptr<Linker> linker_;    // as is the cache
  mutable std::mutex mutex_;
  CodeSetting
      setting_;  // guarded by the mutex; without a build, the cache cannot be asked before the library is there
  std::unique_ptr<CodeGenerator> library_;  // guarded by the mutex
  std::vector<CacheKey> begun_;             // what the library compiles now; guarded by the mutex
  std::atomic<std::uint64_t> hits_ = 0;
  std::atomic<unsigned> attempts_ = 0;
};

}  // namespace dhpvm::codegen
