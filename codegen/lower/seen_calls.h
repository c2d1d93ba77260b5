// SPDX-License-Identifier: Apache-2.0
// Inlined calls in innermost loops: m.at(i, j) should cost what m.rows[i][j] costs.
//
// The code of a small callee is placed in the loop, in front of the call:
//
//   begin:  branch to `call`          taken outside of strips (loop_strips.h)
//           the callee's usual blocks; where one returns, a jump to `end`
//   call:   the call, in a rare block of its own
//   end:
//
// The callee's registers are those of the caller's window, as in the interpreter. In strips nothing of the callee can
// trap or call: if a check fails, or the callee reaches a rare block, control goes to `call`, in the careful copy of
// the loop, and the callee starts again. So it must not write anything before a check. Its tick is taken at the end,
// and a strip is so short that there is one for each call.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "bytecode/module.h"
#include "codegen/lower/instruction.h"

namespace dhpvm::codegen {

class Flow;

// The inlined calls of one function.
class SeenCalls {
 public:
  struct Call {
    std::uint32_t callee = 0;
    std::uint32_t call = 0;  // the word of the call itself, the start of a rare block
  };

  bool empty() const { return calls_.empty(); }
  const std::map<std::uint32_t, Call>& calls() const { return calls_; }  // by the word where they begin
  const Call* begins_at(std::uint32_t pc) const;
  // Whether the jump at `pc` leads to the end of an inlined call.
  bool ends_at(std::uint32_t pc) const { return ends_.contains(pc); }
  // The word of the call itself, if `pc` is in the callee's code before it.
  std::optional<std::uint32_t> call_around(std::uint32_t pc) const;
  bool is_call(std::uint32_t pc) const { return call_words_.contains(pc); }

  // The position in the original function, and its registers.
  std::uint32_t original(std::uint32_t pc) const { return empty() ? pc : original_[pc]; }
  std::uint32_t registers_of(const bytecode::Function& function) const {
    return empty() ? function.primitive_registers : primitive_registers_;
  }
  std::uint32_t references_of(const bytecode::Function& function) const {
    return empty() ? function.reference_registers : reference_registers_;
  }

 private:
  friend class CallExpander;
  std::map<std::uint32_t, Call> calls_;
  std::set<std::uint32_t> call_words_;
  std::set<std::uint32_t> ends_;
  std::vector<std::uint32_t> original_;  // by word
  std::uint16_t primitive_registers_ = 0;
  std::uint16_t reference_registers_ = 0;
};

inline const SeenCalls kNoSeenCalls;

// A module with callees inlined into some of its functions.
struct ExpandedModule {
  bytecode::Module module;
  std::map<std::uint32_t, SeenCalls> calls;  // by function
};

// Expands these functions; empty if none of them has a call worth inlining.
std::optional<ExpandedModule> see_through_calls(const bytecode::Module& module,
                                                const std::set<std::uint32_t>& functions);

// The callee of the call, an instruction of `block`, if a loop can inline it. The callee of an interface's method is
// known, too, if the function itself has made the object, as for a closure.
std::optional<std::uint32_t> seen_callee(const bytecode::Module& module, const bytecode::Function& function,
                                         const Flow& flow, std::uint32_t block, const Instruction& call);

}  // namespace dhpvm::codegen
