// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/target.h"

#include <gtest/gtest.h>

namespace dhpvm::codegen {
namespace {

TEST(Target, NativeIsThisProcessor) {
  const auto target = Target::create("native");
  ASSERT_TRUE(target.ok()) << target.error().to_string();
  EXPECT_FALSE(target->description().empty());
  EXPECT_EQ(target->data_layout().getPointerSize(), sizeof(void*));
  const auto again = Target::create("native");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(target->description(), again->description());
}

TEST(Target, UnknownNamesAreErrors) {
  for (const char* cpu : {"", "pentium-9", "native,avx2", "native,+", "native,+warp-drive", "native,"}) {
    const auto target = Target::create(cpu);
    ASSERT_FALSE(target.ok()) << cpu;
    EXPECT_EQ(target.error().code(), ErrorCode::kInvalidArgument) << target.error().to_string();
  }
}

}  // namespace
}  // namespace dhpvm::codegen
