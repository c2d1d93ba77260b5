// SPDX-License-Identifier: Apache-2.0
// The part that objects and tensors of DLPack have in common.
#pragma once

#include "vm/api/c/values.h"

namespace dhpvm::c {

Status give_object(dhpvm::Object object, std::shared_ptr<LentMemory> lent, dhpvm_object** handle);

// The host's memory as an array of the program. `owner` is released with the last handle.
Status lend(const IsolateHandle& isolate, const dhpvm_array& array, std::shared_ptr<ReleasedUser> owner,
            dhpvm_object** handle);

// The elements of an array of numbers, in place.
Status view(const dhpvm::Object& object, dhpvm_access access, dhpvm_array& array);

}  // namespace dhpvm::c
