// SPDX-License-Identifier: Apache-2.0
// Assigns each reference register a slot of the reference stack for possible collections, and determines which slots an
// instruction has to write because they may hold another value.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "codegen/lower/flow.h"

namespace dhpvm::codegen {

// An instruction at which a collection may happen.
struct MirrorSite {
  struct Store {
    std::uint32_t place = 0;
    std::uint32_t reg = 0;  // kNoIndex: null, in a slot below one that is used
  };
  // Whether the registers are stored on every path through the instruction, or only on the one that calls the virtual
  // machine: an allocation that finds room calls nothing, and neither does a loop that runs in place.
  enum class When : std::uint8_t { kAlways, kInSlowPath };

  std::vector<Store> stores;
  std::uint32_t size = 0;  // slots in use; the callee gets those above
  When when = When::kAlways;
};

class Mirror {
 public:
  // kInLoops: control also enters loops from outside, where no slot has its value.
  enum class Entry : std::uint8_t { kAtBegin, kInLoops };

  // Examines every instruction of the function at which a collection may happen. Registers that are never live at the
  // same one share a slot.
  Mirror(const bytecode::Module& module, const bytecode::Function& function, const Flow& flow, Entry entry);

  const MirrorSite& at(std::uint32_t pc) const { return sites_.at(pc); }

 private:
  std::map<std::uint32_t, MirrorSite> sites_;  // by word offset of the instruction
};

}  // namespace dhpvm::codegen
