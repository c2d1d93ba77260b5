#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compiled functions give what Python and NumPy give, with the same bits where that is promised."""

import math
import unittest

import support
import numpy as np

import dhpvm
from dhpvm import prange

INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
LIMIT = 10


def sum_of(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    return s


def arithmetic(a, b):
    return a + b, a - b, a * b


def division(a, b):
    return a / b, a // b, a % b


def comparisons(a, b):
    return a < b, a <= b, a == b, a != b, a > b, a >= b


def chain(a, b):
    return 0 < a <= b < 100, not a < b, a < b and b < 5 or a == 7


def bits(a, b):
    return a & b, a | b, a ^ b, ~a, a << 3, a >> 2


def powers(x):
    return x ** 2, x ** 3, x ** 0.5, x ** -1.0


def integer_powers(n):
    return n ** 0, n ** 1, n ** 5, n ** 13


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def leaves_early(n):
    found = -1
    for i in range(n):
        if i * i > 50:
            found = i
            break
        if i % 2:
            continue
        found += i
    return found, i


def counts_down(n):
    s = 0
    for i in range(n, 0, -3):
        s = 2 * s + i
    for i in range(5, n, 2):
        s = 3 * s - i
    return s


def swaps(a, b, n):
    for _ in range(n):
        a, b = b, a + b
    return a, b


def unifies(n):
    x = 0
    for i in range(n):
        x = x + i / 2
    y = 1
    if n > 3:
        y = 2.5
    return x, y


def conversions(x):
    return int(x), float(int(x)), bool(x), abs(x), -x, +x, math.floor(x), math.ceil(x), math.trunc(x)


def constants(x):
    return x * math.pi + LIMIT, np.pi, math.inf, -math.inf, 2 ** 10 // 3


def functions_of_numpy(x):
    return np.sqrt(x), np.floor(x), np.ceil(x), np.trunc(x), np.rint(x), np.abs(x), np.minimum(x, 1.5), \
        np.maximum(x, np.nan), np.where(x > 1, x, -x), np.isnan(x), np.isfinite(x), np.copysign(2.0, x)


def functions_of_math(x):
    return math.sqrt(x), math.fabs(x), math.fmod(x, 0.7), math.copysign(x, -0.0), math.isinf(x)


def transcendental(x):
    return np.exp(x), np.log(x), np.sin(x), math.cos(x), np.tanh(x), math.atan2(x, 2.0), np.power(x, 1.7), \
        np.hypot(x, 3.0), np.log1p(x), np.cbrt(x), math.erf(x), np.arctan2(x, 0.3)


def smallest(a, b, c):
    return min(a, b), max(a, b, c), min(a, 2, c)


def horner(x, c):
    r = c[len(c) - 1]
    for k in range(len(c) - 2, -1, -1):
        r = r * x + c[k]
    return r


def last(a):
    return a[-1] + a[0] + a[-2]


def rows(a):
    s = 0.0
    for i in range(a.shape[0]):
        for j in range(len(a[i])):
            s += a[i][j] * a[i, j]
    return s, a.size, a.ndim


def over_elements(a):
    s = 0
    for x in a:
        s += x
    for i, x in enumerate(a):
        s += i * x
    return s


def mixed(a, n):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * 0.1 + i * a[i] - n / 3
    return s


def helper(x):
    return 2 * x + 1


def calls_others(x, n):
    return helper(x) + helper(n), helper(helper(n))


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


def keywords(let, fn, match):
    var = let + fn
    parallel = var * match
    return parallel


def saxpy(a, x, y):
    for i in prange(len(x)):
        y[i] += a * x[i]


def gemm(a, b, c):
    n, m = c.shape
    for i in prange(n):
        for j in prange(m):
            s = 0.0
            for k in range(a.shape[1]):
                s += a[i, k] * b[k, j]
            c[i, j] = s


def blur(a, b):
    for i, j in prange((a.shape[0] - 2, a.shape[1] - 2)):
        s = 0.0
        for di in range(3):
            for dj in range(3):
                s += a[i + di, j + dj]
        b[i + 1, j + 1] = s / 9


def jacobi(a, b, n):
    u, v = a, b
    for _ in range(n):
        for i in prange(1, len(a) - 1):
            v[i] = 0.5 * (u[i - 1] + u[i + 1])
        u, v = v, u


def reductions(x):
    s = 0
    p = 1
    low = x[0]
    high = x[0]
    for i in prange(len(x)):
        s += x[i]
        p *= x[i] % 3 + 1
        low = min(low, x[i])
        high = max(high, x[i])
    return s, p, low, high


def strided(x, y):
    for i in prange(1, len(x), 3):
        t = x[i]
        y[i] = t * t


def mandelbrot(width, height):
    out = np.zeros((height, width), np.int32)
    for y in prange(height):
        for x in range(width):
            cr = 3.0 * x / width - 2.0
            ci = 2.0 * y / height - 1.0
            zr = zi = 0.0
            n = 0
            while n < 50 and zr * zr + zi * zi < 4.0:
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
                n += 1
            out[y, x] = n
    return out


def creations(n, a):
    x = np.ones(n)
    y = np.full((2, n), 7)
    z = np.zeros_like(a)
    w = np.empty(n, dtype=np.uint8)
    for i in range(n):
        w[i] = i
        z[i] = a[i] + x[i]
        y[1, i] = i
    x[:] = 3
    return x, y, z, w, a.copy()


def histogram(x, h):
    for i in prange(len(x)):
        dhpvm.atomic_add(h, x[i] % len(h), 1)


def stores(a, x):
    a[0] = x
    a[1] = 300
    a[2] = x > 1
    a[3] += 7
    a[-1] *= 2


def whole_arrays(a, b):
    c = a * 2 + np.sqrt(b) - a[0]
    c += 1
    d = c > b
    c[:] = np.where(d, c, b / 3)
    e = -c
    e /= np.max(b)
    a[:] = b - b[0]
    return c, d, np.abs(e) + a[1]


def added(a, b):
    return a + b


def combined(a):
    t = a - a.mean()
    u = a * a
    return a.min(), np.max(a), len(t), np.sum(u), a.sum(), np.prod(a)


def products(x, y):
    n = np.sqrt(np.dot(x, x))
    y[:] = x
    y /= n
    return x - np.dot(x, y)


def sums_of_rows(a, n):
    s = 0.0
    for i in prange(n):
        s += a.sum() * i
    return s


def equal(a, b):
    """The same numbers, be they ints or floats."""
    return a == b


def close(a, b):
    return all(math.isclose(x, y, rel_tol=1e-12) for x, y in zip(a, b))


class Functions(support.Comparisons):
    def test_arithmetic_of_pythons_numbers(self):
        for pair in ((7, 3), (-7, 3), (7, -3), (7.5, 2), (-7.5, 2.25), (1e300, 1e10), (0.0, -3.0), (3, 0.5)):
            for function in (arithmetic, division, comparisons, chain):
                self.compare(function, *pair)
        for a, b in ((12, 10), (-5, 3), (0, 0)):
            self.compare(bits, a, b)

    def test_arithmetic_of_numpys_numbers(self):
        kinds = INTEGERS + (np.float32, np.float64)
        for a in kinds:
            for b in kinds:
                if {np.dtype(a).kind, np.dtype(b).kind} == {"i", "u"} and np.uint64 in (a, b):
                    continue
                self.compare(arithmetic, a(100), b(77))
                self.compare(comparisons, a(100), b(77))
                self.compare(division, a(100), b(7))
            self.compare(division, a(100), 7)
            self.compare(arithmetic, a(100), 2)
            self.compare(arithmetic, a(100), 2.5)
        for a in INTEGERS:
            self.compare(bits, a(100), a(77))
        self.compare(division, np.int8(-100), np.int8(7))
        self.compare(division, np.float32(-7.3), np.float32(0.1))

    def test_integers_wrap(self):
        self.assertEqual(dhpvm.jit(arithmetic)(2**63 - 1, 1)[0], -2**63)
        self.compare(arithmetic, np.int32(2**31 - 1), np.int32(5))
        self.compare(integer_powers, np.int64(12345))
        self.compare(integer_powers, 3)

    def test_division_by_zero(self):
        divide = dhpvm.jit(division)
        self.assertRaises(ZeroDivisionError, divide, 1, 0)
        self.compare(division, np.float64(1.0), np.float32(0.0))

    def test_powers_and_functions(self):
        for x in (2.0, 0.3, 7.0, np.float32(1.7)):
            self.compare(powers, x) if not isinstance(x, np.float32) else None
            self.compare(transcendental, float(x), fit=close)
            self.compare(functions_of_math, x)
        for x in (2.5, 0.5, -1.5, 1.2, -0.0, math.nan, math.inf, np.float32(3.5)):
            self.compare(functions_of_numpy, x)
        for x in (2.5, -2.5, 1e10, 0.0):
            self.compare(conversions, x)
        self.compare(smallest, 3, 1, 2)
        self.compare(smallest, 3.5, -1.0, 2.0, fit=equal)

    def test_control_flow(self):
        for n in (1, 6, 27):
            self.compare(collatz, n)
            self.compare(leaves_early, n)
            self.compare(counts_down, n)
            self.compare(swaps, 1, 2, n)
            self.compare(unifies, n, fit=equal)
            self.compare(fibonacci, n % 20)
        self.compare(constants, 1.5)
        self.compare(calls_others, 2.5, 3)
        self.compare(keywords, 1, 2.5, 3)

    def test_arrays(self):
        x = np.arange(1, 12) * 0.7
        for dtype in (np.float64, np.float32):
            a = x.astype(dtype)
            for function in (sum_of, last, over_elements):
                self.compare(function, a)
            self.compare(mixed, a, 4)
            self.compare(horner, 0.3, a)
            self.compare(rows, a[:10].reshape(2, 5))
            self.compare(stores, a, 1.75)
        for dtype in INTEGERS:
            self.compare(over_elements, np.arange(5, dtype=dtype))
        self.compare(sum_of, np.zeros(0))
        self.compare(sum_of, x[::2])
        self.compare(rows, x[:10].reshape(2, 5).T)
        self.compare(creations, 5, x)

    def test_parallel_loops(self):
        random = np.random.default_rng(1)
        for n in (0, 1, 7, 5000):
            x, y = random.random(n), random.random(n)
            self.compare(saxpy, 2.5, x, y)
            self.compare(saxpy, 2.5, x.astype(np.float32), y.astype(np.float32))
            self.compare(strided, x, y)
        self.compare(gemm, random.random((20, 30)), random.random((30, 10)), np.zeros((20, 10)))
        self.compare(blur, random.random((30, 40)), np.zeros((30, 40)))
        self.compare(jacobi, random.random(100), np.zeros(100), 7)
        self.compare(reductions, random.integers(0, 100, 1000))
        self.compare(mandelbrot, 40, 30)
        self.compare(histogram, random.integers(0, 1000, 5000), np.zeros(16, np.int64))

    def test_whole_arrays(self):
        random = np.random.default_rng(2)
        for shape in ((1,), (50,), (6, 7), (3, 4, 5)):
            a, b = random.random(shape), random.random(shape)
            if len(shape) == 1 and shape[0] > 1:
                self.compare(whole_arrays, a, b)
                self.compare(whole_arrays, a.astype(np.float32), b)
            self.compare(combined, (a * 8).astype(np.int64))
            self.compare(combined, (a * 8).astype(np.int16))
            self.compare(combined, a, fit=close)
        self.compare(sums_of_rows, np.arange(10.0), 4)
        x, y = np.array([3.0, 4.0]), np.zeros(2)
        self.compare(products, x, y)
        add = dhpvm.jit(added)
        with self.assertRaisesRegex(dhpvm.Trap, "different shapes"):
            add(np.zeros(3), np.zeros(4))
        x = np.arange(4.0)
        self.assertEqual(list(add(x, x)), [0, 2, 4, 6])

    def test_defaults_and_keywords(self):
        @dhpvm.jit
        def scale(x, factor=2):
            return factor * x

        self.assertEqual((scale(3), scale(3, 5), scale(factor=4, x=1)), (6, 15, 4))
        self.assertRaises(TypeError, scale)
        self.assertRaises(TypeError, scale, 1, 2, 3)

    def test_versions(self):
        f = dhpvm.jit(helper)
        self.assertEqual((f(3), f(1.5), f(np.float32(2)), f(np.int8(3)), f(4)), (7, 4.0, 5.0, 7, 9))
        self.assertEqual(f.signatures(), ["int", "float", "float32", "int8"])
        with dhpvm.Engine(threads=1):
            self.assertEqual(f(4), 9)
        self.assertIn("fn helper__0(x: f64)", f.inspect(1.5))
        self.assertIs(type(f(3)), int)

    def test_closures_are_constants(self):
        def make(k):
            @dhpvm.jit
            def times(x):
                return k * x
            return times

        self.assertEqual((make(3)(2), make(5)(2)), (6, 10))



class Engines(unittest.TestCase):
    def test_blocks_of_threads_end_in_any_order(self):
        own, engines = dhpvm.current(), [dhpvm.Engine(), dhpvm.Engine()]
        for engine in engines:
            engine.__enter__()
        self.assertIs(dhpvm.current(), engines[1])
        engines[0].__exit__()
        self.assertIs(dhpvm.current(), engines[1])
        with engines[1]:
            self.assertIs(dhpvm.current(), engines[1])
        self.assertIs(dhpvm.current(), engines[1])
        engines[1].__exit__()
        self.assertIs(dhpvm.current(), own)


if __name__ == "__main__":
    support.main()
