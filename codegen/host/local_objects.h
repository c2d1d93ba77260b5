// SPDX-License-Identifier: Apache-2.0
// Objects that never leave the function that makes them.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace dhpvm::codegen {

// Puts every new object without references into the frame of the function, where SROA makes values of its fields, if
// nothing but this function ever sees it: no memory, no call, no result. Such objects are the vectors, points and
// complex numbers that operators make on the way to their result. New objects are known by their mark
// (object_marks.h); the calls that are worth it have been inlined. Returns whether something has changed.
bool keep_objects_local(llvm::Function& function);

}  // namespace dhpvm::codegen
