// SPDX-License-Identifier: Apache-2.0
#include "codegen/kernel/make_kernel.h"

#include "codegen/kernel/kernel_loop.h"

namespace dhpvm::codegen {

Result<KernelDescription> make_kernel(const KernelRequest& request, const Target& target,
                                      SymbolTable& symbols, llvm::Module& module) {
  DHPVM_ASSIGN(KernelBody body, lower_kernel(*request.module, request.kernel, request.proven, module));
  const bytecode::KernelRecord& record = request.module->kernels[request.kernel];
  KernelDescription description;
  WideBody wide;
  wide.full = body.function;
  static_cast<void>(target);
  static_cast<void>(symbols);
  make_kernel_loop(record, body, wide, kKernelSymbol, module);
  description.width = wide.width;
  description.sites = std::move(body.sites);
  return description;
}

}  // namespace dhpvm::codegen
