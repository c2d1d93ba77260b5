#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Everyday Python in translated functions: built-in functions, and loops over more than ranges."""

import numpy as np
import support

import dhpvm
from dhpvm import prange

LIMIT = 3
INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


def divmods(a, b):
    q, r = divmod(a, b)
    return q, r, divmod(a, b)[1]


def returns_pair(a, b):
    return divmod(a, b)


def shape_of(a):
    return a.shape


def shifts(x, n):
    return x << n, x >> n


def shifts_right(x, n):
    return x >> n, x >> 64, x >> 3


def rows(a, b):
    for i in range(len(a)):
        x, y = b[i]
        a[i] = x + i, y
    a[0] = a[1, 1], a[1, 0]
    return a


def differences(a):
    return np.diff(a)


def rounds(x):
    return round(x), round(x * 3)


def guarded(a):
    low = float("inf")
    high = -float("inf")
    for x in a:
        low = min(low, x)
        high = max(x, high)
    return low, high, min(low, float("nan")), max(float("nan"), low), float("1.5")


def zipped(a, b):
    s = 0.0
    for x, y in zip(a, b):
        s += x * y
    for i, (x, y) in enumerate(zip(a, b), 3):
        s -= x * i + y
    for i, x, k in zip(range(2, 100, 3), a, range(len(b), 0, -1)):
        s += i * x + k
    for i, x in enumerate(a, start=len(b)):
        s += i - x
    return s


def searches(a, wanted):
    for i, x in enumerate(a):
        if x == wanted:
            found = i
            break
    else:
        found = -1
    return found


def primes(n):
    count = 0
    for i in range(2, n):
        for k in range(2, i):
            if i % k == 0:
                break
        else:
            count += 1
            if count == 20:
                break
    else:
        count = -count
    while n > 3:
        n -= 2
        if n == 8:
            break
    else:
        count += 1000
    return count


def parallel_search(a, found):
    for i in prange(len(found)):
        for k in range(len(a)):
            if a[k] == i:
                found[i] = k
                break
        else:
            found[i] = -1


def powers(x, y):
    return x ** y, np.power(x, y)


def powers_of_all(a, y):
    s = 0
    for i in prange(len(a)):
        s += a[i] ** y
    return s


def shadowed(a):
    n = 0
    for a1, a2 in zip(a, a):
        n += 1
    return n, a1, a2


def ranges(n, start, stop, step):
    return np.arange(n), np.arange(2, n), np.arange(n, 0, -2), np.arange(start, stop, step), np.arange(1.5, n), \
        np.arange(n, dtype=np.float32), np.arange(start, stop), np.arange(n)[::-1].sum(), np.arange(n, dtype=float) / 2


def spaces(start, stop, n):
    return np.linspace(start, stop, n), np.linspace(start, stop), np.linspace(start, stop, num=n, endpoint=False), \
        np.linspace(0, n, n + 1), np.linspace(start, start, n)


def ranges_of(n):
    return np.arange(n)


