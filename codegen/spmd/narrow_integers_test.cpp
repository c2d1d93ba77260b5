// SPDX-License-Identifier: Apache-2.0
#include "codegen/spmd/narrow_integers.h"

#include <gtest/gtest.h>

#include <string>

#include "codegen/spmd/expect_same.h"
#include "codegen/spmd/test_kernel.h"

namespace dhpvm::codegen::spmd {
namespace {

// %x and %y, bytes of iteration %i as i32, and %j of its neighbour as i64; then `work`.
std::string on_bytes(const std::string& work) {
  return R"(
    declare i32 @llvm.abs.i32(i32, i1)
    declare i32 @llvm.smin.i32(i32, i32)
    define i32 @body(i64 %i, ptr %a, ptr %b, ptr %c, i64 %n) {
      %at = getelementptr i8, ptr %b, i64 %i
      %byte = load i8, ptr %at
      %next = getelementptr i8, ptr %at, i64 1
      %other = load i8, ptr %next
      %x = zext i8 %byte to i32
      %y = zext i8 %other to i32
      %s = sext i8 %other to i32
      %j = zext i8 %other to i64
      %to = getelementptr i16, ptr %a, i64 %i
)" + work +
         "\n    }\n";
}

std::string widened(const std::string& text) {
  const auto kernel = TestKernel::create(text, 8);
  if (!kernel.ok()) return kernel.error().message();
  return kernel->vector_text();
}

TEST(NarrowIntegers, SumsOfBytesTakeSixteenBits) {
  const std::string text = on_bytes(R"(
      %four = mul i32 %x, 61
      %less = sub i32 %four, %y
      %size = call i32 @llvm.abs.i32(i32 %less, i1 false)
      %low = call i32 @llvm.smin.i32(i32 %size, i32 7000)
      %mean = udiv i32 %low, 9
      %half = lshr i32 %mean, 1
      %r = trunc i32 %half to i16
      store i16 %r, ptr %to
      ret i32 0)");
  expect_same(text);
  const std::string vector = widened(text);
  EXPECT_NE(vector.find("mul <8 x i16>"), std::string::npos) << vector;
  EXPECT_EQ(vector.find("to <8 x i32>"), std::string::npos) << vector;
}

// With one more bit the product exceeds 16 bits, and the shift would bring back the truncated part.
TEST(NarrowIntegers, WhatDoesNotFitStays) {
  const std::string text = on_bytes(R"(
      %product = mul i32 %x, 1021
      %half = lshr i32 %product, 8
      %r = trunc i32 %half to i16
      store i16 %r, ptr %to
      ret i32 0)");
  expect_same(text);
  EXPECT_NE(widened(text).find("to <8 x i32>"), std::string::npos);
}

// Sums beyond 16 bits whose upper bits are unused: luminance and difference of colours.
TEST(NarrowIntegers, BitsThatNobodyAsksForAreLeftOut) {
  const std::string text = on_bytes(R"(
      %red = mul i32 %x, 129
      %green = mul i32 %y, 366
      %sum = add i32 %red, %green
      %round = add i32 %sum, 128
      %high = lshr i32 %round, 8
      %r = trunc i32 %high to i8
      %less = mul i32 %s, -74000
      %up = shl i32 %less, 3
      %sign = sub i32 %up, %round
      %low = ashr i32 %sign, 7
      %q = trunc i32 %low to i8
      store i8 %r, ptr %to
      %behind = getelementptr i8, ptr %to, i64 1
      store i8 %q, ptr %behind
      ret i32 0)");
  expect_same(text);
  const std::string vector = widened(text);
  EXPECT_NE(vector.find("mul <8 x i16>"), std::string::npos) << vector;
  EXPECT_EQ(vector.find("mul <8 x i32>"), std::string::npos) << vector;
  EXPECT_EQ(vector.find("mul nuw nsw <8 x i32>"), std::string::npos) << vector;
}

// One more bit comes from above 16, and so do the compared bits.
TEST(NarrowIntegers, BitsFromAboveStay) {
  const std::string text = on_bytes(R"(
      %square = mul i32 %x, %x
      %cube = mul i32 %square, %y
      %high = lshr i32 %cube, 9
      %r = trunc i32 %high to i8
      %product = mul i32 %square, %s
      %is_less = icmp slt i32 %product, 70000
      %one = zext i1 %is_less to i8
      %both = add i8 %r, %one
      store i8 %both, ptr %to
      ret i32 0)");
  expect_same(text);
  EXPECT_EQ(widened(text).find("mul <8 x i16>"), std::string::npos) << widened(text);
}

// A value that is needed in full width is not narrowed and widened again.
TEST(NarrowIntegers, ResultsThatAreWideStay) {
  const std::string text = on_bytes(R"(
      %sum = add i32 %x, %y
      %r = trunc i32 %sum to i16
      store i16 %r, ptr %to
      ret i32 %sum)");
  expect_same(text);
  EXPECT_NE(widened(text).find("add nuw nsw <8 x i32>"), std::string::npos) << widened(text);
}

TEST(NarrowIntegers, ComparesDifferencesOfEitherSign) {
  const std::string text = on_bytes(R"(
      %difference = sub i32 %x, %y
      %negative = mul i32 %s, %s
      %is_less = icmp ult i32 %difference, %negative
      %wide = select i1 %is_less, i32 %difference, i32 %s
      %rest = srem i32 %wide, 11
      %shifted = ashr i32 %rest, 2
      %r = trunc i32 %shifted to i16
      store i16 %r, ptr %to
      ret i32 0)");
  expect_same(text);
  EXPECT_EQ(widened(text).find("to <8 x i32>"), std::string::npos) << widened(text);
}

TEST(NarrowIntegers, ConvertsSumsOfSixtyFourBitsFromThirtyTwo) {
  const std::string text = on_bytes(R"(
      %square = mul i64 %j, %j
      %cube = mul i64 %square, %j
      %real = uitofp i64 %cube to float
      %result = bitcast float %real to i32
      ret i32 %result)");
  expect_same(text);
  const std::string vector = widened(text);
  EXPECT_NE(vector.find("sitofp <8 x i32>"), std::string::npos) << vector;
  EXPECT_EQ(vector.find("to <8 x i64>"), std::string::npos) << vector;
}

// In 16 bits, the extension of a truncation is the sum itself, which is defined only later.
TEST(NarrowIntegers, ExtensionsOfTruncationsAreReplacedWithThem) {
  const std::string text = on_bytes(R"(
      %difference = sub i32 %x, %y
      %seven = mul i32 %difference, 7
      %low = trunc i32 %seven to i16
      store i16 %low, ptr %to
      %again = sext i16 %low to i64
      %more = add i64 %again, %j
      %three = mul i64 %more, 3
      %is_less = icmp slt i64 %three, %again
      %r = zext i1 %is_less to i32
      ret i32 %r)");
  expect_same(text);
  const std::string vector = widened(text);
  EXPECT_EQ(vector.find("sub <8 x i32>"), std::string::npos) << vector;
  EXPECT_EQ(vector.find("to <8 x i64>"), std::string::npos) << vector;
}

}  // namespace
}  // namespace dhpvm::codegen::spmd
