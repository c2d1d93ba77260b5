// SPDX-License-Identifier: Apache-2.0
// Replays the execution fuzzer's corpus with the dispatch of this build: the fuzzer
// itself runs with sanitizers, which need the loop.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"
#include "vm/execute_harness.h"

namespace dhpvm::vm {
namespace {

TEST(ExecuteCorpus, RunsClean) {
  int accepted = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DHPVM_CORPUS)) {
    const auto file = read_file(entry.path().string());
    ASSERT_TRUE(file.ok()) << file.error().to_string();
    if (execute(*file)) ++accepted;
  }
  EXPECT_GE(accepted, 10);
}

}  // namespace
}  // namespace dhpvm::vm
