// SPDX-License-Identifier: Apache-2.0
// The code generator: lowering, vectorisation, host compiler and cache put together.
#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <tuple>

#include "base/error.h"
#include "codegen/codegen.h"
#include "codegen/device/device_compiler.h"
#include "codegen/host/host_compiler.h"
#include "codegen/kernel/kernel_content.h"
#include "codegen/kernel/make_kernel.h"
#include "codegen/lower/function_lowering.h"
#include "codegen/spmd/staging.h"

namespace dhpvm::codegen {
namespace {

using Clock = std::chrono::steady_clock;

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
  LoadedKernel(LoadedCode code, KernelDescription description)
      : code_(std::move(code)), description_(std::move(description)) {}
  KernelCode code() const override { return reinterpret_cast<KernelCode>(code_.address(kKernelSymbol)); }
  const std::vector<KernelSite>& sites() const override { return description_.sites; }
  unsigned width() const override { return description_.width; }
  unsigned rows() const override { return description_.rows; }
  unsigned staged_operands() const override { return description_.staged_operands; }
  unsigned packed_operands() const override { return description_.packed_operands; }
  std::size_t panel_bytes() const override {
    return description_.packed_operands == 0 ? 0 : spmd::kPanelMemory;
  }
  const std::string& scalar_reason() const override { return description_.scalar_reason; }

 private:
  LoadedCode code_;
  KernelDescription description_;
};

class HostGenerator final : public CodeGenerator {
 public:
  HostGenerator(std::unique_ptr<HostCompiler> compiler, std::shared_ptr<CodeCache> cache,
                const GeneratorOptions& options)
      : compiler_(std::move(compiler)),
        options_(options),
        track_(options.tracer == nullptr ? 0 : options.tracer->add_track("compiler")),
        devices_(std::move(cache), options.tracer, track_) {}

  // Follows GeneratorOptions::list_language. kInvalidArgument if it names no language.
  Status choose_listed_target() {
    if (options_.list_kernels != Listing::kDevice) return {};
    DHPVM_ASSIGN(listed_target_, devices_.target_of(options_.list_language));
    return {};
  }

  Result<std::unique_ptr<CompiledKernel>> compile(const KernelRequest& request) override {
    const Clock::time_point begin = Clock::now();
    const CacheKey key = compiler_->key_of(Pipeline::kKernels, kernel_content(request));
    const Listing listing = list_for_device(request) ? Listing::kNone : options_.list_kernels;
    if (listing == Listing::kNone) {
      if (auto cached = compiler_->load_cached(key, {}, track_)) {
        if (auto description = decode_description(cached->metadata)) {
          return std::unique_ptr<CompiledKernel>(
              std::make_unique<LoadedKernel>(std::move(cached->code), std::move(*description)));
        }
      }
    }
    IrModule ir = compiler_->new_module("kernel");
    DHPVM_ASSIGN(KernelDescription description,
                 make_kernel(request, compiler_->target(), compiler_->symbols(), *ir.module));
    const std::vector<std::byte> metadata = encode_description(description);
    CompileRequest compilation;
    compilation.ir = std::move(ir);
    // Without lanes, it is LLVM that may find vectors, in its inner loops.
    compilation.pipeline = description.width > 1 ? Pipeline::kKernels : Pipeline::kOneLane;
    compilation.key = &key;
    compilation.metadata = metadata;
    DHPVM_ASSIGN(LoadedCode code, compile(std::move(compilation), listing));
    note(kernel_times_, begin);
    return std::unique_ptr<CompiledKernel>(
        std::make_unique<LoadedKernel>(std::move(code), std::move(description)));
  }

  Result<DeviceCode> compile(const KernelRequest& request, const DeviceTarget& target) override {
    Result<DeviceCode> code = devices_.compile(request, target);
    if (code.ok() && listed_target_.language == target.language) list_once(request, code->text);
    return code;
  }

  Result<std::unique_ptr<CompiledFunctions>> compile(const FunctionRequest& request) override {
    const Clock::time_point begin = Clock::now();
    const NamedAddress calls[] = {
#define X(name) {"dhpvm_" #name, request.calls.name},
        DHPVM_RUNTIME_CALLS(X)
#undef X
    };
    const CacheKey key = compiler_->key_of(Pipeline::kFunctions, content_of(request));
    if (options_.list_functions == Listing::kNone) {
      if (auto cached = compiler_->load_cached(key, calls, track_)) {
        return std::unique_ptr<CompiledFunctions>(std::make_unique<LoadedFunctions>(std::move(cached->code)));
      }
    }
    IrModule ir = compiler_->new_module("functions");
    std::vector<FunctionFacts> facts;
    for (const std::uint32_t cost : request.stack_costs) facts.push_back({cost});
    std::set<std::uint32_t> lowered(request.functions.begin(), request.functions.end());
    lowered.insert(request.continued.begin(), request.continued.end());
    const std::optional<ExpandedModule> expanded = see_through_calls(*request.module, lowered);
    const std::map<std::uint32_t, SeenCalls> none;
    Unit unit(expanded ? expanded->module : *request.module, request.layout, facts, *ir.module,
              expanded ? expanded->calls : none, options_.mutation);
    for (const std::uint32_t function : request.functions) unit.declare(function);
    for (const std::uint32_t function : request.functions) lower_function(unit, function);
    for (const std::uint32_t function : request.continued) lower_continuations(unit, function);
    CompileRequest compilation;
    compilation.ir = std::move(ir);
    compilation.pipeline = Pipeline::kFunctions;
    compilation.symbols = calls;
    compilation.key = &key;
    DHPVM_ASSIGN(LoadedCode code, compile(std::move(compilation), options_.list_functions));
    note(function_times_, begin);
    return std::unique_ptr<CompiledFunctions>(std::make_unique<LoadedFunctions>(std::move(code)));
  }

