// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/device_module.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/TargetParser/Triple.h>

#include <algorithm>

#include "base/error.h"
#include "codegen/device/atomics.h"
#include "codegen/device/builtins.h"
#include "codegen/device/shared_turns.h"
#include "codegen/device/sink_stores.h"
#include "codegen/device/square_loops.h"
#include "codegen/device/tile_loops.h"
#include "codegen/device/wide_products.h"
#include "codegen/group_work.h"
#include "codegen/host/diagnostics.h"
#include "codegen/host/llvm_error.h"
#include "codegen/lower/known_dimensions.h"
#include "codegen/spmd/locals.h"
#include "codegen/spmd/returns.h"

namespace dhpvm::codegen {
namespace {

// Registers are allocas at first.
constexpr char kFirstPasses[] =
    "function(sroa<modify-cfg>,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg)";

Dealing dealing_of(const bytecode::KernelRecord& record, bool is_processor) {
  if (!is_processor) return Dealing::kStrides;
  return record.reductions.empty() ? Dealing::kSingly : Dealing::kRuns;
}

// Whether iterations are blocks of the program's iterations, and so few and long.
bool are_blocks(const bytecode::KernelRecord& record) {
  return !record.source.iterated.empty() && record.dimensions == 1 && record.reductions.empty();
}

// Each work-item has a value for each reduction in its group's local memory.
std::uint32_t largest_group(const KernelBody& body) {
  // Half of the minimum of devices (32 KiB in OpenCL, 48 in CUDA), so that two groups fit.
  constexpr std::uint64_t kLocalMemory = 16 << 10;
  std::uint64_t bytes = 0;
  for (const llvm::Type* const type : body.accumulators) bytes += (type->getPrimitiveSizeInBits() + 7) / 8;
  const std::uint64_t runs = kLocalMemory / (bytes * bytecode::kReductionLanes);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(runs * bytecode::kReductionLanes,
                                                              bytecode::kReductionLanes, kReductionGroup));
}

// Drops assertions about the host's arrays that do not hold on devices.
void drop_promises(llvm::Function& body) {
  for (llvm::Instruction& instruction : llvm::instructions(body)) {
    // The kernel itself fills the descriptors in memory.
    instruction.setMetadata(llvm::LLVMContext::MD_invariant_load, nullptr);
    // The address of element 0 may be outside the buffer.
    if (auto* const address = llvm::dyn_cast<llvm::GetElementPtrInst>(&instruction)) {
      if (address->getPointerAddressSpace() == kGlobalSpace) address->setIsInBounds(false);
    }
  }
  body.removeParamAttr(kArrays, llvm::Attribute::NoAlias);
}

}  // namespace

Result<DeviceModule> make_device_module(const KernelRequest& request, const ModuleForm& form) {
  DeviceModule made;
  made.ir.context = std::make_unique<llvm::LLVMContext>();
  made.ir.module = std::make_unique<llvm::Module>("kernel", *made.ir.context);
  llvm::Module& module = *made.ir.module;
  module.setTargetTriple(form.triple);
  module.setDataLayout(form.data_layout);
  const bytecode::KernelRecord& record = request.module->kernels[request.kernel];
  constexpr KernelForm kForm = {
      .element_space = kGlobalSpace, .can_be_stopped = false, .reports_traps = false};
  DHPVM_ASSIGN(KernelBody body, lower_kernel(*request.module, request.kernel, request.proven, module, kForm));
  put_dimensions(*body.function, request.dimensions);
  drop_promises(*body.function);
  replace_wide_products(*body.function);
  spmd::expand_local_copies(*body.function);
  spmd::merge_returns(*body.function);
  DHPVM_TRY(run_passes(module, nullptr, kFirstPasses));
  order_updates(*body.function);
  body.function->addFnAttr(llvm::Attribute::AlwaysInline);
  made.dealing = dealing_of(record, form.is_processor);
  if (!record.reductions.empty() && made.dealing == Dealing::kStrides) made.group = largest_group(body);
  DeviceForm loop = {form.buffers, made.dealing};
  BodyTerms terms;
  if (form.has_teams && are_blocks(record)) loop.shared = share_turns(body, *request.module, record);
  if (loop.shared != nullptr) {
    made.dealing = loop.dealing = Dealing::kShared;
    made.group = kReductionGroup;
  } else if (form.has_teams && body.sites.empty()) {
    if (record.reductions.empty()) {
      const TiledBody tiled = tile_body(body, record.dimensions);
      const std::vector<llvm::GlobalVariable*> tiles = local_arrays(module);
      loop.tiled = tiled.function;
      made.group = tiled.group;
      made.run = tiled.run;
      made.items = tiled.items;
      loop.square = square_body(body, record.dimensions);
      if (loop.square != nullptr) {
        made.run = 1;
        made.has_squares = true;
        overlay_local_arrays(module, tiles);
      }
    } else if (made.group > bytecode::kReductionLanes) {
      terms = split_terms(body);
      if (terms.function != nullptr) {
        loop.terms = &terms;
        made.run = made.group / bytecode::kReductionLanes;
      }
    }
  }
  loop.group = made.group;
  made.has_tiles = loop.tiled != nullptr || loop.square != nullptr;
  loop.run = made.run;
  loop.items = made.items;
  loop.has_small_indices = form.has_small_registers && request.has_small_indices;
  made.entry = make_device_loop(*request.module, record, body, loop, kDeviceEntry, module);
  made.sites = std::move(body.sites);
  made.fast_math = record.fast_math;
  std::string problems;
  llvm::raw_string_ostream stream(problems);
  if (llvm::verifyModule(module, &stream)) {
    return error(ErrorCode::kInternal, "the LLVM IR of a kernel for a device is invalid: {}", stream.str());
  }
  return made;
}

Status run_passes(llvm::Module& module, llvm::TargetMachine* machine, const char* text) {
  const Diagnostics diagnostics(module.getContext());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager call_graph;
  llvm::ModuleAnalysisManager modules;
  llvm::TargetLibraryInfoImpl library{llvm::Triple(module.getTargetTriple())};
  library.disableAllFunctions();
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  llvm::PassBuilder builder(machine);
  builder.registerPipelineParsingCallback([](llvm::StringRef name, llvm::FunctionPassManager& passes,
                                             llvm::ArrayRef<llvm::PassBuilder::PipelineElement>) {
    if (name != SinkStoresPass::kName) return false;
    passes.addPass(SinkStoresPass());
    return true;
  });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(call_graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, call_graph, modules);
  llvm::ModulePassManager passes;
  if (llvm::Error failure = builder.parsePassPipeline(passes, text)) {
    return from_llvm(std::move(failure), "building the optimiser");
  }
  passes.run(module, modules);
  return diagnostics.status("LLVM cannot optimise this");
}

}  // namespace dhpvm::codegen
