// SPDX-License-Identifier: Apache-2.0
// For tests: compares the vector forms of a function with the function itself.
#pragma once

#include <cstdint>
#include <string>

#include "codegen/spmd/test_kernel.h"

namespace dhpvm::codegen::spmd {

constexpr std::size_t kWords = 2048;  // of each array

// Arrays of 32-bit integers from 0 to `limit`, or of floats between 0 and 4.
enum class Fill { kIntegers, kFloats, kDoubles };
TestData new_data(Fill fill, unsigned seed, std::uint32_t limit = 100);

struct Case {
  Fill fill = Fill::kIntegers;
  std::uint32_t limit = 100;
  std::int64_t n = 37;
};

// Compares the vector forms of `text` with the scalar function, for all numbers of lanes and active lanes.
void expect_same(const std::string& text, Case test = {});

}  // namespace dhpvm::codegen::spmd
