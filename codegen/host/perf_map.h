// SPDX-License-Identifier: Apache-2.0
// Names compiled functions for `perf report`: the file /tmp/perf-PID.map, which perf reads by itself.
//
// LLVM can also write perf's other format, jitdump; its header in LLVM 19 has garbage for flags, and perf
// refuses it.
#pragma once

#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>

#include <memory>

#include "dhpvm/result.h"

namespace dhpvm::codegen {

// A plugin of the linker that adds a line for each function that it loads. Thread-safe.
class PerfMap : public llvm::orc::ObjectLinkingLayer::Plugin {
 public:
  // kIo when the file cannot be written.
  static Result<std::shared_ptr<PerfMap>> open();
  ~PerfMap() override;
  PerfMap(const PerfMap&) = delete;
  PerfMap& operator=(const PerfMap&) = delete;

  void modifyPassConfig(llvm::orc::MaterializationResponsibility& responsibility,
                        llvm::jitlink::LinkGraph& graph, llvm::jitlink::PassConfiguration& passes) override;

  // Code that was named stays where it is (see LinkerOptions), so that none of these has anything to do.
  llvm::Error notifyFailed(llvm::orc::MaterializationResponsibility& /*failed*/) override;
  llvm::Error notifyRemovingResources(llvm::orc::JITDylib& /*library*/,
                                      llvm::orc::ResourceKey /*key*/) override;
  void notifyTransferringResources(llvm::orc::JITDylib& /*library*/, llvm::orc::ResourceKey /*to*/,
                                   llvm::orc::ResourceKey /*from*/) override {}

 private:
  explicit PerfMap(int fd) : fd_(fd) {}

  const int fd_;
};

}  // namespace dhpvm::codegen
