# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy and math written in Python that take numbers alone, as those in number_functions.py are compiled.
"""

from __future__ import annotations

import math

import numpy as np


def sign(x):
    return 1 if x > 0 else (-1 if x < 0 else (0 if x == 0 else x))


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
    return 0 if a == 0 or b == 0 else abs(a // gcd(a, b) * b)


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
