// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/ptx/make_ptx.h"

#include <llvm-c/Target.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <charconv>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "codegen/device/device_module.h"
#include "codegen/device/entry_parameters.h"
#include "codegen/device/ptx/fast_division.h"
#include "codegen/device/ptx/libdevice.h"
#include "codegen/device/ptx/prepare.h"
#include "codegen/device/ptx/small_indices.h"
#include "codegen/device/trap_report.h"
#include "codegen/group_work.h"
#include "codegen/host/emit.h"

namespace dhpvm::codegen {
namespace {

constexpr char kTriple[] = "nvptx64-nvidia-cuda";
constexpr unsigned kOldest = 75;  // the assembler of CUDA 13 refuses older ones

// While one group of a kernel with squares waits at a barrier, others compute. A work-item then has 80 registers.
constexpr std::uint32_t kSquareGroupsTogether = 3;

// As for the host's kernels, but libdevice is inlined and loops are unrolled, because in a GPU branches cost more and
// registers are plenty.
constexpr char kPasses[] =
    "always-inline,cgscc(inline),globaldce,"
    "function(instcombine<no-verify-fixpoint>,sroa<modify-cfg>,early-cse<memssa>,"
    "instcombine<no-verify-fixpoint>,simplifycfg,jump-threading,simplifycfg,"
    "loop-mssa(loop-rotate,licm),loop(indvars,loop-deletion,loop-unroll-full),"
    "gvn,instcombine<no-verify-fixpoint>,simplifycfg,loop-unroll<O2>,loop-mssa(licm),"
    "instcombine<no-verify-fixpoint>,adce,simplifycfg,infer-alignment)";

// These passes do not widen narrowed indices again.
constexpr char kLastPasses[] = "function(early-cse<memssa>,adce),verify";

const llvm::Target* nvptx(std::string& problem) {
  // LLVM's registry is global; registering twice is harmless, but not from two threads at once.
  static const bool registered = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  return registered ? llvm::TargetRegistry::lookupTarget(kTriple, problem) : nullptr;
}

// 80 for "sm_80"; 0 for any other form.
unsigned number_of(const std::string& processor) {
  unsigned number = 0;
  if (!processor.starts_with("sm_")) return 0;
  const char* const end = processor.data() + processor.size();
  const auto [rest, problem] = std::from_chars(processor.data() + 3, end, number);
  return problem == std::errc() && rest == end ? number : 0;
}

Result<std::unique_ptr<llvm::TargetMachine>> new_machine(const std::string& processor, bool fast_math) {
  std::string problem;
  const llvm::Target* const target = nvptx(problem);
  if (target == nullptr) {
    return error(ErrorCode::kUnsupported, "LLVM was built without code generation for NVIDIA GPUs: {}",
                 problem);
  }
  const std::unique_ptr<llvm::MCSubtargetInfo> any(target->createMCSubtargetInfo(kTriple, "", ""));
  if (number_of(processor) < kOldest || !any->isCPUStringValid(processor)) {
    return error(ErrorCode::kUnsupported,
                 "'{}' is no architecture that PTX can be made for: use one from sm_75 to sm_90", processor);
  }
  llvm::TargetOptions options;
  // The default would not fuse either; this is explicit. Division, roots and denormals are exact by default.
  options.AllowFPOpFusion = fast_math ? llvm::FPOpFusion::Fast : llvm::FPOpFusion::Strict;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      kTriple, processor, "", options, llvm::Reloc::PIC_, std::nullopt, llvm::CodeGenOptLevel::Aggressive));
}

Result<DeviceCode> make_ptx(const KernelRequest& request, const DeviceTarget& target,
                            const ptx::Libdevice& libdevice) {
  const bool fast_math = request.module->kernels[request.kernel].fast_math;
  DHPVM_ASSIGN(const std::unique_ptr<llvm::TargetMachine> machine, new_machine(target.processor, fast_math));
  const std::string layout = machine->createDataLayout().getStringRepresentation();
  DHPVM_ASSIGN(DeviceModule made, make_device_module(request, {.has_teams = true,
                                                               .has_small_registers = true,
                                                               .triple = kTriple,
                                                               .data_layout = layout}));
  llvm::Module& module = *made.ir.module;
  ptx::replace_builtins(module);
  ptx::expand_inexact_updates(module, fast_math);
  DHPVM_TRY(libdevice.link(module, number_of(target.processor)));
  mark_distinct_arrays(made.entry);
  mark_alignment(made.entry);
  if (request.has_small_indices) mark_small_indices(made.entry);
  DHPVM_TRY(run_passes(module, machine.get(), kPasses));
  ptx::divide_by_parameters(made.entry);
  if (request.has_small_indices) ptx::narrow_indices(made.entry, made.has_tiles);
  DHPVM_TRY(run_passes(module, machine.get(), kLastPasses));
  drop_unused_parameters(made.entry);
  ptx::mark_constant_loads(made.entry);
  define_report_trap(module);
  ptx::replace_builtins(module);
  if (made.has_squares) {
    ptx::mark_kernel(*made.entry.function, std::max(made.group, kSquareItems), kSquareGroupsTogether);
  } else {
    ptx::mark_kernel(*made.entry.function, made.group);
  }
  // For the back end: approximate division of f32.
  if (fast_math) made.entry.function->addFnAttr("unsafe-fp-math", "true");
  DeviceCode code;
  DHPVM_ASSIGN(code.text, emit_assembly(module, *machine, Pipeline::kFunctions));
  code.entry = kDeviceEntry;
  code.parameters = std::move(made.entry.parameters);
  code.sites = std::move(made.sites);
  code.group = made.group;
  code.run = made.run;
  code.items = made.items;
  code.has_squares = made.has_squares;
  code.dealing = made.dealing;
  return code;
}

class Ptx final : public KernelLanguage {
 public:
  std::string_view name() const override { return "ptx"; }
  std::string_view title() const override { return "PTX"; }
  DeviceTarget usual_target() const override {
    DeviceTarget target;
    target.language = name();
    target.processor = "sm_80";
    return target;
  }
  std::string identity() const override { return libdevice().identity(); }
  Result<DeviceCode> make(const KernelRequest& request, const DeviceTarget& target) const override {
    return make_ptx(request, target, libdevice());
  }

 private:
  // Searched for at first use.
  const ptx::Libdevice& libdevice() const {
    std::call_once(looked_, [this] { libdevice_.emplace(ptx::Libdevice::find()); });
    return *libdevice_;
  }

  mutable std::once_flag looked_;
  mutable std::optional<ptx::Libdevice> libdevice_;
};

}  // namespace

std::unique_ptr<KernelLanguage> ptx_language() { return std::make_unique<Ptx>(); }

}  // namespace dhpvm::codegen
