#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy that are Python themselves, translate/library.py: for several types, on the host and on sim."""

import math
import re
import unittest

import numpy as np
import support

import dhpvm

TYPES = (np.int8, np.uint8, np.int64, np.float32, np.float64)


def near(found, expected):
    """Sums are formed in another order."""
    if isinstance(expected, tuple):
        return len(found) == len(expected) and all(map(near, found, expected))
    kinds = [np.asarray(each).dtype.kind.replace("u", "i") for each in (found, expected)]
    single = np.asarray(expected).dtype == np.float32
    return kinds[0] == kinds[1] and np.shape(found) == np.shape(expected) and np.allclose(
        found, expected, rtol=1e-5 if single else 1e-12, atol=0, equal_nan=True)


def wide(x, y):
    """NumPy computes these in a type in which sums and squares of narrow integers fit."""
    return np.linalg.norm(x), np.linalg.norm(x, 1), np.linalg.norm(x, ord=2), np.linalg.norm(x, np.inf), \
        np.average(x, weights=y), np.median(x), np.gradient(x), np.polyval(x, 2), np.polyval(x, 0.5), \
        np.interp(x, np.sort(y), x), np.interp(x[0], np.sort(y), x), np.isclose(x, y), np.allclose(x, y), \
        np.nanmin(x), np.nanmax(x), np.cov(x, y), np.corrcoef(x, y), np.histogram(x, 3)[1] * np.float32(1)


def wide_of_rows(m):
    return np.trace(m), np.linalg.norm(m), np.linalg.norm(m, axis=0), np.linalg.norm(m, axis=1), np.median(m), np.cov(m)


def chosen(x, order):
    large = x[x > 2]
    return large, x[order], x[order[order > 1]] + x[-1], len(x[x == 0]), x[order].max(), large.sum()


def rows_chosen(m, order):
    return m[order], m[m[:, 0] > 2], m[m > 3], m[m > 3].mean()


def places(x):
    return np.where(x > 2)[0], np.nonzero(x)[0], np.flatnonzero(x < 3), np.count_nonzero(x), \
        np.take(x, np.nonzero(x)[0])


def stored(x, order, some):
    x[order] = 3
    x[some] = x[some[::-1]]
    x[some] *= 2
    large = x[x > 4]
    x[x > 4] = large[::-1]
    x[order] = x[order] + 1


def shapes(x):
    m = x.reshape(3, 4)
    k = m.reshape(-1, 2, 3)
    return m * 1, m.ravel() * 1, k.flatten(), k.reshape((4, -1)) + 1, np.reshape(k, 12) * 1, m.T.ravel() + 0, \
        x.reshape(m.shape).sum()


def joined(a, b):
    m = a.reshape(2, -1)
    return np.concatenate((a, b)), np.hstack([b, a, b]), np.vstack((m, m)), np.append(a, b), np.concatenate((m, m[:1]))


def moved(x, k):
    m = x.reshape(3, 4)
    return np.roll(x, 1), np.roll(x, -k), np.diff(x), np.diff(m), np.outer(x, x), m.trace(), np.eye(k), \
        np.diag(x), np.diag(m).copy()


def ordered(x):
    order = np.argsort(x)
    return np.sort(x), x[order], np.median(x), np.searchsorted(np.sort(x), 3), np.ptp(x), \
        np.minimum.accumulate(x), np.maximum.accumulate(x)


def stable(x):
    return np.argsort(x, kind="stable")


def moments(x):
    m = x.reshape(3, 4)
    return x.std(), np.var(x), np.std(x, ddof=1), m.std(axis=0), m.var(axis=1, ddof=1), np.linalg.norm(x), \
        np.trapezoid(x), np.trapezoid(x, dx=0.5), m / m.sum(axis=1, keepdims=True), \
        m - m.mean(axis=0, keepdims=True)


def running(x):
    m = x.reshape(3, 4)
    return np.cumprod(x), x.cumprod(), np.cumsum(m, axis=0), m.cumsum(axis=1), m.cumsum(axis=-1)


