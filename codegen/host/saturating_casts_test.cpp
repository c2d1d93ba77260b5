// SPDX-License-Identifier: Apache-2.0
#include "codegen/host/saturating_casts.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <llvm/IR/Module.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "codegen/host/ir_for_tests.h"
#include "codegen/host/optimise.h"

namespace dhpvm::codegen {
namespace {

// Limits of both integers, their neighbours, fractions and what is no number.
template <typename Float>
std::vector<Float> numbers() {
  std::vector<Float> all;
  for (const double limit : {0.0, 1.0, 2147483647.0, 2147483648.0, 9223372036854775807.0, 1e300}) {
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
  const auto beyond = -static_cast<Float>(std::numeric_limits<Integer>::min());
  if (x >= beyond) return std::numeric_limits<Integer>::max();
  return x < -beyond ? std::numeric_limits<Integer>::min() : static_cast<Integer>(x);
}

template <typename Float, typename Integer>
void check(Pipeline pipeline) {
  const bool is_float = sizeof(Float) == 4;
  const char* const from = is_float ? "float" : "double";
  const unsigned bits = 8 * sizeof(Integer);
  const std::string text = fmt::format(R"(
declare i{0} @llvm.fptosi.sat.i{0}.{1}({2})
declare <4 x i{0}> @llvm.fptosi.sat.v4i{0}.v4{1}(<4 x {2}>)
define void @one(ptr %from, ptr %to) {{
  %x = load {2}, ptr %from
  %y = call i{0} @llvm.fptosi.sat.i{0}.{1}({2} %x)
  store i{0} %y, ptr %to
  ret void
}}
define void @four(ptr %from, ptr %to) {{
  %x = load <4 x {2}>, ptr %from, align 4
  %y = call <4 x i{0}> @llvm.fptosi.sat.v4i{0}.v4{1}(<4 x {2}> %x)
  store <4 x i{0}> %y, ptr %to, align 4
  ret void
}})",
                                       bits, is_float ? "f32" : "f64", from);
  const auto compiler = new_compiler();
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

TEST(SaturatingCasts, EveryLimit) {
  for (const Pipeline pipeline : {Pipeline::kFunctions, Pipeline::kKernels, Pipeline::kOneLane}) {
    check<float, std::int32_t>(pipeline);
    check<float, std::int64_t>(pipeline);
    check<double, std::int32_t>(pipeline);
    check<double, std::int64_t>(pipeline);
  }
}

}  // namespace
}  // namespace dhpvm::codegen
