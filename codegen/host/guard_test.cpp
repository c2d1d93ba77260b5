// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/guard.h"

#include <gtest/gtest.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/ErrorHandling.h>

#include <new>
#include <thread>
#include <vector>

#include "base/error.h"
#include "codegen/host/ir_for_tests.h"

namespace dhpvm::codegen {
namespace {

TEST(Guard, PassesResultsOn) {
  bool abandoned = false;
  EXPECT_TRUE(guarded([] { return Status(); }, &abandoned).ok());
  const Status failed = guarded([] { return Status(error(ErrorCode::kLink, "no")); }, &abandoned);
  EXPECT_EQ(failed.error().code(), ErrorCode::kLink);
  EXPECT_FALSE(abandoned);
}

TEST(Guard, FatalErrorsAreErrors) {
  const LostOnPurpose lost_on_purpose;
  bool abandoned = false;
  const Status status =
      guarded([]() -> Status { llvm::report_fatal_error("cannot select this"); }, &abandoned);
  EXPECT_TRUE(abandoned);
  EXPECT_EQ(status.error().code(), ErrorCode::kInternal);
  EXPECT_NE(status.error().message().find("cannot select this"), std::string::npos);
}

TEST(Guard, LackOfMemoryIsAnError) {
  const LostOnPurpose lost_on_purpose;
  bool abandoned = false;
  Status status = guarded([]() -> Status { llvm::report_bad_alloc_error("buffer"); }, &abandoned);
  EXPECT_TRUE(abandoned);
  EXPECT_EQ(status.error().code(), ErrorCode::kOutOfMemory);
  abandoned = false;
  status = guarded([]() -> Status { throw std::bad_alloc(); }, &abandoned);
  EXPECT_TRUE(abandoned);
  EXPECT_EQ(status.error().code(), ErrorCode::kOutOfMemory);
}

TEST(Guard, Nests) {
  const LostOnPurpose lost_on_purpose;
  bool outer = false, inner = false;
  const Status status = guarded(
      [&]() -> Status {
        EXPECT_FALSE(guarded([]() -> Status { llvm::report_fatal_error("inner"); }, &inner).ok());
        llvm::report_fatal_error("outer");
      },
      &outer);
  EXPECT_TRUE(inner);
  EXPECT_TRUE(outer);
  EXPECT_NE(status.error().message().find("outer"), std::string::npos);
}

TEST(Guard, KeepsThreadsApart) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      const LostOnPurpose lost_here;
      const std::string reason = "thread " + std::to_string(i);
      for (int round = 0; round < 50; ++round) {
        bool abandoned = false;
        const Status status =
            guarded([&]() -> Status { llvm::report_fatal_error(llvm::StringRef(reason)); }, &abandoned);
        EXPECT_NE(status.error().message().find(reason), std::string::npos);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace dhpvm::codegen
