// SPDX-License-Identifier: Apache-2.0
// The code generator: lowering and host compiler put together.
#include <algorithm>

#include "base/error.h"
#include "codegen/codegen.h"
#include "codegen/host/host_compiler.h"
#include "codegen/kernel/kernel_loop.h"
#include "codegen/lower/function_lowering.h"

namespace dhpvm::codegen {
namespace {

constexpr const char* kKernelSymbol = "kernel";

class LoadedFunctions final : public CompiledFunctions {
 public:
  explicit LoadedFunctions(LoadedCode code) : code_(std::move(code)) {}
  const void* body(std::uint32_t function) const override {
    return code_.address(Unit::symbol("body", function));
  }
  EnterFunction enter(std::uint32_t function) const override {
    return reinterpret_cast<EnterFunction>(code_.address(Unit::symbol("enter", function)));
  }
  EnterFunction continuation(std::uint32_t function, std::uint32_t pc) const override {
    return reinterpret_cast<EnterFunction>(
        code_.address(Unit::symbol("continue", function) + "." + std::to_string(pc)));
  }

 private:
  LoadedCode code_;
};

class LoadedKernel final : public CompiledKernel {
 public:
  LoadedKernel(LoadedCode code, std::vector<KernelSite> sites, unsigned width, std::string reason)
      : code_(std::move(code)), sites_(std::move(sites)), width_(width), reason_(std::move(reason)) {}
  KernelCode code() const override { return reinterpret_cast<KernelCode>(code_.address(kKernelSymbol)); }
  const std::vector<KernelSite>& sites() const override { return sites_; }
  unsigned width() const override { return width_; }
  const std::string& scalar_reason() const override { return reason_; }

 private:
  LoadedCode code_;
  std::vector<KernelSite> sites_;
  unsigned width_;
  std::string reason_;
};

class HostGenerator final : public CodeGenerator {
 public:
  explicit HostGenerator(std::unique_ptr<HostCompiler> compiler) : compiler_(std::move(compiler)) {}

  Result<std::unique_ptr<CompiledKernel>> compile(const KernelRequest& request) override {
    IrModule ir = compiler_->new_module("kernel");
    DHPVM_ASSIGN(KernelBody body, lower_kernel(*request.module, request.kernel, request.proven, *ir.module));
    WideBody wide;
    wide.full = body.function;
    make_kernel_loop(request.module->kernels[request.kernel], body, wide, kKernelSymbol, *ir.module);
    std::string reason;
    DHPVM_ASSIGN(LoadedCode code, compiler_->compile(std::move(ir), Pipeline::kKernels));
    return std::unique_ptr<CompiledKernel>(std::make_unique<LoadedKernel>(
        std::move(code), std::move(body.sites), wide.width, std::move(reason)));
  }

  Result<std::unique_ptr<CompiledFunctions>> compile(const FunctionRequest& request) override {
    IrModule ir = compiler_->new_module("functions");
    std::vector<FunctionFacts> facts;
    for (const std::uint32_t cost : request.stack_costs) facts.push_back({cost});
    Unit unit(*request.module, request.layout, facts, *ir.module);
    for (const std::uint32_t function : request.functions) unit.declare(function);
    for (const std::uint32_t function : request.functions) lower_function(unit, function);
    for (const auto& [function, pc] : request.continuations) lower_continuation(unit, function, pc);
    const NamedAddress calls[] = {
#define X(name) {"dhpvm_" #name, request.calls.name},
        DHPVM_RUNTIME_CALLS(X)
#undef X
    };
    DHPVM_ASSIGN(LoadedCode code, compiler_->compile(std::move(ir), Pipeline::kFunctions, calls));
    return std::unique_ptr<CompiledFunctions>(std::make_unique<LoadedFunctions>(std::move(code)));
  }

 private:
  std::unique_ptr<HostCompiler> compiler_;
};

Result<std::unique_ptr<CodeGenerator>> create(std::uint32_t version, const GeneratorOptions& options) {
  if (version != kInterfaceVersion) {
    return error(ErrorCode::kUnsupported,
                 "{} is of another version (interface {}, not {}): install both together", kLibraryName,
                 kInterfaceVersion, version);
  }
  DHPVM_ASSIGN(std::unique_ptr<HostCompiler> compiler,
               HostCompiler::create(options.cpu, std::make_unique<SymbolTable>()));
  return std::unique_ptr<CodeGenerator>(std::make_unique<HostGenerator>(std::move(compiler)));
}

}  // namespace

}  // namespace dhpvm::codegen

extern "C" [[gnu::visibility("default")]] void dhpvm_create_code_generator(
    std::uint32_t version, const dhpvm::codegen::GeneratorOptions& options,
    dhpvm::Result<std::unique_ptr<dhpvm::codegen::CodeGenerator>>& result) {
  result = dhpvm::codegen::create(version, options);
}
