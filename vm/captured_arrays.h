// SPDX-License-Identifier: Apache-2.0
// The arrays that an execution of a parallel loop captures, as compiled kernels and devices see them.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "codegen/kernel_abi.h"
#include "gc/object.h"
#include "offload/loops/loop.h"
#include "vm/context.h"

namespace dhpvm::vm {

// Replaces all of `described`. `array` may be null.
inline void describe(const Context& context, gc::Ref array, codegen::KernelArray& described) {
  described = {};
  if (array == nullptr) {
    described.shape.length = -1;
    return;
  }
  const auto& handle = *reinterpret_cast<const gc::Array*>(array);
  described.data = handle.data;
  // The host may use every element of an owned off-heap array after fetching it; of other arrays, the readable ones.
  described.shape.readable = handle.buffer != nullptr ? handle.length : handle.readable;
  described.shape.writable = handle.buffer != nullptr ? handle.length : handle.writable;
  described.shape.length = handle.length;
  if (context.types[handle.header.type].size == sizeof(gc::Array)) {
    described.shape.dims = {handle.length, 1, 1};
  } else {
    std::ranges::copy(reinterpret_cast<const gc::MultiArray&>(handle).dims, described.shape.dims.begin());
  }
}

// With their storage.
struct CapturedArrays {
  CapturedArrays(const Context& context, std::span<const gc::Ref> references)
      : arrays(references.size()), storage(references.size()) {
    for (std::size_t n = 0; n < references.size(); ++n) {
      describe(context, references[n], arrays[n]);
      if (references[n] == nullptr) continue;
      const auto& array = *reinterpret_cast<const gc::Array*>(references[n]);
      storage[n].element_bytes = context.types[array.header.type].element_size;
      storage[n].buffer = static_cast<offload::Buffer*>(array.buffer);
    }
  }

  std::vector<codegen::KernelArray> arrays;
  std::vector<offload::ArrayStorage> storage;
};

}  // namespace dhpvm::vm