def nested(a, k):
    def square(x):
        return x * x

    def power(x, n):
        if n == 0:
            return 1.0
        return square(power(x, n // 2)) * (x if n % 2 else 1.0) * LIMIT / 3

    s = 0.0
    for i in prange(len(a)):
        s += square(a[i])
    return s, power(1.5, k), square(k)


def polynomial(x, a, b=2.0, c=1):
    return a * x * x + b * x + c


def by_keyword(x):
    return polynomial(x, 3), polynomial(x, c=0.5, a=2), polynomial(c=x, b=1, a=0, x=2)


def into(x, out=None, scale=None, limit=None):
    if out is None:
        out = np.empty_like(x)
    if not (scale is not None and limit is None):
        scale = 1.5
    for i in range(len(x)):
        out[i] = x[i] * scale
    if limit is None:
        return out.sum()
    if limit > 100:
        limit = out.max()
    return out[0] * limit


def calls_into(x, y):
    return into(x), into(x, y), into(x, scale=2), into(x, None, limit=3) + y[0]


def of_any_rank(a):
    if a.ndim == 1:
        return a[0]
    if a.ndim == 2 and LIMIT == 3:
        return a[0, 0] * 2 if LIMIT != 3 else a[1, 1]
    return a[0, 0, 0]


def reassigned(x, n):
    x = x * 2
    x = x[1:]
    x[0] = n
    n = n * 0.5
    total = 0
    for i in prange(len(x)):
        total += x[i]
    total, n = n, total / n
    y = x.copy()
    y: float = total + y[0]
    m = np.empty(6)
    for i in range(6):
        m[i] = i
    m = m.reshape(2, 3)
    m = m.T
    x = m.sum(axis=0)
    return x, y, n, total


def tuples(x, n):
    shape = x.shape
    pair = divmod(n, 3)
    n = 100
    places = np.where(x > 2)
    y = np.zeros(shape)
    for i in prange(shape[0]):
        ends = divmod(i, 2)
        y[i] = pair[1] + ends[0]
    return y, places[0], pair[0], shape[-1], n


def parameter_replaced(x):
    x = np.sqrt(x)
    x += 1
    return x


def closures(x, k):
    factor = 2.5
    offset = 1

    def scaled(v):
        return v * factor + offset

    def both(v, n):
        if n <= 0:
            return scaled(v)
        return both(v, n - 1) + k

    def fill(value):
        for i in range(len(y)):
            y[i] = value * x[i]

    y = np.zeros_like(x)
    first = scaled(1.0)
    factor = factor * 2
    offset = 0.25
    s = 0.0
    for i in prange(len(x)):
        s += scaled(x[i])
    for i in range(3):
        s += both(x[i], i)
        offset += 1
        s += scaled(offset)
    fill(s)
    return s, first, y


class Idioms(support.Comparisons):
    def test_closures(self):
        self.compare(closures, np.arange(7.0), 3)
        self.compare(closures, np.arange(7.0, dtype=np.float32), 1.5)

    def test_variables_that_are_assigned_again(self):
        self.compare(reassigned, np.arange(7.0), 3)
        self.compare(reassigned, np.arange(7), np.float32(3))
        self.compare(tuples, np.arange(7.0), 5)
        self.compare(parameter_replaced, np.arange(7.0))

    def test_keywords_and_defaults(self):
        self.compare(by_keyword, 1.5)
        self.compare(by_keyword, 2)
        for more in ((), (np.zeros(5),), (None, 3.0), (None, None, 2), (np.ones(5), 2, 700)):
            self.compare(into, np.arange(5.0), *more)
        self.compare(calls_into, np.arange(5.0), np.zeros(5))

    def test_branches_that_types_decide(self):
        for shape in ((8,), (4, 2), (2, 2, 2)):
            self.compare(of_any_rank, np.arange(8.0).reshape(shape))

    def test_divmod_and_round(self):
        for pair in ((7, 3), (-7, 3), (7, -3), (7.5, 2), (-7.5, 2.25), (np.int32(-9), 4), (np.float32(2.5), 0.5)):
            self.compare(divmods, *pair)
            self.compare(returns_pair, *pair)
        for x in (0.5, 1.5, 2.5, -0.5, -3.5, 1e15, 7, True, np.float64(4.5), np.float32(2.5), np.int16(9)):
            self.compare(rounds, x)
        self.compare(shape_of, np.zeros((2, 3)))
        self.compare(shape_of, np.zeros((2, 3, 0)))

    def test_loops_over_arrays(self):
        random = np.random.default_rng(3)
        for n in (0, 1, 7, 31):
            for m in (0, 1, 5, 31):
                self.compare(zipped, random.random(n), random.random(m))
            self.compare(guarded, random.random(n))
            if n:
                self.compare(shadowed, random.random(n))

    def test_else_of_loops(self):
        for n in (2, 3, 4, 9, 10, 50, 200):
            self.compare(primes, n)
        a = np.array([3, 1, 4, 1, 5, 9, 2, 6])
        for wanted in (3, 1, 6, 7):
            self.compare(searches, a, wanted)
        self.compare(searches, a[:0], 1)
        self.compare(parallel_search, a, np.zeros(11, np.int64))

    def test_sequences(self):
        for n in (0, 1, 2, 7, 31):
            for bounds in ((0.0, 1.0, 0.1), (1, 10, 0.25), (-3.5, 4, 0.7), (3, -20, -1), (2.0, 1.0, 0.5)):
                self.compare(ranges, n, *bounds)
            for start, stop in ((0.0, 1.0), (-1.7, 3.3), (5, 2), (1.0, 1.0), (0, 1e-300)):
                self.compare(spaces, start, stop, n)
        for number in (np.int32(5), np.float32(2.5), 7.25, np.uint8(9)):
            self.compare(ranges_of, number)
        with self.assertRaisesRegex(dhpvm.Trap, "number of samples is negative"):
            dhpvm.jit(spaces)(0.0, 1.0, -1)

    def test_functions_in_functions(self):
        self.compare(nested, np.arange(7.0), 5)
        self.compare(nested, np.arange(3), 0)

    def test_shifts(self):
        """Of numbers of NumPy by as many bits as they have, and more. Python's own grow."""
        for kind in (np.int64, np.uint64, np.int32, np.uint8):
            for x in (1, 77, 120):
                for n in (0, 1, 7, 8, 31, 32, 63, 64, 65, 100):
                    self.compare(shifts, kind(x), kind(n))
        for n in (0, 5, 63, 64, 1000):
            self.compare(shifts_right, -5, n)
            self.compare(shifts_right, 5, n)
        self.compare(shifts_right, np.int64(5), np.int64(-1))
        self.assertRaisesRegex(ValueError, "negative shift count", dhpvm.jit(shifts_right), 5, -1)
        self.assertRaisesRegex(ValueError, "negative shift count", dhpvm.jit(shifts), 5, -1)

    def test_rows(self):
        self.compare(rows, np.zeros((4, 2)), np.arange(8).reshape(4, 2))
        self.assertRaisesRegex(ValueError, "2 variables", dhpvm.jit(rows), np.zeros((4, 2)), np.zeros((4, 3)))
        self.assertRaisesRegex(ValueError, "2 values", dhpvm.jit(rows), np.zeros((4, 3)), np.zeros((4, 2)))

    def test_differences_of_bools(self):
        mask = np.random.default_rng(1).random(20) > 0.5
        self.compare(differences, mask)
        self.compare(differences, mask.reshape(4, 5))
        self.compare(differences, mask[:1])

    def test_powers_of_integers(self):
        for x in (0, 1, -1, 2, -3, 7):
            for y in (0, 1, 2, 5, 13, 20):
                self.compare(powers, x, y)
        for kind in INTEGERS:
            self.compare(powers, kind(3), kind(4))
            self.compare(powers, kind(3), kind(5))
            self.compare(powers_of_all, np.arange(9, dtype=kind), 3)
        self.compare(powers, 2.5, 3.0)
        power = dhpvm.jit(powers)
        self.assertRaises(ZeroDivisionError, power, 2, -1)
        self.assertRaises(ZeroDivisionError, dhpvm.jit(powers_of_all), np.arange(5), -1)


if __name__ == "__main__":
    support.main()
