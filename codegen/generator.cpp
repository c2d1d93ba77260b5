// SPDX-License-Identifier: Apache-2.0
// The code generator: combines lowering, vectorisation and host compiler, and stores its results in the cache. The
// caller has searched the cache (cached/cached_generator.h).
#include <algorithm>
#include <chrono>
#include <mutex>
#include <set>
#include <tuple>

#include "base/error.h"
#include "codegen/cached/build_id.h"
#include "codegen/cached/code_keys.h"
#include "codegen/cached/kernel_content.h"
#include "codegen/cached/loaded_code.h"
#include "codegen/codegen.h"
#include "codegen/device/device_compiler.h"
#include "codegen/host/host_compiler.h"
#include "codegen/kernel/make_kernel.h"
#include "codegen/lower/function_lowering.h"

namespace dhpvm::codegen {
namespace {

using Clock = std::chrono::steady_clock;

class HostGenerator final : public CodeGenerator {
 public:
  HostGenerator(std::unique_ptr<HostCompiler> compiler, std::shared_ptr<CodeCache> cache,
                const GeneratorOptions& options)
      : compiler_(std::move(compiler)),
        options_(options),
        setting_{build_id(), options.cpu, options.debugger || options.profiler || options.loaded},
        track_(options.tracer == nullptr ? 0 : options.tracer->add_track("compiler")),
        devices_(std::move(cache), options.tracer, track_) {}

  // Sets the target of GeneratorOptions::list_language. kInvalidArgument if it names no language.
  Status choose_listed_target() {
    if (options_.list_kernels != Listing::kDevice) return {};
    DHPVM_ASSIGN(listed_target_, devices_.target_of(options_.list_language));
    return {};
  }

  Result<std::unique_ptr<CompiledKernel>> compile(const KernelRequest& request) override {
    const Clock::time_point begin = Clock::now();
    const CacheKey key = key_of(request, setting_);
    const Listing listing = list_for_device(request) ? Listing::kNone : options_.list_kernels;
    IrModule ir = compiler_->new_module("kernel");
    DHPVM_ASSIGN(KernelDescription description,
                 make_kernel(request, compiler_->target(), compiler_->symbols(), *ir.module));
    const std::vector<std::byte> metadata = encode_description(description);
    CompileRequest compilation;
    compilation.ir = std::move(ir);
    compilation.pipeline = pipeline_of(description);
    compilation.key = &key;
    compilation.metadata = metadata;
    DHPVM_ASSIGN(LoadedCode code, compile(std::move(compilation), listing));
    note(kernel_times_, begin);
    return compiled_kernel(std::move(code), std::move(description));
  }

  // The caller has searched the cache (cached/cached_generator.h).
  std::unique_ptr<CompiledKernel> find(const KernelRequest& /*request*/) override { return nullptr; }

  Result<DeviceCode> compile(const KernelRequest& request, const DeviceTarget& target) override {
    Result<DeviceCode> code = devices_.compile(request, target);
    if (code.ok() && listed_target_.language == target.language) list_once(request, code->text);
    return code;
  }

  Result<std::unique_ptr<CompiledFunctions>> compile(const FunctionRequest& request) override {
    const Clock::time_point begin = Clock::now();
    const std::vector<NamedAddress> calls = named_calls(request.calls);
    const CacheKey key = key_of(request, setting_);
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
    return compiled_functions(std::move(code));
  }

  GeneratorStats stats() const override {
    const HostStats host = compiler_->stats();
    GeneratorStats stats;
    const DeviceCompiler::Stats devices = devices_.stats();
    stats.compiles = host.compiled + devices.compiled;
    stats.cache_hits = devices.loaded_from_cache;
    const std::lock_guard lock(mutex_);
    std::vector<std::uint64_t> times = kernel_times_;
    times.insert(times.end(), function_times_.begin(), function_times_.end());
    stats.compile_median_ns = median(std::move(times));
    stats.kernel_compile_median_ns = median(kernel_times_);
    return stats;
  }

 private:
  // Without lanes, LLVM may vectorise inner loops.
  static Pipeline pipeline_of(const KernelDescription& kernel) {
    if (kernel.tier == KernelTier::kBaseline) return Pipeline::kBaseline;
    return kernel.width > 1 ? Pipeline::kKernels : Pipeline::kOneLane;
  }

  // Lists the code for a device in its usual form, if requested; the host's code is unchanged.
  bool list_for_device(KernelRequest request) {
    if (listed_target_.language.empty()) return false;
    request.has_small_indices = true;
    const Result<DeviceCode> code = devices_.compile(request, listed_target_, /*use_cache=*/false);
    list_once(request, code.ok() ? code->text : "// " + code.error().message());
    return true;
  }

  // Avoids a duplicate if both host and device compile a loop.
  void list_once(const KernelRequest& request, const std::string& text) {
    {
      const std::lock_guard lock(mutex_);
      if (!listed_.emplace(request.module, request.kernel, text).second) return;
    }
    if (options_.list) options_.list(text);
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

  // The upper median; 0 if there are none.
  static std::uint64_t median(std::vector<std::uint64_t> times) {
    if (times.empty()) return 0;
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    return *middle;
  }

  const std::unique_ptr<HostCompiler> compiler_;
  const GeneratorOptions options_;
  const CodeSetting setting_;
  const std::uint32_t track_;  // of the tracer
  DeviceCompiler devices_;
  DeviceTarget listed_target_;  // without a language: no device listings
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
