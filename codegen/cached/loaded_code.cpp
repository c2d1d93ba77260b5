// SPDX-License-Identifier: Apache-2.0
#include "codegen/cached/loaded_code.h"

#include <utility>

#include "codegen/cached/code_keys.h"

namespace dhpvm::codegen {
namespace {

class LoadedFunctions final : public CompiledFunctions {
 public:
  explicit LoadedFunctions(LoadedCode code) : code_(std::move(code)) {}
  const void* body(std::uint32_t function) const override {
    return code_.address(function_symbol("body", function));
  }
  EnterFunction enter(std::uint32_t function) const override {
    return reinterpret_cast<EnterFunction>(code_.address(function_symbol("enter", function)));
  }
  EnterFunction continuation(std::uint32_t function, std::uint32_t pc) const override {
    return reinterpret_cast<EnterFunction>(
        code_.address(function_symbol("continue", function) + "." + std::to_string(pc)));
  }

 private:
  LoadedCode code_;
};

class LoadedKernel final : public CompiledKernel {
 public:
  LoadedKernel(LoadedCode code, KernelDescription description)
      : code_(std::move(code)), description_(std::move(description)) {}
  KernelCode code() const override { return reinterpret_cast<KernelCode>(code_.address(kKernelSymbol)); }
  const std::vector<KernelSite>& sites() const override { return description_.sites; }
  unsigned width() const override { return description_.width; }
  unsigned rows() const override { return description_.rows; }
  unsigned staged_operands() const override { return description_.staged_operands; }
  unsigned packed_operands() const override { return description_.packed_operands; }
  std::size_t panel_bytes() const override { return description_.panel_bytes; }
  const std::string& scalar_reason() const override { return description_.scalar_reason; }
  KernelTier tier() const override { return description_.tier; }

 private:
  LoadedCode code_;
  KernelDescription description_;
};

}  // namespace

std::unique_ptr<CompiledFunctions> compiled_functions(LoadedCode code) {
  return std::make_unique<LoadedFunctions>(std::move(code));
}

std::unique_ptr<CompiledKernel> compiled_kernel(LoadedCode code, KernelDescription description) {
  return std::make_unique<LoadedKernel>(std::move(code), std::move(description));
}

std::vector<NamedAddress> named_calls(const RuntimeCalls& calls) {
  return {
#define X(name) {"dhpvm_" #name, calls.name},
      DHPVM_RUNTIME_CALLS(X)
#undef X
  };
}

std::optional<CachedCompilation> load_cached(CodeCache& cache, Linker& linker, const CacheKey& key,
                                             std::span<const NamedAddress> symbols) {
  const std::optional<CachedCode> found = cache.find(key);
  if (!found) return std::nullopt;
  Result<LoadedCode> code = linker.load(found->object(), symbols);
  if (!code.ok()) {
    // Intact code for which there is no memory now may be loaded later.
    if (code.error().code() != ErrorCode::kOutOfMemory) cache.remove(key);
    return std::nullopt;
  }
  return CachedCompilation{std::move(code).value(), {found->metadata().begin(), found->metadata().end()}};
}

}  // namespace dhpvm::codegen
