// SPDX-License-Identifier: Apache-2.0
#include "vm/device_kernels.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/one_line.h"
#include "bytecode/decode.h"
#include "bytecode/extract.h"
#include "bytecode/writer.h"
#include "offload/devices/kernel_compiler.h"
#include "offload/devices/small_indices.h"

namespace dhpvm::vm {

using offload::KernelFormat;

namespace {

// Whether the failure may pass: memory, descriptors and threads become free again; code that a compiler refuses does
// not change.
bool may_pass(const Error& error) {
  return error.code() != ErrorCode::kCompile && error.code() != ErrorCode::kUnsupported &&
         error.code() != ErrorCode::kInternal;
}

}  // namespace

bool LoadedKernel::cannot_trap(const offload::Footprint& footprint, const offload::LoopChunk& chunk) const {
  if (std::ranges::find(accesses, offload::kNothing) != accesses.end()) return false;
  offload::Ranges ranges(footprint, chunk);
  return std::ranges::all_of(
      accesses, [&](std::uint32_t access) { return ranges.cannot_fail(footprint.accesses[access]); });
}

// A kernel on its way, with all that its compilation uses: that may go on after the isolate has ended.
struct DeviceKernels::Loading {
  std::shared_ptr<const LinkedModule> linked;
  std::shared_ptr<offload::Device> device;
  codegen::KernelRequest request;
  offload::KernelImage image;
  bool has_small_indices = false;
  std::vector<std::uint32_t>
      functions;  // kBytecode: in this module, by their numbers in the one that is sent
  Result<std::shared_ptr<offload::Kernel>> kernel =
      Error(ErrorCode::kInternal, "the kernel is not loaded yet");

