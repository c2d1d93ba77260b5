// SPDX-License-Identifier: Apache-2.0
// The fuzzer of native code on a fixed set of seeds.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include "base/test_effort.h"
#include "vm/jit_harness.h"

namespace dhpvm::vm {
namespace {

#ifdef DHPVM_CODEGEN_LIBRARY

constexpr unsigned kSeeds = 80;

std::vector<std::byte> input_of(unsigned seed) {
  std::vector<std::byte> input;
  std::uint64_t state = seed;
  // A few bytes are enough: the generator goes on from a hash of them.
  for (int n = 0; n < 12; ++n) {
    state = state * 6364136223846793005 + 1442695040888963407;
    input.push_back(static_cast<std::byte>(state >> 56));
  }
  return input;
}

TEST(Jit, AgreesWithTheInterpreter) {
  JitHarness harness(DHPVM_CODEGEN_LIBRARY);
  ASSERT_EQ(harness.unavailable(), "");
  unsigned first = 0;
  unsigned count = test_effort(kSeeds);
  // For looking further by hand: DHPVM_JIT_SEEDS=FIRST:COUNT.
  if (const char* const range = std::getenv("DHPVM_JIT_SEEDS")) {
    char* rest = nullptr;
    first = static_cast<unsigned>(std::strtoul(range, &rest, 10));
    if (*rest == ':') count = static_cast<unsigned>(std::strtoul(rest + 1, nullptr, 10));
  }
  for (unsigned seed = first; seed < first + count; ++seed) {
    EXPECT_EQ(harness.compare(input_of(seed)), "") << "seed " << seed;
  }
}

#else

TEST(Jit, NeedsTheGenerator) {
  GTEST_SKIP() << "this build has no native code generator (DHPVM_CODEGEN is OFF)";
}

#endif

}  // namespace
}  // namespace dhpvm::vm
