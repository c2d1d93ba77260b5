// SPDX-License-Identifier: Apache-2.0
#include "codegen/device/ptx/libdevice.h"

#include <dlfcn.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SHA256.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <vector>

#include "base/error.h"
#include "codegen/host/llvm_error.h"
#include "codegen/spmd/math.h"

namespace dhpvm::codegen::ptx {
namespace {

namespace fs = std::filesystem;

constexpr char kFile[] = "libdevice.10.bc";

// The folder of the library that contains this code.
fs::path own_folder() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr)
    return {};
  return fs::path(info.dli_fname).parent_path();
}

std::vector<fs::path> candidates() {
  if (const char* const given = std::getenv("DHPVM_LIBDEVICE"); given != nullptr && *given != 0) {
    std::error_code ignored;
    return {fs::is_directory(given, ignored) ? fs::path(given) / kFile : fs::path(given)};
  }
  std::vector<fs::path> paths;
  const auto add_toolkit = [&](const fs::path& root) {
    paths.push_back(root / "nvvm" / "libdevice" / kFile);
  };
  for (const char* const variable : {"CUDA_HOME", "CUDA_PATH"}) {
    if (const char* const root = std::getenv(variable); root != nullptr && *root != 0) add_toolkit(root);
  }
  add_toolkit("/usr/local/cuda");
  std::vector<fs::path> toolkits;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator("/usr/local", ignored)) {
    if (entry.path().filename().string().starts_with("cuda-")) toolkits.push_back(entry.path());
  }
  std::ranges::sort(toolkits, std::greater());
  for (const fs::path& toolkit : toolkits) add_toolkit(toolkit);
  paths.emplace_back(fs::path("/usr/lib/nvidia-cuda-toolkit/libdevice") / kFile);  // Debian
  if (const fs::path folder = own_folder(); !folder.empty()) {
    paths.push_back(folder.parent_path() / "share" / "dhpvm" / kFile);
  }
  return paths;
}

// The library queries compile options through a function that the compiler defines. All answers select exact results:
// denormals are kept, quotients and roots correctly rounded.
void answer_questions(llvm::Module& module, unsigned architecture) {
  llvm::Function* const ask = module.getFunction("__nvvm_reflect");
  if (ask == nullptr) return;
  for (llvm::User* const user : llvm::make_early_inc_range(ask->users())) {
    auto* const call = llvm::dyn_cast<llvm::CallInst>(user);
    if (call == nullptr) continue;
    llvm::StringRef question;
    const auto* const text =
        llvm::dyn_cast<llvm::GlobalVariable>(call->getArgOperand(0)->stripPointerCasts());
    if (text != nullptr && text->hasInitializer()) {
      if (const auto* const data = llvm::dyn_cast<llvm::ConstantDataArray>(text->getInitializer())) {
        question = data->getAsCString();
      }
    }
    unsigned answer = 0;
    if (question == "__CUDA_ARCH") answer = architecture * 10;
    if (question == "__CUDA_PREC_DIV" || question == "__CUDA_PREC_SQRT") answer = 1;
    call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), answer));
    call->eraseFromParent();
  }
  if (ask->use_empty()) ask->eraseFromParent();
}

}  // namespace

Libdevice::Libdevice() = default;
Libdevice::Libdevice(Libdevice&&) noexcept = default;
Libdevice::~Libdevice() = default;

Libdevice Libdevice::find() {
  Libdevice found;
  for (const fs::path& path : candidates()) {
    auto file =
        llvm::MemoryBuffer::getFile(path.string(), /*IsText=*/false, /*RequiresNullTerminator=*/false);
    if (!file) {
      found.looked_at_ += fmt::format("\n  {}", path.string());
      continue;
    }
    found.path_ = path.string();
    found.bitcode_ = std::move(*file);
    llvm::SHA256 hash;
    hash.update(found.bitcode_->getBuffer());
    const auto digest = hash.final();
    found.identity_.assign(digest.begin(), digest.end());
    break;
  }
  return found;
}

Status Libdevice::link(llvm::Module& module, unsigned architecture) const {
  std::set<std::string> wanted;
  for (llvm::Function& function : module) {
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* const call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr) continue;
      const std::string name = spmd::math_function(*call);
      if (name.empty()) continue;
      wanted.insert("__nv_" + name);
      call->setCalledFunction(module.getOrInsertFunction("__nv_" + name, call->getFunctionType()));
    }
  }
  if (wanted.empty()) return {};
  if (bitcode_ == nullptr) {
    return error(ErrorCode::kUnsupported,
                 "the loop uses mathematical functions, for which NVIDIA's {} is needed: install the CUDA "
                 "toolkit, or set "
                 "DHPVM_LIBDEVICE to where it is. It was looked for in{}",
                 kFile, looked_at_);
  }
  llvm::Expected<std::unique_ptr<llvm::Module>> library =
      llvm::getLazyBitcodeModule(bitcode_->getMemBufferRef(), module.getContext());
  if (!library) return from_llvm(library.takeError(), "reading " + path_);
  for (const std::string& name : wanted) {
    if ((*library)->getFunction(name) != nullptr) continue;
    return error(ErrorCode::kUnsupported, "{} has no function {}: install CUDA 12 or newer", path_, name);
  }
  // The kernel's, as the linker requires.
  (*library)->setTargetTriple(module.getTargetTriple());
  (*library)->setDataLayout(module.getDataLayout());
  std::set<std::string> linked;
  const bool failed =
      llvm::Linker::linkModules(module, std::move(*library), llvm::Linker::Flags::LinkOnlyNeeded,
                                [&](llvm::Module&, const llvm::StringSet<>& names) {
                                  for (const auto& name : names) linked.insert(name.getKey().str());
                                });
  if (failed) return error(ErrorCode::kInternal, "LLVM cannot link {}", path_);
  for (const std::string& name : linked) {
    llvm::GlobalValue* const value = module.getNamedValue(name);
    if (value != nullptr && !value->isDeclaration()) value->setLinkage(llvm::GlobalValue::InternalLinkage);
  }
  answer_questions(module, architecture);
  return {};
}

}  // namespace dhpvm::codegen::ptx
