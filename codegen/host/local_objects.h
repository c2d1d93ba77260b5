// SPDX-License-Identifier: Apache-2.0
// Scalar replacement of objects that do not escape.
#pragma once

namespace llvm {
class Function;
}  // namespace llvm

namespace dhpvm::codegen {

// Puts every new object without references that does not escape the function into its frame, where SROA turns its
// fields into values: this avoids the allocation. Such objects are the vectors, points and complex numbers of
// intermediate results of operators. New objects are recognised by their mark (object_marks.h); worthwhile calls have
// been inlined. Returns whether something has changed.
bool keep_objects_local(llvm::Function& function);

}  // namespace dhpvm::codegen
