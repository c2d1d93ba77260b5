// SPDX-License-Identifier: Apache-2.0
// NumPy's files of one array (.npy): versions 1 to 3, little endian, rows first.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dhpvm/result.h"
#include "tools/ptx/elements.h"

namespace dhpvm::tools {

struct NpyArray {
  Element type = Element::kU8;
  std::vector<std::size_t> shape;
  std::span<const std::byte> elements;  // inside the file's bytes
};

bool is_npy(std::span<const std::byte> file);
// kInvalidArgument for a file that is cut off, has another byte order, or has elements of another kind.
Result<NpyArray> read_npy(std::span<const std::byte> file);
std::vector<std::byte> npy_file(Element type, const std::vector<std::size_t>& shape,
                                std::span<const std::byte> elements);

}  // namespace dhpvm::tools
