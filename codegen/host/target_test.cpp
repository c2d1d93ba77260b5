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
  for (const char* cpu : {"native,avx2", "native,+", "native,"}) {
    const std::string message = Target::create(cpu).error().message();
    EXPECT_NE(message.find("`llc-19 -mattr=help` lists, as in --cpu=native,-avx2"), std::string::npos)
        << message;
  }
}

#if defined(__x86_64__)
TEST(Target, ASmallerProcessorCanBeAskedFor) {
  const auto target = Target::create("x86-64");
  ASSERT_TRUE(target.ok()) << target.error().to_string();
  EXPECT_EQ(target->cpu(), "x86-64");
  EXPECT_TRUE(target->has("sse2"));
  EXPECT_FALSE(target->has("avx"));
  EXPECT_EQ(target->vector_bits(), 128U);
  EXPECT_NE(target->description(), Target::create("x86-64,+cx16")->description());
  EXPECT_FALSE(Target::create("native,-avx")->has("avx2"));  // features that depend on it are off, too
}

TEST(Target, WhatThisProcessorLacksIsAnError) {
  // No processor has both: the first is AMD's, on old processors only, the second Intel's.
  const auto target = Target::create("native,+fma4,+amx-tile");
  ASSERT_FALSE(target.ok());
  EXPECT_EQ(target.error().code(), ErrorCode::kUnsupported);
  EXPECT_NE(target.error().message().find("fma4"), std::string::npos) << target.error().message();
  EXPECT_FALSE(Target::create("bdver1").ok());
}
#endif

}  // namespace
}  // namespace dhpvm::codegen
