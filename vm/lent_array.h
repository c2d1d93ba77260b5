// SPDX-License-Identifier: Apache-2.0
// Arrays of the program whose elements belong to the host, without a Loan: for calls, which root the arrays themselves.
// All other code uses Isolate::lend_array.
#pragma once

#include <cstdint>
#include <span>

#include "dhpvm/result.h"
#include "gc/object.h"

namespace dhpvm::vm {

class Isolate;

// As Isolate::lend_array says. The caller roots the array before anything else happens, and ends the loan.
Result<gc::Array*> new_lent_array(Isolate& isolate, gc::TypeId type, void* data,
                                  std::span<const std::int64_t> sizes, bool writable);

// The same for the usual case, in a third of the instructions: existing elements of an array of one dimension. Null in
// other cases, and where there is no memory: new_lent_array() then handles the case, or returns the error.
gc::Array* lend_row(Isolate& isolate, gc::TypeId type, void* data, std::int64_t size, bool writable);

// From now on every access by the program traps with kBorrowEnded. Does nothing for an array that the program has
// closed.
void end_loan(gc::Array& array);

}  // namespace dhpvm::vm
