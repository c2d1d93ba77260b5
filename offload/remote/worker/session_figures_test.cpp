// SPDX-License-Identifier: Apache-2.0
#include "offload/remote/worker/session_figures.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace dhpvm::offload {
namespace {

TEST(SessionFigures, AreSeenByTheOtherProcess) {
  const auto here = SharedFigures::create();
  ASSERT_TRUE(here.ok()) << here.error().to_string();
  const auto there = SharedFigures::adopt(Descriptor(fcntl(here->descriptor(), F_DUPFD_CLOEXEC, 0)));
  ASSERT_TRUE(there.ok());
  EXPECT_EQ(here->figures()->program(), "");
  there->figures()->jobs += 3;
  there->figures()->devices |= 5;
  there->figures()->set_program(std::string("bl\x1bur") + std::string(100, 'x'));
  EXPECT_EQ(here->figures()->jobs, 3u);
  EXPECT_EQ(here->figures()->devices, 5u);
  EXPECT_EQ(here->figures()->program(), "blur" + std::string(SessionFigures::kLongestName - 5, 'x'));
}

TEST(SessionFigures, CannotBeTakenAwayFromTheWorker) {
  const auto figures = SharedFigures::create();
  ASSERT_TRUE(figures.ok());
  EXPECT_NE(ftruncate(figures->descriptor(), 0), 0);
  EXPECT_NE(ftruncate(figures->descriptor(), 1 << 20), 0);
  EXPECT_NE(fcntl(figures->descriptor(), F_ADD_SEALS, F_SEAL_WRITE), 0);
  EXPECT_EQ(figures->figures()->jobs, 0u);
}

}  // namespace
}  // namespace dhpvm::offload
