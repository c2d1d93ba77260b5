// SPDX-License-Identifier: Apache-2.0
// For tests: random loop nests that access memory with strides, in LLVM assembly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace dhpvm::codegen::spmd {

// The size of each array of a nest, in words of any content except that floats are finite.
constexpr std::size_t kNestWords = std::size_t{1} << 16;
// The most turns of its innermost loops, and the last iteration.
constexpr std::int64_t kMostNestTurns = 600;
constexpr std::int64_t kLastNestIteration = 39;

enum class NestType : std::uint8_t { kInteger, kFloat, kDouble };
NestType nest_type(std::uint32_t seed);

// The text of a module that defines @body as TestKernel wants it: one to three nested loops; the
// innermost has about %n turns and combines elements of rows, columns and diagonals of arrays %a and %b, and may
// read and write a row of array %c that belongs to the iteration.
std::string random_nest(std::uint32_t seed);

}  // namespace dhpvm::codegen::spmd
