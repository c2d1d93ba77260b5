// SPDX-License-Identifier: Apache-2.0
#include "codegen/kernel/make_kernel.h"

#include <algorithm>

#include "codegen/kernel/kernel_loop.h"
#include "codegen/spmd/vectorize.h"

namespace dhpvm::codegen {
namespace {

using spmd::ArgShape;

// The shapes of the body's parameters, as the loop around it calls it.
std::vector<ArgShape> shapes_of(const bytecode::KernelRecord& record, const llvm::Function& body) {
  std::vector<ArgShape> shapes(body.arg_size(), ArgShape::kUniform);
  shapes[kIndices + record.dimensions - 1] = ArgShape::kLaneIndex;
  std::fill_n(shapes.rbegin(), record.reductions.size(), ArgShape::kVarying);
  return shapes;
}

// The body for several iterations; the scalar one, and the reason, if there is none.
Result<WideBody> widen(const bytecode::KernelRecord& record, const KernelBody& body, const Target& target,
                       SymbolTable& symbols, std::string& scalar_reason) {
  WideBody wide;
  wide.full = body.function;
  spmd::SpmdOptions options;
  options.args = shapes_of(record, *body.function);
  options.vector_bits = target.vector_bits();
  options.has_symbol = [&](std::string_view name) { return symbols.find(name) != nullptr; };
  const auto make = [&]() -> Status {
    DHPVM_TRY(spmd::prepare(*body.function));
    options.width =
        std::min(spmd::choose_width(*body.function, options.args, options.vector_bits), bytecode::kReductionLanes);
    DHPVM_ASSIGN(llvm::Function* const full, vectorize(*body.function, options));
    options.tail = true;
    DHPVM_ASSIGN(wide.tail, vectorize(*body.function, options));
    wide.full = full;
    wide.width = options.width;
    return {};
  };
  if (Status status = make(); !status.ok()) {
    if (status.error().code() != ErrorCode::kUnsupported) return std::move(status).error();
    scalar_reason = status.error().message();
    wide = WideBody{.full = body.function};
  }
  return wide;
}

// The loop wants nothing but what it contains.
void inline_into_loop(llvm::Function* function) {
  if (function == nullptr) return;
  function->setLinkage(llvm::GlobalValue::InternalLinkage);
  function->removeFnAttr(llvm::Attribute::NoInline);
  function->addFnAttr(llvm::Attribute::AlwaysInline);
}

}  // namespace

Result<KernelDescription> make_kernel(const KernelRequest& request, const Target& target, SymbolTable& symbols,
                                      llvm::Module& module) {
  DHPVM_ASSIGN(KernelBody body, lower_kernel(*request.module, request.kernel, request.proven, module));
  const bytecode::KernelRecord& record = request.module->kernels[request.kernel];
  KernelDescription description;
  DHPVM_ASSIGN(const WideBody wide, widen(record, body, target, symbols, description.scalar_reason));
  make_kernel_loop(record, body, wide, kKernelSymbol, module);
  inline_into_loop(wide.full);
  inline_into_loop(wide.tail);
  description.width = wide.width;
  description.sites = std::move(body.sites);
  return description;
}

}  // namespace dhpvm::codegen
