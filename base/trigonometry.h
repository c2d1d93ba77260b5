// SPDX-License-Identifier: Apache-2.0
// The sine, cosine and tangent of the language. They are those of the C library, except for large f64 arguments: there
// glibc reduces the argument by too few digits of pi, and next to multiples of pi / 2 its results are wrong by up to
// 140,000 units in the last place (cos(0x1.69eab0985179bp246)). The functions for f32 are right everywhere.
#pragma once

#include <cmath>

namespace dhpvm {

// Below this angle glibc has enough digits. Above it, results of the functions for long double are rounded: 0.501 units
// at most.
inline constexpr double kLargeAngle = 1e8;

double sine_of_large(double x);
double cosine_of_large(double x);
double tangent_of_large(double x);

// The comparison is false for infinity and NaN too, so that they take the second function.
inline double sine(double x) { return std::fabs(x) < kLargeAngle ? std::sin(x) : sine_of_large(x); }
inline double cosine(double x) { return std::fabs(x) < kLargeAngle ? std::cos(x) : cosine_of_large(x); }
inline double tangent(double x) { return std::fabs(x) < kLargeAngle ? std::tan(x) : tangent_of_large(x); }

}  // namespace dhpvm
