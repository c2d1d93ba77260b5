// SPDX-License-Identifier: Apache-2.0
// Decimal digits to numbers: what all readers of numbers have in common. Pure functions.
#pragma once

#include <cstdint>
#include <optional>

namespace dhpvm::stdlib {

// So many decimal digits fit in 64 bits, whatever they are.
constexpr int kExactDigits = 19;

// Reads the digits from `at` on into `value`, each as value * 10 + digit; where they end. More than kExactDigits wrap
// around.
const char* read_digits(const char* at, const char* end, std::uint64_t& value);

// The f64 that is nearest to value * 10^exponent. Nothing for exponents far from 0, which are rare in files.
std::optional<double> nearest_decimal(std::uint64_t value, int exponent);

}  // namespace dhpvm::stdlib
