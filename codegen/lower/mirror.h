// SPDX-License-Identifier: Apache-2.0
// Where on the reference stack each reference register is mirrored while a collection may happen, and which of these
// places an instruction has to write because they may hold something else.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "codegen/lower/flow.h"

namespace dhpvm::codegen {

// One instruction at which a collection may happen.
struct MirrorSite {
  struct Store {
    std::uint32_t place = 0;
    std::uint32_t reg = 0;  // kNoIndex: null, in a place below one that is used
  };
  // Whether the registers are stored on every way through the instruction, or only where it calls the virtual machine:
  // an allocation that finds room calls nothing, and neither does a loop that runs in place.
  enum class When : std::uint8_t { kAlways, kInSlowPath };

  std::vector<Store> stores;
  std::uint32_t size = 0;  // places in use; what is called gets those behind them
  When when = When::kAlways;
};

class Mirror {
 public:
  // kInLoops: the loops are entered from outside as well, where no place holds what it should.
  enum class Entry : std::uint8_t { kAtBegin, kInLoops };

  // Looks at every instruction of the function at which a collection may happen. Registers that are never
  // needed at the same one share a place.
  Mirror(const bytecode::Module& module, const bytecode::Function& function, const Flow& flow, Entry entry);

  const MirrorSite& at(std::uint32_t pc) const { return sites_.at(pc); }

 private:
  std::map<std::uint32_t, MirrorSite> sites_;  // by word offset of the instruction
};

}  // namespace dhpvm::codegen
