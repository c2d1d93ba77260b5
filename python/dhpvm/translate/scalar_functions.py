# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy and math written in Python that take numbers alone, as those in number_functions.py are compiled.
"""

from __future__ import annotations

import math

import numpy as np


def signbit(x):
    return math.copysign(1.0, x) < 0.0


def dist(p, q):
    assert len(p) == len(q), "both points must have the same number of dimensions"
    total = 0.0
    for i in range(len(p)):
        d = float(p[i]) - float(q[i])
        total += d * d
    return math.sqrt(total)


def sign(x):
    return 1 if x > 0 else (-int(x < 0) if x == x else x)


def negative(x):
    return -x


def heaviside(x, middle):
    return x * middle if x != x else 0.0 if x < 0 else 1.0 if x > 0 else middle


def fmax(x, y):
    return x if y != y or x >= y else y


def fmin(x, y):
    return x if y != y or x <= y else y


def invert(x):
    if isinstance(x, (bool, np.bool_)):
        return not x
    else:
        return ~x


def logical_and(x, y):
    return bool(x) and bool(y)


def logical_or(x, y):
    return bool(x) or bool(y)


def logical_xor(x, y):
    return bool(x) != bool(y)


def logical_not(x):
    return not bool(x)


def isclose(a, b, rtol=1e-05, atol=1e-08):
    return (abs(a - b * 1.0) <= atol + rtol * abs(b * 1.0) and np.isfinite(b)) or a == b


def math_isclose(a, b, rel_tol=1e-09, abs_tol=0.0):
    a, b = float(a), float(b)
    return a == b or (np.isfinite(a) and np.isfinite(b) and abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol))


def radians(x):
    return x * (math.pi / 180)


def degrees(x):
    return x * (180 / math.pi)


def math_radians(x):
    return radians(float(x))


def math_degrees(x):
    return degrees(float(x))


def gcd(a, b):
    a, b = abs(a), abs(b)
    while b != 0:
        a, b = b, a % b
    return a


def lcm(a, b):
    a, b = abs(a), abs(b)
    return 0 if a == 0 or b == 0 else a // gcd(a, b) * b


def comb(n, k):
    if n < 0 or k < 0:
        raise ValueError("comb() takes integers that are not negative")
    result = 1
    for i in range(1, min(k, n - k) + 1):
        common = gcd(result, i)
        result = result // common * ((n - i + 1) // (i // common))
    return result if k <= n else 0


def arcsinh(x):
    size = abs(x * 1.0)
    # By what is added to 1, so that small numbers keep their bits.
    if size < 1e9:
        grown = np.log1p(size + size * size / (1 + np.sqrt(size * size + 1)))
    else:
        grown = np.log(size) + math.log(2)
    return np.copysign(grown, x * 1.0)


def arccosh(x):
    above = x * 1.0 - 1
    return np.log1p(above + np.sqrt(above * (above + 2))) if above < 1e9 else np.log(above) + math.log(2)


def arctanh(x):
    size = abs(x * 1.0)
    return np.copysign(0.5 * np.log1p(2 * size / (1 - size)), x * 1.0)


def math_asinh(x):
    return float(arcsinh(float(x)))


def math_acosh(x):
    return float(arccosh(float(x)))


def math_atanh(x):
    return float(arctanh(float(x)))


def isqrt(n):
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))
    while root * root > n:
        root -= 1
    while (root + 1) * (root + 1) <= n:
        root += 1
    return root


def factorial(n):
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    product = 1
    for i in range(2, n + 1):
        product *= i
    return product


def power(x, y):
    return x ** y


def log(x, base):
    return math.log(x) / math.log(base)


def _series(x):
    """What Stirling's formula leaves out of the logarithm of the gamma function, for x from 12 on."""
    y = 1 / (x * x)
    return (1 / 12 - y * (1 / 360 - y * (1 / 1260 - y * (1 / 1680 - y * (1 / 1188 - y * (
        691 / 360360 - y / 156)))))) / x


