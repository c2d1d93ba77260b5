// SPDX-License-Identifier: Apache-2.0
// The verifier: a security boundary. Executing a module that it accepts never reads or writes memory that the
// program does not own, for any origin of the module and any inputs; the executor's own dynamic
// checks (null, index, division, limits) are the other half of that promise.
//
// One forward dataflow analysis over branch targets proves for each function: every register is
// assigned before it is read; every reference register holds null or an object of a known static type; every
// operand suits its opcode; control stays inside the function. Unreachable code is checked for its
// encoding only, and must not be compiled or executed. docs/bytecode.md lists all rules.
#pragma once

#include "bytecode/module.h"
#include "dhpvm/result.h"

namespace dhpvm::bytecode {

// Ok, or kUnverified with one line that names the function, the word and the rule. Time and memory are
// bounded by a multiple of the module's size: functions that would need more are refused as too complex.
Status verify(const Module& module);

}  // namespace dhpvm::bytecode
