// SPDX-License-Identifier: Apache-2.0
// The error bounds that docs/language.md states for the functions of `math`, checked at random places against
// the C library's long double, whose mantissa has 11 bits more than f64's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace {

constexpr int kPlaces = 40'000;

// Distance in units in the last place of the exact result.
template <typename T>
double ulps(T got, long double exact) {
  if (std::isnan(got) && std::isnan(exact)) return 0;
  if (static_cast<long double>(got) == exact) return 0;
  // Beyond the largest number, infinity is right.
  if (std::isinf(got) && std::fabs(exact) > static_cast<long double>(std::numeric_limits<T>::max())) return 0;
  if (!std::isfinite(got)) return std::numeric_limits<double>::infinity();
  constexpr int kDigits = std::numeric_limits<T>::digits;
  int exponent = 0;
  std::frexp(static_cast<T>(exact), &exponent);
  const long double unit =
      std::ldexp(1.0L, std::max(exponent, std::numeric_limits<T>::min_exponent) - kDigits);
  return static_cast<double>(std::fabs(static_cast<long double>(got) - exact) / unit);
}

// Numbers from `low` to `high`, half of them evenly spread, half of them over all magnitudes.
class Places {
 public:
  Places(double low, double high) : low_(low), high_(high) {}
  double next() {
    std::uniform_real_distribution<double> unit(0, 1);
    even_ = !even_;
    if (even_) return low_ + (high_ - low_) * unit(random_);
    const double largest = std::max(std::fabs(low_), std::fabs(high_));
    const double magnitude = std::exp(std::log(1e-12) + std::log(largest / 1e-12) * unit(random_));
    return low_ < 0 && unit(random_) < 0.5 ? std::max(-magnitude, low_) : std::min(magnitude, high_);
  }

 private:
  std::mt19937_64 random_{1};
  double low_, high_;
  bool even_ = false;
};

template <typename T, typename Function, typename Exact>
double worst_of_one(double low, double high, Function function, Exact exact) {
  Places places(low, high);
  double worst = 0;
  for (int i = 0; i < kPlaces; ++i) {
    const T x = static_cast<T>(places.next());
    worst = std::max(worst, ulps<T>(function(x), exact(static_cast<long double>(x))));
  }
  return worst;
}

template <typename T, typename Function, typename Exact>
double worst_of_two(double low, double high, Function function, Exact exact) {
  Places places(low, high);
  double worst = 0;
  for (int i = 0; i < kPlaces; ++i) {
    const T x = static_cast<T>(places.next());
    const T y = static_cast<T>(places.next());
    worst = std::max(
        worst, ulps<T>(function(x, y), exact(static_cast<long double>(x), static_cast<long double>(y))));
  }
  return worst;
}

class MathAccuracy : public testing::Test {
 protected:
  void SetUp() override {
    if (std::numeric_limits<long double>::digits < 64)
      GTEST_SKIP() << "long double is no better than f64 here";
  }
};

#define DHPVM_EXPECT_ULPS(name, count, low, high, f64, f32)                                 \
  do {                                                                                      \
    const auto function = [](auto... x) { return std::name(x...); };                        \
    EXPECT_LE(worst_of_##count<double>(low, high, function, function), f64) << #name "f64"; \
    EXPECT_LE(worst_of_##count<float>(low, high, function, function), f32) << #name "f32";  \
  } while (false)

TEST_F(MathAccuracy, IsAsDocumented) {
  DHPVM_EXPECT_ULPS(exp, one, -80, 80, 1, 1);
  DHPVM_EXPECT_ULPS(exp2, one, -100, 100, 1, 1);
  DHPVM_EXPECT_ULPS(expm1, one, -80, 80, 1, 1);
  DHPVM_EXPECT_ULPS(log, one, 0, 1e30, 1, 1);
  DHPVM_EXPECT_ULPS(log2, one, 0, 1e30, 1, 1);
  DHPVM_EXPECT_ULPS(log1p, one, -0.999, 1e30, 1, 1);
  DHPVM_EXPECT_ULPS(sin, one, -1e6, 1e6, 1, 1);
  DHPVM_EXPECT_ULPS(cos, one, -1e6, 1e6, 1, 1);
  DHPVM_EXPECT_ULPS(tan, one, -1e6, 1e6, 1, 1);
  DHPVM_EXPECT_ULPS(asin, one, -1, 1, 1, 1);
  DHPVM_EXPECT_ULPS(acos, one, -1, 1, 1, 1);
  DHPVM_EXPECT_ULPS(atan, one, -1e6, 1e6, 1, 1);
  DHPVM_EXPECT_ULPS(pow, two, 0, 30, 1, 1);
  DHPVM_EXPECT_ULPS(hypot, two, -1e6, 1e6, 1, 1);
  DHPVM_EXPECT_ULPS(atan2, two, -1e6, 1e6, 1, 2);
  DHPVM_EXPECT_ULPS(erf, one, -6, 6, 2, 2);
  DHPVM_EXPECT_ULPS(sinh, one, -80, 80, 2, 2);
  DHPVM_EXPECT_ULPS(cosh, one, -80, 80, 2, 2);
  DHPVM_EXPECT_ULPS(log10, one, 0, 1e30, 3, 3);
  DHPVM_EXPECT_ULPS(tanh, one, -30, 30, 3, 3);
  DHPVM_EXPECT_ULPS(cbrt, one, -1e30, 1e30, 4, 1);
}

// The measure itself.
TEST(Ulps, Counts) {
  EXPECT_EQ(ulps(1.0, 1.0L), 0);
  EXPECT_EQ(ulps(std::nextafter(1.5, 2.0), 1.5L), 1);
  EXPECT_EQ(ulps(1.0f, 1.0L + 0x1p-24L), 0.5);
  EXPECT_EQ(ulps(std::numeric_limits<double>::infinity(), 1e400L), 0);
  EXPECT_EQ(ulps(std::numeric_limits<double>::infinity(), 1.0L), std::numeric_limits<double>::infinity());
}

}  // namespace
