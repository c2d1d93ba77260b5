// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/load_watch.h"

#include <vector>

namespace dhpvm::codegen {

void LoadWatch::modifyPassConfig(llvm::orc::MaterializationResponsibility& /*responsibility*/,
                                 llvm::jitlink::LinkGraph& /*graph*/,
                                 llvm::jitlink::PassConfiguration& passes) {
  passes.PostFixupPasses.emplace_back([this](llvm::jitlink::LinkGraph& graph) {
    std::vector<LoadedFunction> functions;
    for (const llvm::jitlink::Symbol* symbol : graph.defined_symbols()) {
      if (!symbol->hasName() || !symbol->isCallable() || symbol->getSize() == 0) continue;
      functions.push_back({symbol->getAddress().toPtr<const void*>(), symbol->getSize(),
                           std::string_view(symbol->getName())});
    }
    told_(functions);
    return llvm::Error::success();
  });
}

}  // namespace dhpvm::codegen
