// SPDX-License-Identifier: Apache-2.0
// libFuzzer target. The first byte chooses between a random program, which must run alike on every executor,
// and one of the corpus with some of its words changed, which must verify if the compiler accepts it.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

#include "compiler/testing/random_source.h"
#include "compiler/testing/token_mutation.h"
#include "vm/api/source_corpus.h"
#include "vm/api/source_harness.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using dhpvm::SourceHarness;
  static SourceHarness harness;
  static const std::vector<std::string> corpus = dhpvm::corpus_programs(DHPVM_PROGRAMS);
  const auto bytes = std::as_bytes(std::span(data, size));
  dhpvm::Decisions decisions(bytes);
  std::string program;
  SourceHarness::Outcome outcome;
  if (decisions.one_in(2)) {
    program = dhpvm::compiler::testing::random_source(size == 0 ? bytes : bytes.subspan(1));
    outcome = harness.compare(program);
  } else {
    const std::size_t which = decisions.below(256) * 256 + decisions.below(256);
    program = dhpvm::compiler::testing::mutate_tokens(corpus[which % corpus.size()], decisions);
    outcome = harness.compile(program);
  }
  if (outcome.verdict != SourceHarness::Verdict::kFails) return 0;
  std::fprintf(stderr, "%s\n\nsource: %s\n", program.c_str(), outcome.words.c_str());
  std::abort();
}
