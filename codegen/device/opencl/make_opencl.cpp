// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/opencl/make_opencl.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>

#include "base/error.h"
#include "codegen/device/device_module.h"
#include "codegen/device/entry_parameters.h"
#include "codegen/device/opencl/prepare.h"
#include "codegen/device/opencl/print.h"
#include "codegen/device/trap_report.h"

namespace dhpvm::codegen {
namespace {

// 64-bit addresses and the integers of OpenCL C. LLVM has no target closer to OpenCL.
constexpr char kTriple[] = "spir64-unknown-unknown";
constexpr char kLayout[] = "e-i64:64-n8:16:32:64-G1";

// The device's own compiler optimises. These passes promote memory and structs to values, and keep the loops of the
// program.
constexpr char kPasses[] =
    "always-inline,globaldce,"
    "function(instcombine<no-verify-fixpoint>,sroa<modify-cfg>,early-cse<memssa>,instcombine<no-verify-"
    "fixpoint>,"
    "simplifycfg,loop-mssa(licm),dhpvm-sink-stores,simplifycfg,jump-threading,"
    "loop(indvars,loop-unroll-full),loop-mssa(licm),gvn,instcombine<no-verify-fixpoint>,adce,simplifycfg)";

// The features of the device that a kernel uses.
struct Needs {
  bool f64 = false;
  bool f32_arithmetic = false;
  bool atomics_64 = false;
};

void look_at(const llvm::Instruction& instruction, Needs& needs) {
  const auto look_at_type = [&](const llvm::Type* type) {
    needs.f64 = needs.f64 || type->isDoubleTy();
    return type->isFloatTy();
  };
  bool is_f32 = look_at_type(instruction.getType());
  for (const llvm::Value* operand : instruction.operands())
    is_f32 = look_at_type(operand->getType()) || is_f32;
  const bool moves = llvm::isa<llvm::LoadInst>(instruction) || llvm::isa<llvm::StoreInst>(instruction) ||
                     llvm::isa<llvm::PHINode>(instruction) || llvm::isa<llvm::SelectInst>(instruction) ||
                     llvm::isa<llvm::BitCastInst>(instruction) || llvm::isa<llvm::FreezeInst>(instruction);
  needs.f32_arithmetic = needs.f32_arithmetic || (is_f32 && !moves);
  if (const auto* const exchange = llvm::dyn_cast<llvm::AtomicCmpXchgInst>(&instruction)) {
    needs.atomics_64 = needs.atomics_64 || exchange->getCompareOperand()->getType()->isIntegerTy(64);
  }
  if (llvm::isa<llvm::AtomicRMWInst>(instruction)) {
    needs.atomics_64 = needs.atomics_64 || instruction.getType()->isIntegerTy(64);
  }
}

Status check(const Needs& needs, const DeviceTarget& target, bool fast_math) {
  if (needs.f64 && !target.has_f64) {
    return error(ErrorCode::kUnsupported, "the loop computes with f64, which the device does not have");
  }
  if (needs.atomics_64 && !target.has_atomics_64) {
    return error(ErrorCode::kUnsupported,
                 "the loop updates elements of 64 bits atomically, which the device cannot do");
  }
  if (needs.f32_arithmetic && !target.has_exact_f32 && !fast_math) {
    return error(ErrorCode::kUnsupported,
                 "the device does not compute with f32 as exactly as the language wants it; mark the loop "
                 "@fastmath to allow that");
  }
  return {};
}

Result<DeviceCode> make_opencl(const KernelRequest& request, const DeviceTarget& target) {
  DHPVM_ASSIGN(DeviceModule made, make_device_module(request, {.buffers = Buffers::kAndOffsets,
                                                               .is_processor = target.is_processor,
                                                               .triple = kTriple,
                                                               .data_layout = kLayout}));
  llvm::Module& module = *made.ir.module;
  DHPVM_TRY(run_passes(module, nullptr, kPasses));
  define_report_trap(module);
  DHPVM_TRY(opencl::prepare_to_print(module));
  drop_unused_parameters(made.entry);
  // Arrays of a launch rarely overlap, but only the launch knows: the text can be compiled for both cases, so this must
  // be correct for both.
  mark_distinct_arrays(made.entry);
  Needs needs;
  for (const llvm::Function& function : module) {
    for (const llvm::Instruction& instruction : llvm::instructions(function)) look_at(instruction, needs);
  }
  DHPVM_TRY(check(needs, target, made.fast_math));
  opencl::PrintOptions options;
  options.kernel = made.entry.function;
  options.may_contract = made.fast_math;
  options.uses_f64 = needs.f64;
  options.uses_atomics_64 = needs.atomics_64;
  DeviceCode code;
  DHPVM_ASSIGN(code.text, opencl::print(module, options));
  code.entry = kDeviceEntry;
  code.options = "-cl-std=CL1.2";
  if (needs.f32_arithmetic && target.has_exact_f32) code.options += " -cl-fp32-correctly-rounded-divide-sqrt";
  code.parameters = std::move(made.entry.parameters);
  code.sites = std::move(made.sites);
  code.group = made.group;
  code.dealing = made.dealing;
  return code;
}

class OpenClC final : public KernelLanguage {
 public:
  std::string_view name() const override { return "opencl"; }
  std::string_view title() const override { return "OpenCL C"; }
  // A device with all features of OpenCL.
  DeviceTarget usual_target() const override {
    DeviceTarget target;
    target.language = name();
    return target;
  }
  std::string identity() const override { return {}; }
  Result<DeviceCode> make(const KernelRequest& request, const DeviceTarget& target) const override {
    return make_opencl(request, target);
  }
};

}  // namespace

std::unique_ptr<KernelLanguage> opencl_language() { return std::make_unique<OpenClC>(); }

}  // namespace dhpvm::codegen
