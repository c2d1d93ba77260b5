// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/kernel_compiler.h"

#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"

namespace dhpvm::offload {

KernelImage describe_kernel(const bytecode::Module& module, std::uint32_t kernel, std::string name) {
  const bytecode::KernelRecord& record = module.kernels[kernel];
  KernelImage image;
  image.name = std::move(name);
  image.dimensions = record.dimensions;
  image.reductions = record.reductions;
  for (const bytecode::ValueType& parameter : module.functions[record.function].signature.parameters) {
    ++(parameter.is_ref() ? image.arrays : image.scalars);
  }
  image.scalars -= record.dimensions + static_cast<std::uint32_t>(record.reductions.size());
  return image;
}

Result<KernelImage> compile_kernel(codegen::CodeGenerator& generator, const codegen::KernelRequest& request,
                                   const DeviceInfo& device, KernelImage image) {
  image.format = device.format;
  switch (device.format) {
    case KernelFormat::kHostCode: {
      DHPVM_ASSIGN(std::shared_ptr<codegen::CompiledKernel> compiled, generator.compile(request));
      image.host_code = compiled->code();
      image.host_width = compiled->width();
      image.host_rows = compiled->rows();
      image.host_panel_bytes = compiled->panel_bytes();
      image.sites = compiled->sites();
      image.owner = std::move(compiled);
      return image;
    }
    case KernelFormat::kDeviceCode: {
      DHPVM_ASSIGN(image.device_code, generator.compile(request, device.target));
      image.sites = image.device_code.sites;
      return image;
    }
    case KernelFormat::kBytecode: break;
  }
  return error(ErrorCode::kUnsupported, "device '{}' compiles kernels itself", device.name);
}

std::set<codegen::CallPath> paths_of(const bytecode::Module& module, const bytecode::KernelRecord& record,
                                     const Footprint& footprint, std::span<const std::uint32_t> accesses) {
  // The function of each chain; a chain's caller comes before it.
  std::vector<std::uint32_t> functions = {record.function};
  for (std::size_t chain = 1; chain < footprint.chains.size(); ++chain) {
    functions.push_back(bytecode::c_of(module.code[footprint.chains[chain].call_pc]));
  }
  std::set<codegen::CallPath> paths;
  for (const std::uint32_t index : accesses) {
    const Access& access = footprint.accesses[index];
    codegen::CallPath path;
    std::uint32_t pc = access.pc;
    for (std::uint32_t chain = access.chain; chain != kNothing; chain = footprint.chains[chain].caller) {
      const std::uint32_t function = functions[chain];
      path.push_back({function, pc - module.functions[function].code_offset});
      pc = footprint.chains[chain].call_pc;
    }
    paths.insert(std::move(path));
  }
  return paths;
}

}  // namespace dhpvm::offload
