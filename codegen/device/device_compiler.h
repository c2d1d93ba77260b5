// SPDX-License-Identifier: Apache-2.0
// Kernels for devices: languages, cache on disk and LLVM's ways to fail put together.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "base/trace.h"
#include "codegen/codegen.h"
#include "codegen/device/ptx/libdevice.h"
#include "codegen/host/code_cache.h"

namespace dhpvm::codegen {

// Thread-safe; a thread that compiles needs a stack of 8 MiB.
class DeviceCompiler {
 public:
  // `cache` may be null. The tracer, if there is one, must outlive this.
  DeviceCompiler(std::shared_ptr<CodeCache> cache, Tracer* tracer, std::uint32_t track);

  // As CodeGenerator::compile; a listing is always made anew.
  Result<DeviceCode> compile(const KernelRequest& request, const DeviceTarget& target, bool use_cache = true);

  struct Stats {
    std::uint64_t compiled = 0;
    std::uint64_t loaded_from_cache = 0;
  };
  Stats stats() const;

 private:
  Result<DeviceCode> make(const KernelRequest& request, const DeviceTarget& target);
  const ptx::Libdevice& libdevice();

  const std::shared_ptr<CodeCache> cache_;
  Tracer* const tracer_;
  const std::uint32_t track_;
  mutable std::mutex mutex_;
  std::optional<ptx::Libdevice> libdevice_;  // looked for when first needed
  Stats stats_;
};

}  // namespace dhpvm::codegen
