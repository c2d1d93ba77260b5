// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/expect_same.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <random>

namespace dhpvm::codegen::spmd {

TestData new_data(Fill fill, unsigned seed, std::uint32_t limit) {
  TestData data;
  std::mt19937 random(seed);
  for (auto& array : data.arrays) {
    array.resize(kWords);
    auto* bytes = reinterpret_cast<std::byte*>(array.data());
    for (std::size_t i = 0; i < (fill == Fill::kDoubles ? kWords : 2 * kWords); ++i) {
      const std::uint32_t whole = static_cast<std::uint32_t>(random() % (limit + 1));
      const float part = static_cast<float>(random() % 4096) / 1024.0F;
      const double wide = part;
      switch (fill) {
        case Fill::kIntegers: std::memcpy(bytes + 4 * i, &whole, 4); break;
        case Fill::kFloats: std::memcpy(bytes + 4 * i, &part, 4); break;
        case Fill::kDoubles: std::memcpy(bytes + 8 * i, &wide, 8); break;
      }
    }
  }
  data.results.assign(kWords, 0);
  return data;
}

void expect_same(const std::string& text, Case test) {
  for (const unsigned width : {4U, 8U, 16U, 32U}) {
    auto kernel = TestKernel::create(text, width);
    ASSERT_TRUE(kernel.ok()) << kernel.error().to_string();
    for (const std::int64_t begin : {0, 5, 64}) {
      for (unsigned active = 1; active <= width; ++active) {
        TestData expected = new_data(test.fill, width + active, test.limit);
        TestData found = expected;
        kernel->run_scalar(expected, begin, test.n, active);
        // The results of inactive lanes are unspecified.
        kernel->run_tail(found, begin, test.n, active);
        for (std::size_t word = 0; word < kWords; ++word) {
          if (word % width >= active) found.results[word] = expected.results[word];
        }
        EXPECT_EQ(expected, found) << active << " of " << width << " lanes";
        if (active < width) continue;
        found = new_data(test.fill, width + active, test.limit);
        kernel->run_full(found, begin, test.n);
        EXPECT_EQ(expected, found) << width << " lanes\n" << kernel->vector_text();
      }
    }
    if (testing::Test::HasFailure()) return;
  }
}

}  // namespace dhpvm::codegen::spmd
