// SPDX-License-Identifier: Apache-2.0
// Random programs: what the compiler accepts verifies, and runs alike everywhere. DHPVM_SOURCE_SEEDS sets how many,
// DHPVM_SOURCE_SEED where they begin; with
// DHPVM_SOURCE_SHOW they are printed.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "compiler/testing/random_source.h"
#include "compiler/testing/token_mutation.h"
#include "vm/api/source_corpus.h"
#include "vm/api/source_harness.h"

namespace dhpvm {
namespace {

using Verdict = SourceHarness::Verdict;

unsigned number_from(const char* variable, unsigned otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : static_cast<unsigned>(std::strtoul(text, nullptr, 10));
}

// Native code of a program takes a hundred times as long to make as the program itself.
TEST(RandomSource, IsAcceptedAndVerifies) {
  SourceHarness harness;
  const unsigned first = number_from("DHPVM_SOURCE_SEED", 1);
  const unsigned count = number_from("DHPVM_SOURCE_SEEDS", 300);
  for (unsigned seed = first; seed < first + count; ++seed) {
    const std::string program = compiler::testing::random_source(seed);
    const SourceHarness::Outcome outcome = harness.compile(program);
    EXPECT_EQ(outcome.verdict, Verdict::kAgrees) << "seed " << seed << ": " << outcome.words << "\n"
                                                 << program;
  }
}

TEST(RandomSource, RunsAlikeEverywhere) {
  SourceHarness harness;
  const unsigned first = number_from("DHPVM_SOURCE_SEED", 1);
  const unsigned count = number_from("DHPVM_SOURCE_SEEDS", 10);
  unsigned refused = 0;
  unsigned too_long = 0;
  for (unsigned seed = first; seed < first + count; ++seed) {
    const std::string program = compiler::testing::random_source(seed);
    if (std::getenv("DHPVM_SOURCE_SHOW") != nullptr) std::printf("%s\n", program.c_str());
    const SourceHarness::Outcome outcome = harness.compare(program);
    EXPECT_NE(outcome.verdict, Verdict::kFails) << "seed " << seed << ": " << outcome.words << "\n"
                                                << program;
    if (outcome.verdict == Verdict::kRefused) ++refused;
    if (outcome.verdict == Verdict::kTooLong) ++too_long;
  }
  EXPECT_EQ(refused, 0u);
  EXPECT_LE(too_long * 10, count);
}

// Most of it is refused; the rest must verify.
TEST(ChangedPrograms, AreRefusedOrVerify) {
  SourceHarness harness;
  const unsigned first = number_from("DHPVM_SOURCE_SEED", 1);
  const unsigned count = number_from("DHPVM_SOURCE_SEEDS", 6);
  unsigned accepted = 0;
  for (const std::string& program : corpus_programs(DHPVM_PROGRAMS)) {
    for (unsigned seed = first; seed < first + count; ++seed) {
      const std::byte bytes[] = {std::byte(seed), std::byte(seed >> 8), std::byte(program.size())};
      Decisions decisions(bytes);
      const std::string changed = compiler::testing::mutate_tokens(program, decisions);
      const SourceHarness::Outcome outcome = harness.compile(changed);
      EXPECT_NE(outcome.verdict, Verdict::kFails) << "seed " << seed << ": " << outcome.words << "\n"
                                                  << changed;
      if (outcome.verdict == Verdict::kAgrees) ++accepted;
    }
  }
  EXPECT_GE(accepted, 8 * count);
}

}  // namespace
}  // namespace dhpvm
