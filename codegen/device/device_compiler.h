// SPDX-License-Identifier: Apache-2.0
// Kernels for devices: combines languages, the cache on disk and the handling of LLVM's failures.
#pragma once

#include <memory>
#include <mutex>

#include "base/trace.h"
#include "codegen/cached/code_cache.h"
#include "codegen/codegen.h"
#include "codegen/device/languages.h"

namespace dhpvm::codegen {

// Thread-safe; a thread that compiles needs a stack of 8 MiB.
class DeviceCompiler {
 public:
  // `cache` may be null. The tracer, if there is one, must outlive this.
  DeviceCompiler(std::shared_ptr<CodeCache> cache, Tracer* tracer, std::uint32_t track);

  // As CodeGenerator::compile; a listing is never taken from the cache.
  Result<DeviceCode> compile(const KernelRequest& request, const DeviceTarget& target, bool use_cache = true);

  // The target of GeneratorOptions::list_language. kInvalidArgument.
  Result<DeviceTarget> target_of(std::string_view text) const { return languages_.target_of(text); }

  struct Stats {
    std::uint64_t compiled = 0;
    std::uint64_t loaded_from_cache = 0;
  };
  Stats stats() const;

 private:
  const std::shared_ptr<CodeCache> cache_;
  Tracer* const tracer_;
  const std::uint32_t track_;
  const KernelLanguages languages_;
  mutable std::mutex mutex_;
  Stats stats_;
};

}  // namespace dhpvm::codegen