  Result<std::shared_ptr<offload::Kernel>> load(CompileService& service) {
    if (image.format != KernelFormat::kBytecode) {
      DHPVM_ASSIGN(codegen::CodeGenerator* const generator, service.generator());
      DHPVM_ASSIGN(image, compile_kernel(*generator, request, device->info(), std::move(image)));
    }
    auto* const loader = has_small_indices ? dynamic_cast<offload::SmallIndexLoader*>(device.get()) : nullptr;
    return loader == nullptr ? device->load(image) : loader->load_small(image);
  }
};

Result<const LoadedKernel*> DeviceKernels::load(const KernelWish& wish) {
  // Doubled from one failure to the next: a loop must not spend its time on trying.
  constexpr std::chrono::milliseconds kFirst{100};
  constexpr std::chrono::milliseconds kLast{60'000};
  const auto [found, is_new] = kernels_.try_emplace(key_of(wish));
  Entry& entry = found->second;
  if (entry.loading == nullptr) {
    if (!is_new && (!entry.retry_at || Clock::now() < *entry.retry_at)) return &entry.kernel;
    entry.retry_at.reset();
    begin(entry, wish);
  }
  DHPVM_TRY(service_.background().wait(entry.call, poll_));
  const std::shared_ptr<Loading> loading = std::exchange(entry.loading, nullptr);
  auto made = finish(*loading, wish);
  if (made.ok()) {
    entry.kernel = std::move(made).value();
    return &entry.kernel;
  }
  entry.kernel.failure = one_line(made.error());
  entry.patience = std::clamp(entry.patience * 2, kFirst, kLast);
  if (may_pass(made.error())) entry.retry_at = Clock::now() + entry.patience;
  return &entry.kernel;
}

bool DeviceKernels::may_trap(const KernelWish& wish) const {
  const auto found = kernels_.find(key_of(wish));
  return found == kernels_.end() || !found->second.kernel.sites.empty();
}

// Translates function numbers, which differ where the kernel was compiled. Positions that another machine sends are
// checked, because traps are raised there.
Status DeviceKernels::translate(std::vector<codegen::KernelSite>& sites,
                                std::span<const std::uint32_t> functions) const {
  const bytecode::Module& module = linked_->module();
  const auto is_instruction = [&](const codegen::CodePosition& position) {
    const bytecode::Function& function = module.functions[position.function];
    std::uint32_t pc = 0;
    while (pc < function.code_size && pc < position.pc) {
      pc += bytecode::kDecode[bytecode::op_of(module.code[function.code_offset + pc])].words;
    }
    return pc == position.pc && pc < function.code_size;
  };
  for (codegen::KernelSite& site : sites) {
    bool is_sound = !site.calls.empty() && site.calls.size() <= functions.size();
    for (codegen::CodePosition& position : site.calls) {
      is_sound = is_sound && position.function < functions.size();
      if (!is_sound) break;
      position.function = functions[position.function];
      is_sound = is_instruction(position);
    }
    if (!is_sound) {
      return Error(ErrorCode::kDeviceFailed,
                   "the device says that the loop can trap where it has no instruction");
    }
  }
  return {};
}

// For each site, the access of the footprint that traps there.
std::vector<std::uint32_t> DeviceKernels::accesses_of(std::span<const codegen::KernelSite> sites,
                                                      const KernelWish& wish) const {
  std::map<codegen::CallPath, std::uint32_t> by_path;
  for (std::uint32_t access = 0; access < wish.footprint->accesses.size(); ++access) {
    for (const codegen::CallPath& path :
         offload::paths_of(linked_->module(), *wish.kernel->record, *wish.footprint, {&access, 1}))
      by_path.emplace(path, access);
  }
  std::vector<std::uint32_t> accesses;
  for (const codegen::KernelSite& site : sites) {
    const auto found = by_path.find(site.calls);
    accesses.push_back(found == by_path.end() ? offload::kNothing : found->second);
  }
  return accesses;
}

void DeviceKernels::begin(Entry& entry, const KernelWish& wish) {
  const auto loading = std::make_shared<Loading>();
  loading->linked = linked_;
  loading->device = owner_;
  loading->has_small_indices = wish.has_small_indices;
  offload::KernelImage& image = loading->image;
  image.format = owner_->info().format;
  image.name = wish.position;
  image.dimensions = wish.kernel->dimensions;
  image.scalars = static_cast<std::uint32_t>(wish.kernel->scalars);
  image.arrays = static_cast<std::uint32_t>(wish.kernel->arrays);
  image.reductions = wish.kernel->record->reductions;
  codegen::KernelRequest& request = loading->request;
  request.module = &linked_->module();
  request.kernel = wish.number;
  request.has_small_indices = wish.has_small_indices;
  request.proven =
      offload::paths_of(linked_->module(), *wish.kernel->record, *wish.footprint, wish.proven_accesses);
  request.dimensions.assign(wish.dimensions.begin(), wish.dimensions.end());
  if (image.format == KernelFormat::kBytecode) {
    bytecode::ExtractedKernel extracted = bytecode::extract_kernel(linked_->module(), wish.number);
    image.bytecode = std::make_shared<const std::vector<std::byte>>(bytecode::write_module(extracted.module));
    image.proven.assign(wish.proven_accesses.begin(), wish.proven_accesses.end());
    loading->functions = std::move(extracted.functions);
  }
  entry.loading = loading;
  entry.call = service_.background().begin(
      [loading, &service = service_] { loading->kernel = loading->load(service); });
}

Result<LoadedKernel> DeviceKernels::finish(Loading& loading, const KernelWish& wish) {
  LoadedKernel loaded;
  DHPVM_ASSIGN(loaded.kernel, std::move(loading.kernel));
  if (const auto compilation = loaded.kernel->compilation()) {
    device_.trace_compilation(fmt::format("compile {}", wish.position), compilation->begin, compilation->end);
  }
  const std::vector<codegen::KernelSite>* const sites = loaded.kernel->sites();
  loaded.sites = sites != nullptr ? *sites : loading.image.sites;
  if (loading.image.format == KernelFormat::kBytecode) DHPVM_TRY(translate(loaded.sites, loading.functions));
  loaded.accesses = accesses_of(loaded.sites, wish);
  return loaded;
}

}  // namespace dhpvm::vm
