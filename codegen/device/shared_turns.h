// SPDX-License-Identifier: Apache-2.0
// A loop's body whose turns the work-items of one or several groups share. Its iterations are few and long: blocks of a
// reduction into elements of arrays (docs/decisions/0041), which update integers and have no other effect on memory
// (element_updates.h).
//
// All work-items of the groups call it together. It has the arguments of the original body, followed by three more:
//
//   ..body(..as before.., i64 item, i64 groups, ptr place)
//
// `item` is the work-item's number among those of the `groups` groups that share the iteration. A work-item whose turn
// traps stores two numbers at `place`: of the traps in one iteration, the one with the least numbers comes first in the
// order of the turns. Otherwise they are unchanged.
#pragma once

#include "bytecode/module.h"
#include "codegen/lower/kernel_lowering.h"

namespace dhpvm::codegen {

// The original body is unchanged. Null: its turns cannot be shared.
llvm::Function* share_turns(const KernelBody& body, const bytecode::Module& bytecode,
                            const bytecode::KernelRecord& record);

}  // namespace dhpvm::codegen
