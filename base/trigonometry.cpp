// SPDX-License-Identifier: Apache-2.0
#include "base/trigonometry.h"

#include <limits>

namespace dhpvm {

static_assert(std::numeric_limits<long double>::digits >= 64, "long double must be more precise than double");

double sine_of_large(double x) { return static_cast<double>(std::sin(static_cast<long double>(x))); }
double cosine_of_large(double x) { return static_cast<double>(std::cos(static_cast<long double>(x))); }
double tangent_of_large(double x) { return static_cast<double>(std::tan(static_cast<long double>(x))); }

}  // namespace dhpvm
