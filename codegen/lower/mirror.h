// SPDX-License-Identifier: Apache-2.0
// Where on the reference stack each reference register is mirrored while a collection may happen.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "codegen/lower/flow.h"

namespace dhpvm::codegen {

// The places that must hold something at one instruction: by place, the register mirrored there, or kNoIndex
// for a place that is set to null because one above it is used.
using MirrorMap = std::vector<std::uint32_t>;

class Mirror {
 public:
  // Looks at every instruction of the function at which a collection may happen. Registers that are never
  // needed at the same one share a place.
  Mirror(const bytecode::Module& module, const bytecode::Function& function, const Flow& flow);

  const MirrorMap& at(std::uint32_t pc) const { return maps_.at(pc); }

 private:
  std::map<std::uint32_t, MirrorMap> maps_;  // by word offset of the instruction
};

}  // namespace dhpvm::codegen
