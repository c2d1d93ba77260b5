// SPDX-License-Identifier: Apache-2.0
// A loop's body whose turns the work-items of one group or several share. Its iterations are few and long: blocks of a
// reduction into elements of arrays (docs/decisions/0041), which update integers and do nothing else to memory
// (element_updates.h).
//
// All work-items of the groups call it together. It has more arguments than the body that it is made from, behind those
// of that one:
//
//   ..body(..as before.., i64 item, i64 groups, ptr place)
//
// `item` is the work-item's number among those of `groups` groups that share the iteration. A work-item whose turn has
// trapped leaves two numbers at `place`: of traps in one iteration, the one with the least numbers is the first one in
// the order of the turns. They are unchanged otherwise.
#pragma once

#include "bytecode/module.h"
#include "codegen/lower/kernel_lowering.h"

namespace dhpvm::codegen {

// The body stays as it is. Null: its turns cannot be shared.
llvm::Function* share_turns(const KernelBody& body, const bytecode::Module& bytecode,
                            const bytecode::KernelRecord& record);

}  // namespace dhpvm::codegen
