// SPDX-License-Identifier: Apache-2.0
// Calls in innermost loops that the loop sees through: m.at(i, j) is to cost what m.rows[i][j] costs.
//
// The code of a small function stands in the loop, in front of the call of it:
//
//   begin:  branch to `call`          taken outside of stretches (loop_strips.h)
//           the callee's usual blocks; where one returns, a jump to `end`
//   call:   the call, in a rare block of its own
//   end:
//
// Registers of the callee are those of the caller's window, as in the interpreter. In stretches nothing of the callee
// can trap, and nothing calls: where a check fails, or the callee gets to a rare block, control goes to `call`, in the
// careful copy of the loop, and the callee begins anew. So it may change nothing before a check. Its tick is taken at
// the end, and the stretch is so short that there is one for each call.
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

// Those of one function.
class SeenCalls {
 public:
  struct Call {
    std::uint32_t callee = 0;
    std::uint32_t call = 0;  // the word of the call itself, where a rare block begins
  };

  bool empty() const { return calls_.empty(); }
  const std::map<std::uint32_t, Call>& calls() const { return calls_; }  // by the word where they begin
  const Call* begins_at(std::uint32_t pc) const;
  // Whether the jump at `pc` leads to the end of a call.
  bool ends_at(std::uint32_t pc) const { return ends_.contains(pc); }
  // The word of the call itself, if the one at `pc` belongs to the callee's code in front of it.
  std::optional<std::uint32_t> call_around(std::uint32_t pc) const;
  bool is_call(std::uint32_t pc) const { return call_words_.contains(pc); }

  // The function without them, as everything but the lowering knows it: a word of it, and its registers.
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

// A module with the code of seen calls put into some of its functions.
struct ExpandedModule {
  bytecode::Module module;
  std::map<std::uint32_t, SeenCalls> calls;  // by function
};

// Expands these functions; nothing if none of them has a call that is worth it.
std::optional<ExpandedModule> see_through_calls(const bytecode::Module& module,
                                                const std::set<std::uint32_t>& functions);

// The function that the call, an instruction of `block`, is of, if a loop can see through it. That is also known of a
// method of an interface where the function itself has made the object, as it does with a closure.
std::optional<std::uint32_t> seen_callee(const bytecode::Module& module, const bytecode::Function& function,
                                         const Flow& flow, std::uint32_t block, const Instruction& call);

}  // namespace dhpvm::codegen