def counted(x, n, weights):
    return np.bincount(x), np.bincount(x, minlength=n), np.bincount(x, weights)


def without_nan(x):
    return np.nansum(x), np.nanmean(x), np.allclose(x, x), np.isclose(x, x + 1e-9), np.array_equal(x, x)


def elements(x, y):
    return np.sign(x), np.logical_and(x > 1, y), np.logical_or(x, y), np.logical_xor(x, y), np.logical_not(x), \
        np.sign(x[0]), np.logical_and(x[0], y[0])


def angles(x):
    return np.radians(x), np.degrees(x), np.deg2rad(x), math.radians(x[0]), math.degrees(x[0]), math.log(x[1], 2)


def whole_numbers(a, b):
    return math.gcd(a, b), math.isqrt(abs(a)), math.factorial(b % 20), pow(a, 2), a in (b, 2, 12), a not in [1, 3]


def lists(a, b):
    x = np.array([a, b, 2.5])
    s = 0.0
    for i, k in enumerate((1, 2, 5)):
        s += k * i
    for v in reversed(x):
        s = s / 2 + v
    for i in reversed(range(3, int(a), 2)):
        s = s / 3 + i
    return x, np.array((a, b)), np.array([1, 2], dtype=np.float32), s


def pairs(m):
    s = 0.0
    for x, y in m:
        s += x * y
    for i, (x, y) in enumerate(m):
        s += i * x - y
    return s, sum(m[:, 0]), min(m[:, 1]), max(m[0])


def several_at_once(a):
    return np.concatenate((a, a[:, 0]))


def too_many_dimensions(a):
    return np.argsort(a)


def in_parallel(x, order):
    s = 0.0
    for i in dhpvm.prange(len(x)):
        s += x[x > order[0]][0]
    return s


def written(x):
    y = x.reshape(2, -1)
    y[0, 0] = 1


def read_later(x):
    y = x.ravel()
    x[0] = 7
    return y.sum()


def first_of(m):
    m[0, 0] = 1


def passed(x):
    first_of(x.reshape(2, -1))


def of_a_call(x):
    x.reshape(2, -1)[0, 0] = 5


def returned(x):
    return x.reshape(2, -1)


