// SPDX-License-Identifier: Apache-2.0
#include "offload/devices/conformance/test_kernels.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "bytecode/assembler.h"
#include "bytecode/verifier.h"
#include "bytecode/writer.h"
#include "offload/devices/kernel_compiler.h"

namespace dhpvm::offload {
namespace {

constexpr std::string_view kKernels = R"(
type array F: f32
type array I: i64
function saxpy(i64, f32, F, F) registers 4 2
  load.f32 p2, r0, p0
  mul.f32 p2, p1, p2
  load.f32 p3, r1, p0
  add.f32 p2, p2, p3
  store.f32 r1, p0, p2
  return
end
function cube(i64, i64, i64, i64, i64, I) registers 7 1
  mul.i64 p5, p0, p3
  add.i64 p5, p5, p1
  mul.i64 p5, p5, p4
  add.i64 p5, p5, p2
  mul.imm.i64 p6, p0, 100
  add.i64 p6, p6, p1
  mul.imm.i64 p6, p6, 100
  add.i64 p6, p6, p2
  store.i64 r0, p5, p6
  return
end
function sums(i64, i64, i64, f32, i64, F) -> f32, i64 registers 7 1
  mul.i64 p5, p0, p2
  add.i64 p5, p5, p1
  load.f32 p6, r0, p5
  add.f32 p3, p3, p6
  imm p6, 677
  xor.i64 p6, p6, p1
  max.i64 p4, p4, p6
  move.p p0, p3
  move.p p1, p4
  return
end
function quotients(i64, I, I) registers 3 2
  load.i64 p1, r0, p0
  imm p2, 1000
  div.i64 p1, p2, p1
  store.i64 r1, p0, p1
  return
end
function gather(i64, I, I, I) registers 2 3
  load.i64 p1, r0, p0
  load.i64 p1, r1, p1
  store.i64 r2, p0, p1
  return
end
kernel saxpy dims 1
kernel cube dims 3
kernel sums dims 2 reduce add:f32 reduce max:i64
kernel quotients dims 1
kernel gather dims 1
)";

}  // namespace

TestKernels::TestKernels() {
  Result<bytecode::Module> module = bytecode::assemble(kKernels);
  EXPECT_TRUE(module.ok()) << module.error().to_string();
  const Status status = bytecode::verify(*module);
  EXPECT_TRUE(status.ok()) << status.error().to_string();
  module_ = std::make_unique<bytecode::Module>(std::move(module).value());
}

Result<const KernelImage*> TestKernels::image(const DeviceInfo& device, std::string_view name) {
  const auto key = std::pair(device.name, std::string(name));
  if (const auto found = images_.find(key); found != images_.end()) return &found->second;
  for (std::uint32_t kernel = 0; kernel < module_->kernels.size(); ++kernel) {
    if (module_->name_of(module_->functions[module_->kernels[kernel].function]) != name) continue;
    DHPVM_ASSIGN(KernelImage image, compile(device, kernel));
    return &images_.emplace(key, std::move(image)).first->second;
  }
  return error(ErrorCode::kInternal, "the tests have no kernel '{}'", name);
}

Result<KernelImage> TestKernels::compile(const DeviceInfo& device, std::uint32_t kernel) {
  const bytecode::Function& function = module_->functions[module_->kernels[kernel].function];
  KernelImage image = describe_kernel(*module_, kernel, std::string(module_->name_of(function)));
  DHPVM_ASSIGN(codegen::CodeGenerator * compiler, generator());
  if (device.format != KernelFormat::kBytecode)
    return compile_kernel(*compiler, {module_.get(), kernel, {}}, device, std::move(image));
  image.format = device.format;
  image.bytecode = std::make_shared<const std::vector<std::byte>>(bytecode::write_module(*module_));
  image.kernel = kernel;
  return image;
}

Result<codegen::CodeGenerator*> TestKernels::generator() {
  if (generator_ != nullptr) return generator_.get();
#ifdef DHPVM_CODEGEN_LIBRARY
  void* library = dlopen(DHPVM_CODEGEN_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  // Packed for another machine, it is where the loader looks.
  if (library == nullptr) library = dlopen(codegen::kLibraryName, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return error(ErrorCode::kLink, "{}", dlerror());
  codegen::GeneratorOptions options;
  options.cache = false;
  Result<std::unique_ptr<codegen::CodeGenerator>> made = Error(ErrorCode::kInternal, "");
  reinterpret_cast<codegen::CreateCodeGenerator>(dlsym(library, codegen::kCreateSymbol))(
      codegen::kInterfaceVersion, options, made);
  if (!made.ok()) return std::move(made).error();
  generator_ = std::move(made).value();
  return generator_.get();
#else
  return error(ErrorCode::kUnsupported, "this build has no code generator to compile kernels with");
#endif
}

}  // namespace dhpvm::offload
