// SPDX-License-Identifier: Apache-2.0
// A plugin of LLVM's linker that tells of what is loaded, and where.
#pragma once

#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>
#include <utility>

namespace dhpvm::codegen {

// Thread-safe if what it tells is.
class LoadWatch : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  struct LoadedFunction {
    const void* begin;
    std::size_t size;
    std::string_view name;
  };
  // Takes all functions of an object at once.
  using Told = std::function<void(std::span<const LoadedFunction>)>;

  explicit LoadWatch(Told told) : told_(std::move(told)) {}

  void modifyPassConfig(llvm::orc::MaterializationResponsibility& responsibility,
                        llvm::jitlink::LinkGraph& graph, llvm::jitlink::PassConfiguration& passes) override;

  // A report is never taken back: code stays where it is, or other code takes its place (see LinkerOptions).
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility& /*failed*/) override {
    return llvm::Error::success();
  }
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib& /*library*/,
                                      llvm::orc::ResourceKey /*key*/) override {
    return llvm::Error::success();
  }
  void notifyTransferringResources(llvm::orc::JITDylib& /*library*/, llvm::orc::ResourceKey /*to*/,
                                   llvm::orc::ResourceKey /*from*/) override {}

 private:
  const Told told_;
};

}  // namespace dhpvm::codegen