class NumPy(support.Comparisons):
    def compare_all(self, function, *arguments, fit=support.same_bits):
        self.compare(function, *arguments, fit=fit)
        if arguments[0].dtype != np.float32:
            return
        with dhpvm.Engine(device="sim"):
            self.compare(function, *arguments, fit=fit)

    def test_all_types(self):
        random = np.random.default_rng(5)
        order = np.array([3, 0, 11, -1, -12, 3])
        self.compare(joined, np.array([True, False, True, True]), np.array([False, True]))
        for kind in TYPES:
            x = random.integers(0, 7, 12).astype(kind)
            self.compare_all(chosen, x, order)
            self.compare_all(chosen, x, order.astype(np.int8))
            self.compare_all(rows_chosen, x.reshape(4, 3), order[1:2], fit=near)
            self.compare_all(places, x)
            self.compare_all(stored, x, order[:1], np.array([1, 2, 3]))
            self.compare_all(shapes, x)
            self.compare_all(joined, x, x[:3].astype(np.float32))
            self.compare_all(moved, x, 5)
            self.compare_all(ordered, x, fit=near)
            self.compare_all(stable, x)
            self.compare_all(running, x)
            self.compare_all(elements, x, x[::-1])
            if np.dtype(kind).kind == "f":
                self.compare_all(moments, x, fit=near)
                self.compare_all(angles, x + 3, fit=near)
            else:
                self.compare_all(counted, x, 20, random.random(12))

    def test_nan_and_signs(self):
        x = np.array([0.5, np.nan, -0.0, 0.0, -2.5, np.inf, -np.inf, 3, np.nan, 7, -1, 2])
        for kind in (np.float32, np.float64):
            self.compare_all(elements, x.astype(kind), x[::-1].astype(kind))
            self.compare_all(ordered, x.astype(kind), fit=near)
            self.compare_all(stable, x.astype(kind))
            self.compare_all(without_nan, x.astype(kind), fit=near)
            self.compare_all(places, x.astype(kind))

    def test_numbers_and_lists(self):
        for pair in ((12, 18), (0, 5), (-12, 8), (99980001, 3), (2**31 - 1, 2)):
            self.compare(whole_numbers, *pair)
        self.compare(lists, 7.5, 2)
        self.compare(lists, 1.0, np.float32(0.5))
        self.compare(pairs, np.arange(12.0).reshape(6, 2) - 5, fit=near)

    def test_narrow_integers(self):
        for x, y in (([100, 120, -128, 127, 90, -100], [-128, 127, 0, 5, 100, 99]),
                     ([200, 255, 0, 127, 90, 250], [0, 255, 17, 5, 100, 99])):
            kind = np.int8 if min(x) < 0 else np.uint8
            for x, y in ((np.array(x, kind), np.array(y, kind)), (np.array(x, np.float32), np.array(y, np.float32))):
                self.compare(wide, x, y, fit=near)
                self.compare(wide_of_rows, np.stack((x[:3], y[:3], x[3:])), fit=near)
        self.compare(trace, np.array([[np.inf, 1.0], [2.0, 3.0]]))
        self.compare(extremes, np.array([2**53 + 1, 5]))
        for function, text in ((of_order, "leave out ord"), (weighed_rows, "an array of the same shape")):
            with self.assertRaisesRegex(dhpvm.TranslationError, text):
                dhpvm.jit(function)(np.ones((2, 2)))
        self.assertRaises(TypeError, dhpvm.jit(weighed), np.ones(3), np.ones(2))

    def test_what_does_not_fit(self):
        x, m = np.arange(6.0), np.ones((3, 3, 3))
        self.assertRaises(IndexError, dhpvm.jit(places_of), x, np.array([6]))
        self.assertRaises(IndexError, dhpvm.jit(places_of), x, np.array([-7]))
        for function, arguments, text in (
                (masked, (x, x[:5] > 1), "different sizes"), (to_size, (x, 4), "another size"),
                (assigned, (x, x[:2].copy()), "as many values")):
            with self.assertRaisesRegex(dhpvm.Trap, text):
                dhpvm.jit(function)(*arguments)
        for function, arguments, text in (
                (several_at_once, (m[0],), "and an array of float64 with 1 dimension"),
                (too_many_dimensions, (m,), "argsort is for arrays of 2 dimensions here"),
                (in_parallel, (x, np.array([1])), "in a prange loop an array as an index"),
                (places_of, (x, x), "as an index of"), (places_of, (m, np.array([1])), "as an index of"),
                (written, (x,), r"\.copy\(\) behind it"), (read_later, (x,), r"\.copy\(\) behind it"),
                (passed, (x,), r"\.copy\(\) behind it"), (of_a_call, (x,), "a name first"),
                (returned, (x,), "the caller has 'x' already")):
            with self.subTest(function.__name__), self.assertRaisesRegex(
                    dhpvm.TranslationError, f"^{re.escape(__file__)}:.*{text}"):
                dhpvm.jit(function)(*arguments)


def trace(m):
    return np.trace(m)


def extremes(x):
    return np.nanmin(x), np.nanmax(x)


def of_order(m):
    return np.linalg.norm(m, 1)


def weighed_rows(m):
    return np.average(m, weights=m[0])


def weighed(x, y):
    return np.average(x, weights=y)


def places_of(x, order):
    return x[order]


def masked(x, mask):
    return x[mask]


def to_size(x, n):
    return x.reshape(n, -1) * 1


def assigned(x, y):
    x[x > 1] = y


if __name__ == "__main__":
    unittest.main(verbosity=0)
