// SPDX-License-Identifier: Apache-2.0
// The arguments of a kernel, as written on the command line.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "dhpvm/result.h"
#include "offload/ptx/memory.h"
#include "tools/ptx/elements.h"

namespace dhpvm::tools {

struct KernelArgument {
  std::vector<std::byte> bytes;             // of the parameter
  std::shared_ptr<ptx::Allocation> memory;  // null: no array
  Element type = Element::kU8;              // of the elements
  std::vector<std::size_t> shape;
};

// kInvalidArgument, or what reading a file says.
//   f32:1.5           a number
//   bytes:0011ff      a parameter that is a structure
//   f32[100]          an unwritten array
//   f32[100]:0        one full of a number
//   f32[100]:range    0, 1, 2 and so on
//   f32[]:1,2,3       its elements
//   f32[]:@x.raw      the bytes of a file
//   @x.npy            an array of NumPy's, with its type
Result<KernelArgument> parse_kernel_argument(std::string_view text);

}  // namespace dhpvm::tools