_ALL_INTEGERS = 2.0**52  # from here on all floats are, and floor has no integers for them in the end


def _sine_of_pi(x):
    """sin(pi * x), without what is lost in the product of pi and a large number."""
    if abs(x) >= _ALL_INTEGERS:
        return 0.0
    rest = x - 2.0 * math.floor(0.5 * x)
    if rest > 1.0:
        return -_sine_of_half_turn(rest - 1.0)
    return _sine_of_half_turn(rest)


def _sine_of_half_turn(x):
    return math.sin(math.pi * (1.0 - x if x > 0.5 else x))


def _gamma(x):
    """For x from 0.5 on: from what is shifted to large numbers, where Stirling's formula holds. The power is taken in
    halves, since it overflows before its product with exp(-x)."""
    divisor = 1.0
    while x < 12.0:
        divisor *= x
        x += 1.0
    half = math.pow(x, 0.5 * x - 0.25)
    return math.sqrt(2 * math.pi) * half * math.exp(-x) * half * math.exp(_series(x)) / divisor


def math_gamma(x):
    y = float(x)
    if y > 172:
        return math.inf
    if y == math.floor(y) and 0 < y < 24:
        product = 1.0
        for i in range(2, int(y)):
            product *= i
        return product
    if y >= 0.5:
        return _gamma(y)
    if y != y or y <= -_ALL_INTEGERS or (y < 0 and y == math.floor(y)):
        return math.nan
    if y < -200:
        return 0.0 * _sine_of_pi(y)
    # By reflection. What would overflow is shifted down, and divided by in the end.
    reflected, divisor = 1.0 - y, 1.0
    while reflected > 160.0:
        reflected -= 1.0
        divisor *= reflected
    if abs(y) < 1e-300:
        return 1.0 / y
    return math.pi / (_sine_of_pi(y) * _gamma(reflected)) / divisor


def math_lgamma(x):
    y = abs(float(x))
    if y == math.inf:
        return y
    shifted, divisor = y, 1.0
    while shifted < 12.0:
        divisor *= shifted
        shifted += 1.0
    found = (shifted - 0.5) * (math.log(shifted) - 1.0) + (0.5 * math.log(2 * math.pi) - 0.5) + _series(shifted) - \
        math.log(divisor)
    if y == 1 or y == 2:
        found = 0.0
    if x >= 0 or x != x:
        return found
    sine = abs(_sine_of_pi(y))
    return math.log(math.pi / (y * sine)) - found if sine > 0 else math.inf


def _observed(found, x, is_pole):
    if (found != found and x == x) or (abs(found) == math.inf and abs(x) < math.inf and is_pole):
        raise ValueError("math domain error")
    if abs(found) == math.inf and abs(x) < math.inf:
        raise OverflowError("math range error")
    return found


def observed_gamma(x):
    return _observed(math_gamma(x), float(x), x == 0)


def observed_lgamma(x):
    return _observed(math_lgamma(x), float(x), x <= 0)


def observed_acosh(x):
    return _observed(math_acosh(x), float(x), True)


def observed_atanh(x):
    return _observed(math_atanh(x), float(x), True)


def math_erfc(x):
    y = float(x)
    size = abs(y)
    if size < 2.0 or y != y:
        return 1.0 - math.erf(y)
    if size > 28.0:
        return 0.0 if y > 0 else 2.0
    # A continued fraction, from its end. The square has more digits than a number: exp gets it in two parts.
    fraction = size
    for k in range(12 + int(180.0 / (size * size)), 0, -1):
        fraction = size + 0.5 * k / fraction
    begin = math.floor(size * 1048576.0) / 1048576.0
    found = math.exp(-begin * begin) * math.exp((begin - size) * (begin + size)) / (math.sqrt(math.pi) * fraction)
    return found if y > 0 else 2.0 - found
