// SPDX-License-Identifier: Apache-2.0
// Random programs: the vector forms against the scalar function. DHPVM_SPMD_SEEDS is their number, DHPVM_SPMD_SEED the
// first one.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/test_effort.h"
#include "codegen/spmd/random_program.h"
#include "codegen/spmd/test_kernel.h"

namespace dhpvm::codegen::spmd {
namespace {

constexpr std::size_t kWords = 2048;

unsigned from_environment(const char* name, unsigned otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

TestData new_data(unsigned seed) {
  TestData data;
  std::mt19937 random(seed);
  const std::uint64_t mask = seed % 2 == 0 ? 0x0000000F0000000F : 0x0000FFFF00000FFF;
  for (auto& array : data.arrays) {
    for (std::size_t i = 0; i < kWords; ++i)
      array.push_back(((std::uint64_t{random()} << 32) | random()) & mask);
  }
  data.results.assign(kWords, 0);
  return data;
}

TEST(RandomPrograms, VectorFormsAgreeWithTheScalarFunction) {
  const unsigned first = from_environment("DHPVM_SPMD_SEED", 1);
  const unsigned count = from_environment("DHPVM_SPMD_SEEDS", test_effort(150));
  for (unsigned seed = first; seed < first + count; ++seed) {
    constexpr unsigned kWidths[] = {4, 8, 16, 32};
    const unsigned width = kWidths[seed % 4];
    const std::string program = random_program(seed);
    auto kernel = TestKernel::create(program, width);
    ASSERT_TRUE(kernel.ok()) << "seed " << seed << ": " << kernel.error().to_string() << "\n" << program;
    for (unsigned run = 0; run < 6; ++run) {
      const unsigned active = run < 2 ? width : 1 + (seed * 7 + run * 3) % width;
      const std::int64_t begin = run * 11 % 60;
      const std::int64_t n = run * 13 % 40;
      TestData expected = new_data(seed + run);
      TestData full = expected;
      TestData tail = expected;
      kernel->run_scalar(expected, begin, n, active);
      kernel->run_tail(tail, begin, n, active);
      for (std::size_t word = 0; word < kWords; ++word) {
        if (word % width >= active) tail.results[word] = expected.results[word];
      }
      ASSERT_EQ(expected, tail) << "seed " << seed << ", " << active << " of " << width << " lanes\n"
                                << program;
      if (active < width) continue;
      kernel->run_full(full, begin, n);
      ASSERT_EQ(expected, full) << "seed " << seed << ", " << width << " lanes\n" << program;
    }
  }
}

}  // namespace
}  // namespace dhpvm::codegen::spmd
