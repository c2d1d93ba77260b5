// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/quick_casts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "codegen/host/ir_for_tests.h"
#include "codegen/host/optimise.h"

namespace dhpvm::codegen {
namespace {

constexpr Pipeline kPipelines[] = {Pipeline::kFunctions, Pipeline::kKernels, Pipeline::kOneLane};

// Limits of all integers and of the quick casts, their neighbours, fractions and NaN.
template <typename Float>
std::vector<Float> numbers() {
  std::vector<Float> all;
  for (const double limit :
       {0.0, 1.0, 127.0, 255.0, 32767.0, 65535.0, 2147483647.0, 2147483648.0, 4294967295.0, 4294967296.0,
        2251799813685248.0, 4503599627370496.0, 9223372036854775807.0, 18446744073709551615.0, 1e300}) {
    for (const double number : {limit, -limit}) {
      const auto near = static_cast<Float>(number);
      const Float infinity = std::numeric_limits<Float>::infinity();
      for (const Float x : {near, std::nextafter(near, infinity), std::nextafter(near, -infinity),
                            static_cast<Float>(near + Float(0.75)), static_cast<Float>(near - Float(0.75))})
        all.push_back(x);
    }
  }
  for (const Float x : {std::numeric_limits<Float>::quiet_NaN(), std::numeric_limits<Float>::infinity(),
                        -std::numeric_limits<Float>::infinity(), Float(12345.6), Float(-7.9)})
    all.push_back(x);
  while (all.size() % 4 != 0) all.push_back(Float(3));
  return all;
}

template <typename Float, typename Integer>
Integer saturated(Float x) {
  if (std::isnan(x)) return 0;
  using Limits = std::numeric_limits<Integer>;
  const Float beyond = std::ldexp(Float(1), Limits::digits);
  if (x >= beyond) return Limits::max();
  return x <= static_cast<Float>(Limits::min()) ? Limits::min() : static_cast<Integer>(x);
}

template <typename Float, typename Integer>
void check(Pipeline pipeline, const char* cpu) {
  const bool is_float = sizeof(Float) == 4;
  const char* const from = is_float ? "float" : "double";
  const unsigned bits = 8 * sizeof(Integer);
  const std::string text =
      fmt::format(R"(
declare i{0} @llvm.fpto{3}i.sat.i{0}.{1}({2})
declare <4 x i{0}> @llvm.fpto{3}i.sat.v4i{0}.v4{1}(<4 x {2}>)
define void @one(ptr %from, ptr %to) {{
  %x = load {2}, ptr %from
  %y = call i{0} @llvm.fpto{3}i.sat.i{0}.{1}({2} %x)
  store i{0} %y, ptr %to
  ret void
}}
define void @four(ptr %from, ptr %to) {{
  %x = load <4 x {2}>, ptr %from, align 4
  %y = call <4 x i{0}> @llvm.fpto{3}i.sat.v4i{0}.v4{1}(<4 x {2}> %x)
  store <4 x i{0}> %y, ptr %to, align 4
  ret void
}})",
                  bits, is_float ? "f32" : "f64", from, std::is_signed_v<Integer> ? 's' : 'u');
  const auto compiler = new_compiler(cpu);
  auto code = compiler->compile(parse(*compiler, text), pipeline);
  ASSERT_TRUE(code.ok()) << code.error().to_string();
  const std::vector<Float> all = numbers<Float>();
  for (std::size_t first = 0; first < all.size(); first += 4) {
    Integer four[4] = {};
    code->function<void(const Float*, Integer*)>("four")(&all[first], four);
    for (std::size_t lane = 0; lane < 4; ++lane) {
      const Float x = all[first + lane];
      Integer one = 1;
      code->function<void(const Float*, Integer*)>("one")(&x, &one);
      EXPECT_EQ(one, (saturated<Float, Integer>(x))) << from << ' ' << x << " to " << bits << " bits";
      EXPECT_EQ(four[lane], (saturated<Float, Integer>(x))) << "in a lane: " << from << ' ' << x;
    }
  }
}

template <typename Integer>
void check_both(Pipeline pipeline, const char* cpu) {
  check<float, Integer>(pipeline, cpu);
  check<double, Integer>(pipeline, cpu);
}

TEST(QuickCasts, EveryLimit) {
  for (const char* cpu : kCpus) {
    for (const Pipeline pipeline : kPipelines) {
      check_both<std::int8_t>(pipeline, cpu);
      check_both<std::int16_t>(pipeline, cpu);
      check_both<std::int32_t>(pipeline, cpu);
      check_both<std::int64_t>(pipeline, cpu);
      check_both<std::uint8_t>(pipeline, cpu);
      check_both<std::uint16_t>(pipeline, cpu);
      check_both<std::uint32_t>(pipeline, cpu);
      check_both<std::uint64_t>(pipeline, cpu);
    }
  }
}

// Around every power of two, including those up to which additions convert.
template <typename Float, typename Integer>
void check_to_float(const char* cpu) {
  const char sign = std::is_signed_v<Integer> ? 's' : 'u';
  const char* const to = sizeof(Float) == 4 ? "float" : "double";
  const std::string text = fmt::format(R"(
define void @four(ptr %from, ptr %to) {{
  %x = load <4 x i64>, ptr %from, align 8
  %y = {0}itofp <4 x i64> %x to <4 x {1}>
  store <4 x {1}> %y, ptr %to, align 4
  ret void
}})",
                                       sign, to);
  const auto compiler = new_compiler(cpu);
  auto code = compiler->compile(parse(*compiler, text), Pipeline::kKernels);
  ASSERT_TRUE(code.ok()) << code.error().to_string();
  for (unsigned bit = 0; bit < 64; ++bit) {
    for (const std::uint64_t low : {0ULL, 1ULL, 0x123456789abcdefULL, ~0ULL}) {
      const std::uint64_t power = std::uint64_t{1} << bit;
      const std::uint64_t bits[] = {power, power + low, power - low, 0 - power};
      Integer from[4];
      std::memcpy(from, bits, sizeof(from));
      Float got[4] = {};
      code->function<void(const Integer*, Float*)>("four")(from, got);
      for (unsigned lane = 0; lane < 4; ++lane)
        EXPECT_EQ(got[lane], static_cast<Float>(from[lane])) << sign << ' ' << to << ' ' << from[lane];
    }
  }
}

TEST(QuickCasts, WideIntegersToFloats) {
  for (const char* cpu : kCpus) {
    check_to_float<float, std::int64_t>(cpu);
    check_to_float<double, std::int64_t>(cpu);
    check_to_float<float, std::uint64_t>(cpu);
    check_to_float<double, std::uint64_t>(cpu);
  }
}

}  // namespace
}  // namespace dhpvm::codegen
