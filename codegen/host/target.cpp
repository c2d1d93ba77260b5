// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/target.h"

#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>

#include "base/error.h"

namespace dhpvm::codegen {
namespace {

Result<const llvm::Target*> find_llvm_target(const std::string& triple) {
  // LLVM's registry is global; registering twice is harmless, but not from two threads at once.
  static const bool failed = llvm::InitializeNativeTarget() || llvm::InitializeNativeTargetAsmPrinter();
  std::string reason = "it was built without this machine's back end";
  const llvm::Target* target = failed ? nullptr : llvm::TargetRegistry::lookupTarget(triple, reason);
  if (target == nullptr) {
    return error(ErrorCode::kUnsupported, "LLVM cannot make code for {}: {}; run with --jit=off", triple,
                 reason);
  }
  return target;
}

// The parts of `cpu` before and after its first comma.
struct Request {
  std::string name;
  std::vector<std::string> changes;  // "+feature" or "-feature"
};

Request parse(std::string_view cpu) {
  Request request;
  std::size_t comma = cpu.find(',');
  request.name = cpu.substr(0, comma);
  while (comma != std::string_view::npos) {
    cpu.remove_prefix(comma + 1);
    comma = cpu.find(',');
    request.changes.emplace_back(cpu.substr(0, comma));
  }
  return request;
}

Status check_changes(const Request& request, const llvm::MCSubtargetInfo& any) {
  for (const std::string& change : request.changes) {
    const bool well_formed = change.size() > 1 && (change[0] == '+' || change[0] == '-');
    if (!well_formed) {
      return error(ErrorCode::kInvalidArgument,
                   "'{}' in --cpu is neither +feature nor -feature: write a sign and a name that "
                   "`llc-19 -mattr=help` lists, as in --cpu=native,-avx2",
                   change);
    }
    const auto features = any.getAllProcessorFeatures();
    if (std::none_of(features.begin(), features.end(),
                     [&](const llvm::SubtargetFeatureKV& known) { return change.substr(1) == known.Key; })) {
      return error(ErrorCode::kInvalidArgument,
                   "LLVM {} knows no feature '{}' for --cpu; `llc-19 -mattr=help` lists them",
                   LLVM_VERSION_STRING, change.substr(1));
    }
  }
  return {};
}

// The features that are enabled in `subtarget` and that the host is known to lack. Host detection covers all features
// except tuning flags ("fast-gather"), which are harmless on any processor.
std::string missing_features(const llvm::MCSubtargetInfo& subtarget, const llvm::StringMap<bool>& host) {
  std::string missing;
  for (const llvm::SubtargetFeatureKV& feature : subtarget.getAllProcessorFeatures()) {
    const auto found = host.find(feature.Key);
    if (found == host.end() || found->second || !subtarget.getFeatureBits().test(feature.Value)) continue;
    if (!missing.empty()) missing += ", ";
    missing += feature.Key;
  }
  return missing;
}

}  // namespace

Result<Target> Target::create(std::string_view cpu) {
  Target target;
  target.triple_ = llvm::sys::getProcessTriple();
  DHPVM_ASSIGN(const llvm::Target* llvm_target, find_llvm_target(target.triple_));
  const llvm::StringMap<bool> host = llvm::sys::getHostCPUFeatures();
  const Request request = parse(cpu);

  const std::unique_ptr<llvm::MCSubtargetInfo> any(
      llvm_target->createMCSubtargetInfo(target.triple_, "", ""));
  std::vector<std::string> flags;
  if (request.name == "native") {
    target.cpu_ = llvm::sys::getHostCPUName();
    // Listed explicitly, because a virtual machine or the kernel may hide features of the processor.
    for (const auto& feature : host) flags.push_back((feature.second ? "+" : "-") + feature.first().str());
    std::sort(flags.begin(), flags.end());
  } else {
    target.cpu_ = request.name;
    if (!any->isCPUStringValid(target.cpu_)) {
      return error(ErrorCode::kInvalidArgument,
                   "LLVM {} knows no processor '{}' for --cpu; use native, or one of those that "
                   "`llc-19 -mcpu=help` lists",
                   LLVM_VERSION_STRING, target.cpu_);
    }
  }
  DHPVM_TRY(check_changes(request, *any));
  flags.insert(flags.end(), request.changes.begin(), request.changes.end());
  for (const std::string& flag : flags)
    target.feature_flags_ += (target.feature_flags_.empty() ? "" : ",") + flag;

  const std::unique_ptr<llvm::MCSubtargetInfo> subtarget(
      llvm_target->createMCSubtargetInfo(target.triple_, target.cpu_, target.feature_flags_));
  if (const std::string missing = missing_features(*subtarget, host); !missing.empty()) {
    return error(ErrorCode::kUnsupported,
                 "--cpu={} needs what this processor ({}) lacks: {}; use --cpu=native", cpu,
                 llvm::sys::getHostCPUName().str(), missing);
  }
  for (const llvm::SubtargetFeatureKV& feature : subtarget->getAllProcessorFeatures()) {
    if (subtarget->getFeatureBits().test(feature.Value)) target.features_.emplace_back(feature.Key);
  }
  std::sort(target.features_.begin(), target.features_.end());

  // 512 bits if AVX-512 includes VBMI2. Before that (Skylake, Cascade Lake, Cooper Lake) 512-bit multiplications reduce
  // the clock of the whole core; Ice Lake, Zen 4 and later keep it within a few percent.
  if (target.has("avx512vl") && target.has("avx512vbmi2")) {
    target.vector_bits_ = 512;
  } else if (target.has("avx2")) {
    target.vector_bits_ = 256;
  }
  DHPVM_ASSIGN(const std::unique_ptr<llvm::TargetMachine> machine, target.new_machine());
  target.data_layout_ = machine->createDataLayout();
  target.description_ =
      fmt::format("{} cpu={} vectors={} features=", target.triple_, target.cpu_, target.vector_bits_);
  for (const std::string& feature : target.features_) target.description_ += feature + ",";
  return target;
}

bool Target::has(std::string_view feature) const {
  return std::binary_search(features_.begin(), features_.end(), feature);
}

void Target::configure(llvm::Module& module) const {
  module.setTargetTriple(triple_);
  module.setDataLayout(data_layout_);
}

void Target::constrain(llvm::Module& module, bool traceable) const {
  configure(module);
  const std::string width = std::to_string(vector_bits_);
  for (llvm::Function& function : module) {
    if (function.isDeclaration()) continue;
    // These would override the TargetMachine, whose features were checked against the host.
    function.removeFnAttr("target-cpu");
    function.removeFnAttr("target-features");
    function.removeFnAttr("tune-cpu");
    function.addFnAttr("prefer-vector-width", width);
    if (traceable) {
      function.addFnAttr("frame-pointer", "all");
      function.setUWTableKind(llvm::UWTableKind::Async);
    }
  }
}

Result<std::unique_ptr<llvm::TargetMachine>> Target::new_machine() const {
  DHPVM_ASSIGN(const llvm::Target* llvm_target, find_llvm_target(triple_));
  // Position-independent and small: an object's own code and constants lie within 2 GiB of each other, and
  // other addresses are reached through tables that the linker places next to them.
  std::unique_ptr<llvm::TargetMachine> machine(llvm_target->createTargetMachine(
      triple_, cpu_, feature_flags_, llvm::TargetOptions(), llvm::Reloc::PIC_, llvm::CodeModel::Small,
      llvm::CodeGenOptLevel::Default, /*JIT=*/true));
  if (machine == nullptr) {
    return error(ErrorCode::kInternal, "LLVM has no code generator for {}", triple_);
  }
  return machine;
}

}  // namespace dhpvm::codegen