  GeneratorStats stats() const override {
    const HostStats host = compiler_->stats();
    GeneratorStats stats;
    const DeviceCompiler::Stats devices = devices_.stats();
    stats.compiles = host.compiled + devices.compiled;
    stats.cache_hits = host.loaded_from_cache + devices.loaded_from_cache;
    const std::lock_guard lock(mutex_);
    std::vector<std::uint64_t> times = kernel_times_;
    times.insert(times.end(), function_times_.begin(), function_times_.end());
    stats.compile_median_ns = median(std::move(times));
    stats.kernel_compile_median_ns = median(kernel_times_);
    return stats;
  }

 private:
  // Lists the code for a device, as it is mostly run there, if that is requested; the host's code stays the same.
  bool list_for_device(KernelRequest request) {
    if (listed_target_.language.empty()) return false;
    request.has_small_indices = true;
    const Result<DeviceCode> code = devices_.compile(request, listed_target_, /*use_cache=*/false);
    list_once(request, code.ok() ? code->text : "// " + code.error().message());
    return true;
  }

  // Where host and device both compile a loop, the same text comes twice.
  void list_once(const KernelRequest& request, const std::string& text) {
    {
      const std::lock_guard lock(mutex_);
      if (!listed_.emplace(request.module, request.kernel, text).second) return;
    }
    if (options_.list) options_.list(text);
  }

  // Everything that compiled functions depend on apart from the target: the whole module, because inlining, layouts
  // and the classes behind an interface come from anywhere in it.
  static std::string content_of(const FunctionRequest& request) {
    std::string content(reinterpret_cast<const char*>(request.identity.data()), request.identity.size());
    const auto add = [&](const void* data, std::size_t size) {
      content.append(static_cast<const char*>(data), size);
    };
    const auto add_number = [&](std::uint64_t number) { add(&number, sizeof(number)); };
    add(&request.layout, sizeof(request.layout));
    for (const std::uint32_t cost : request.stack_costs) add_number(cost);
    add_number(request.functions.size());
    for (const std::uint32_t function : request.functions) add_number(function);
    for (const std::uint32_t function : request.continued) add_number(function);
    return content;
  }

  Result<LoadedCode> compile(CompileRequest request, Listing listing) {
    request.track = track_;
    request.list_ir = listing == Listing::kLlvm;
    request.list_assembly = listing == Listing::kAssembly;
    DHPVM_ASSIGN(Compiled compiled, compiler_->compile(std::move(request)));
    if (listing != Listing::kNone && options_.list) {
      options_.list(listing == Listing::kLlvm ? compiled.ir : compiled.assembly);
    }
    return std::move(compiled.code);
  }

  void note(std::vector<std::uint64_t>& times, Clock::time_point begin) {
    const auto elapsed = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
    const std::lock_guard lock(mutex_);
    times.push_back(static_cast<std::uint64_t>(elapsed.count()));
  }

  // The upper one of two; 0 of none.
  static std::uint64_t median(std::vector<std::uint64_t> times) {
    if (times.empty()) return 0;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    return *middle;
  }

  const std::unique_ptr<HostCompiler> compiler_;
  const GeneratorOptions options_;
  const std::uint32_t track_;  // of the tracer
  DeviceCompiler devices_;
  DeviceTarget listed_target_;  // without a language: nothing is listed as a device would get it
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> kernel_times_;  // of all compilations
  std::vector<std::uint64_t> function_times_;
  std::set<std::tuple<const void*, std::uint32_t, std::string>> listed_;  // for devices: module, kernel, text
};

Result<std::unique_ptr<CodeGenerator>> create(std::uint32_t version, const GeneratorOptions& options) {
  if (version != kInterfaceVersion) {
    return error(ErrorCode::kUnsupported,
                 "{} is of another version (interface {}, not {}): install both together", kLibraryName,
                 kInterfaceVersion, version);
  }
  HostOptions host;
  host.linker = {.debugger = options.debugger, .profiler = options.profiler, .loaded = options.loaded};
  host.tracer = options.tracer;
  if (options.cache && options.mutation == nullptr) {
    host.cache = std::make_shared<CodeCache>(CodeCacheOptions{
        .directory = options.cache_directory, .limit = options.cache_limit, .warn = options.warn});
  }
  std::shared_ptr<CodeCache> cache = host.cache;
  DHPVM_ASSIGN(std::unique_ptr<HostCompiler> compiler,
               HostCompiler::create(options.cpu, std::make_unique<SymbolTable>(), std::move(host)));
  auto generator = std::make_unique<HostGenerator>(std::move(compiler), std::move(cache), options);
  DHPVM_TRY(generator->choose_listed_target());
  return std::unique_ptr<CodeGenerator>(std::move(generator));
}

}  // namespace

}  // namespace dhpvm::codegen

extern "C" [[gnu::visibility("default")]] void dhpvm_create_code_generator(
    std::uint32_t version, const dhpvm::codegen::GeneratorOptions& options,
    dhpvm::Result<std::unique_ptr<dhpvm::codegen::CodeGenerator>>& result) {
  result = dhpvm::codegen::create(version, options);
}
