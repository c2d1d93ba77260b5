// SPDX-License-Identifier: Apache-2.0
// Compiled functions and kernels in the form that the virtual machine uses, made of loaded code.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "codegen/cached/code_cache.h"
#include "codegen/cached/kernel_content.h"
#include "codegen/cached/linker.h"
#include "codegen/codegen.h"

namespace dhpvm::codegen {

std::unique_ptr<CompiledFunctions> compiled_functions(LoadedCode code);
std::unique_ptr<CompiledKernel> compiled_kernel(LoadedCode code, KernelDescription description);

// The runtime's functions by their symbol names in compiled code.
std::vector<NamedAddress> named_calls(const RuntimeCalls& calls);

struct CachedCompilation {
  LoadedCode code;
  std::vector<std::byte> metadata;
};

// Loads the code that is cached under this key; empty if it has to be compiled. An intact entry that cannot be loaded
// is removed: a new compilation replaces it or reports the error.
std::optional<CachedCompilation> load_cached(CodeCache& cache, Linker& linker, const CacheKey& key,
                                             std::span<const NamedAddress> symbols = {});

}  // namespace dhpvm::codegen
