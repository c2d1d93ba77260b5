// SPDX-License-Identifier: Apache-2.0
// The memory that an access touches, in terms of the virtual machine, as type-based alias metadata: different
// families never overlap. This lets LLVM keep an array's data pointer and length in registers while elements are
// stored.
#pragma once

#include <llvm/IR/MDBuilder.h>

#include <cstdint>
#include <map>

namespace dhpvm::codegen {

// A family of memory, and a number that distinguishes disjoint parts of it (a field's offset, an element's kind).
struct Access {
  enum Family : std::uint8_t {
    kHeader,     // type and size of objects
    kFlags,      // the flag byte of objects
    kHandle,     // data, readable and writable of arrays
    kConstant,   // immutable, and valid as long as the code runs
    kImmutable,  // immutable while the object lives: lengths, bytes of strings
    kElement,    // elements of arrays, by kind
    kField,      // fields of objects, by offset
    kMirror,     // the reference stack
    kWindow,     // the primitive stack
    kAllocator,  // cursor and limit of the allocation area
    kContext,    // the virtual machine's own state
  };
  // Parts of kContext: fields that compiled code writes, or reads between its own writes.
  enum ContextPart : std::uint64_t {
    kPrimitives,
    kNativeLimit,
    kStrings,
    kTicks,
    kMostInPlace,
    kParallelLoops,
    kParallelIterations,
    kFuelBatched,
  };
  static constexpr std::uint64_t kAnyPart = ~std::uint64_t{0};  // of kHandle: overlaps with all of its parts
  Family family;
  std::uint64_t part = 0;
};

class Tbaa {
 public:
  explicit Tbaa(llvm::LLVMContext& context) : builder_(context), root_(builder_.createTBAARoot("dhpvm")) {}
  llvm::MDNode* tag(Access access);

 private:
  llvm::MDNode* type(Access access);

  llvm::MDBuilder builder_;
  llvm::MDNode* root_;
  std::map<std::pair<int, std::uint64_t>, llvm::MDNode*> tags_;
};

}  // namespace dhpvm::codegen
