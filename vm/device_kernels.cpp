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

namespace dhpvm::vm {

using offload::KernelFormat;

namespace {

// Memory, descriptors and threads come back; code that a compiler refuses stays as it is.
bool may_pass(const Error& error) {
  return error.code() != ErrorCode::kCompile && error.code() != ErrorCode::kUnsupported &&
         error.code() != ErrorCode::kInternal;
}

}  // namespace

const LoadedKernel& DeviceKernels::load(const KernelWish& wish) {
  // Doubled from one failure to the next: a loop must not spend its time on trying.
  constexpr std::chrono::milliseconds kFirst{100};
  constexpr std::chrono::milliseconds kLast{60'000};
  const auto [found, is_new] = kernels_.try_emplace({wish.number, wish.variant});
  Entry& entry = found->second;
  if (!is_new && (!entry.retry_at || Clock::now() < *entry.retry_at)) return entry.kernel;
  entry.retry_at.reset();
  auto made = make(wish);
  if (made.ok()) {
    entry.kernel = std::move(made).value();
    return entry.kernel;
  }
  entry.kernel.failure = one_line(made.error());
  entry.patience = std::clamp(entry.patience * 2, kFirst, kLast);
  if (may_pass(made.error())) entry.retry_at = Clock::now() + entry.patience;
  return entry.kernel;
}

bool DeviceKernels::may_trap(const KernelWish& wish) const {
  const auto found = kernels_.find({wish.number, wish.variant});
  return found == kernels_.end() || !found->second.kernel.sites.empty();
}

// Functions have other numbers where the kernel has been compiled. Another machine's word about positions in the code
// is not taken: traps are raised there.
Status DeviceKernels::translate(std::vector<codegen::KernelSite>& sites,
                                std::span<const std::uint32_t> functions) const {
  const bytecode::Module& module = linked_.module();
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

Result<LoadedKernel> DeviceKernels::make(const KernelWish& wish) {
  offload::Device& device = device_.device();
  offload::KernelImage image;
  image.format = device.info().format;
  image.name = wish.position;
  image.dimensions = wish.kernel->dimensions;
  image.scalars = static_cast<std::uint32_t>(wish.kernel->scalars);
  image.arrays = static_cast<std::uint32_t>(wish.kernel->arrays);
  image.reductions = wish.kernel->record->reductions;
  std::vector<std::uint32_t>
      functions;  // kBytecode: in this module, by their numbers in the one that is sent
  codegen::KernelRequest request;
  request.module = &linked_.module();
  request.kernel = wish.number;
  request.proven = wish.proven;
  request.dimensions = wish.dimensions;
  if (image.format == KernelFormat::kBytecode) {
    bytecode::ExtractedKernel extracted = bytecode::extract_kernel(linked_.module(), wish.number);
    image.bytecode = std::make_shared<const std::vector<std::byte>>(bytecode::write_module(extracted.module));
    image.proven.assign(wish.proven_accesses.begin(), wish.proven_accesses.end());
    functions = std::move(extracted.functions);
  } else {
    DHPVM_ASSIGN(codegen::CodeGenerator* const generator, service_.generator());
    DHPVM_ASSIGN(image, compile_kernel(*generator, request, device.info(), std::move(image)));
  }
  LoadedKernel loaded;
  DHPVM_ASSIGN(loaded.kernel, device.load(image));
  if (const auto compilation = loaded.kernel->compilation()) {
    device_.trace_compilation(fmt::format("compile {}", wish.position), compilation->begin, compilation->end);
  }
  const std::vector<codegen::KernelSite>* const sites = loaded.kernel->sites();
  loaded.sites = sites != nullptr ? *sites : image.sites;
  if (image.format == KernelFormat::kBytecode) DHPVM_TRY(translate(loaded.sites, functions));
  return loaded;
}

}  // namespace dhpvm::vm
