#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Expressions of whole arrays, views and reductions give what NumPy gives."""

import numpy as np
import support

import dhpvm
from dhpvm import prange

SIZES = (0, 1, 7, 31)
INTEGERS = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)


# ---- Reductions of expressions. All sums of small integers in floats are exact.

def sums(a, b):
    return np.sum(a * b), (a - b).sum(), np.mean(a * 2 + b), (a + 1).prod(), a.sum() + (a * a).sum()


def extremes(a, b):
    return (a - b).max(), np.min(a * b), np.max(np.abs(a)), (a + b).argmax(), np.argmin(a), a.argmax(), np.argmin(-b)


def truths(a, b):
    return (a > b).any(), (a == a).all(), np.sum(a > b), np.any(a > 1000), np.all(a >= b), (~(a > b)).sum()


def roots(a):
    return np.sqrt(a).max(), np.where(a > 3, np.sqrt(a), -a).min(), np.clip(a, 1, 5).max(), np.square(a).min()


def row_by_row(a, s, low):
    for i in prange(a.shape[0]):
        row = a[i]
        s[i] = np.sum(a[i] * 2) - row.sum() + len(row) + a[i, 1:].sum()
        low[i] = row.min() + (row * row).max() + row[0]


def along(a):
    return a.sum(axis=0), np.min(a, axis=1), a.max(axis=-1), (a * 2 - 1).sum(1), np.mean(a, axis=0), a.prod(axis=1)


def along_three(a):
    return a.sum(axis=0), a.sum(axis=1), a.max(axis=2), np.sum(a + a, axis=-2)


def centred(a):
    b = a - a.mean(axis=0)
    c = (a - a.min(axis=1)[:, None]) * 2
    return b, c


def running(a):
    return np.cumsum(a), np.cumsum(a * 2)[-1], a.cumsum()


# ---- Views.

def slices(a, k):
    return (a[1:3] + 1, a[:-1] - a[1:], a[::2] * 2, a[::-1] + a, a[k:] * 1, a[-k:] * 1, a[:k] * 1, a[5:2] * 1,
            a[-3:-1] * 1, a[100:] * 1, a[k::3] * 1, a[:1:-2] * 1, a[::2][1:] * 1, a[1:][::-1] * 1, a[:].copy())


def overlaps(a):
    a[1:4] = a[0:3] * 2
    a[:-1] += a[1:]
    a[::-1] = a
    a[2:] = a[:-2]
    a[1:] -= 1
    b = a
    b[1:] = a[:-1] + 1


def moves(a, b):
    a[1:] = b[:-1] * 2
    b[:-1] += a[1:]


def stencil(old, new):
    new[1:-1, 1:-1] = (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]) * 0.25
    return np.abs(new[1:-1, 1:-1] - old[1:-1, 1:-1]).sum()


def edges(a):
    a[0] = 1
    a[-1, :] = 2
    a[:, 0] = 3
    a[:, -1] = a[:, 0] + a[:, -1]
    a[1:-1, 1] *= 5


def transposes(a):
    t = a.T
    return a.T + 1, t.shape[1], t[0] * 2, t[0, 0], a.T[1:, 0] * 1, t.T - a, a.T.copy(), len(t), t.sum(axis=0)


def broadcasts(a, row, column):
    return a + row, a * column[:, None], row[None, :] + column[:, np.newaxis], a - 1, column[:, None] * row


def fills(a, row, column):
    a[:, :] = row
    a[:] *= column[:, None]
    a += row
    a[1:] = 7


def rows_as_views(a):
    s = 0.0
    for row in a:
        s += row[0] + row.sum() + len(row) + row.shape[0] + row.size
        for x in row[1:]:
            s -= x
    for i, row2 in enumerate(a):
        row2[0] = i
        row2 += 1
    for i in range(a.shape[0]):
        line = a[i]
        part = line[1:]
        for j in range(len(part)):
            part[j] += line[0] * i
    return s


def keeps_views(a, b, n):
    k = 1
    view = a[k:]
    k = 3
    old = b
    part = old[0]
    old = b.copy()
    old[0, 0] = 99
    return view.sum(), part.sum(), k, old[0].sum(), view[k:].sum()


def swaps_rows(a):
    a[0], a[1] = a[1], a[0]


def parallel_rows(a, b, c):
    for i in prange(a.shape[0]):
        c[i] = a[i] * 2 + b
        c[i, 1:] += a[i, :-1]


def deep(a):
    return a[1] + a[0], a[1, 1:, :-1] * 2, a[:, 0] - 1, a[..., 0] * 1, a[0].T * 1, a[0, 1].sum(), a[:, None, 0, 0] * 1


def added(a, b):
    return a + b


def passes(a, b):
    c = added(b, b)
    return added(a[1:] + 0, b[1:].copy()), added(a * 2, c[:1].copy()), added(a, b)[0]


# ---- Selection by a condition.

def selects(a, k):
    return a[a > k].sum(), np.sum(a[a == a]), np.prod(a[(a > 1) & (a < 3)]), (a > k)[a > 2].any(), a[a >= k].mean(), \
        a[1:][a[1:] > k].sum(), a[~(a > k)].sum()


def sets(a, b, k):
    a[a > k] = 0
    a[b < 2] += 3
    b[a == b] = 1.75
    a[1:][b[:-1] > 1] *= 2
    b[b > 100] = b[0]


# ---- Functions that are called with views.

def length(x):
    return np.sqrt((x * x).sum())


def distance(x, y):
    s = 0.0
    for k in prange(len(x)):
        d = x[k] - y[k]
        s += d * d
    return s


def double(x, k):
    x *= 2
    x[k] = np.floor(length(x))


def middle(x):
    y = x[1:-1]
    return y[0] + x[-1], y.shape[0], x[::-1][0], distance(y, x[:-2])


def calls_with_rows(a, b, out):
    for i in prange(a.shape[0]):
        out[i] = length(a[i]) + distance(a[i], b[i]) + length(b[i, ::-1])
        double(a[i], 1)
        row = b[i]
        double(row[1:], 0)
    double(b[0], 2)
    double(b.T[0, ::-1], 0)
    m0, m1, m2, m3 = middle(a[1])
    return length(a[:, 0]), length(b[1:, 1:]), m0, m1, m2, m3, distance(a[0], a[1]), distance(out, out)


def counts(a):
    n = 0
    while np.abs(a - a.min()).max() > 1:
        a[:] = (a + a[::-1]) // 2
        n += 1
        if n > 20:
            break
    return n


# ---- Products.

def products(a, b, x, y):
    return a @ b, a @ x, y @ a, np.dot(a, b), np.matmul(a.T, a), x @ x, np.dot(y, y * 2), a.dot(b[:, :1] * 2), x.dot(x)


def product_of_rows(a, x, y):
    for i in prange(a.shape[0]):
        y[i] = a[i] @ x


def conversions(a):
    return a.astype(np.float32), (a * 2).astype(np.int64), a.astype(float).sum(), np.float32(a) + 1


class Arrays(support.Comparisons):
    def setUp(self):
        self.random = np.random.default_rng(11)

    def numbers(self, *shape, dtype=float):
        """Small integers, of which all results are exact."""
        return self.random.integers(0 if np.dtype(dtype).kind == "u" else -4, 6, shape).astype(dtype)

    def test_reductions_of_expressions(self):
        for shape in ((0,), (1,), (7,), (31,), (3, 5), (2, 3, 7), (100, 101)):
            for dtype in (np.float64, np.float32, np.int64, np.int32):
                a, b = self.numbers(*shape, dtype=dtype), self.numbers(*shape, dtype=dtype)
                if np.size(a) == 0:
                    self.compare(truths, a, b)
                    self.assertRaisesRegex(dhpvm.Trap, "without elements", dhpvm.jit(extremes), a, b)
                    continue
                self.compare(truths, a, b)
                self.compare(extremes, a, b)
                self.compare(roots, np.abs(a))
                if np.size(a) < 40:
                    self.compare(sums, a, b)
        for dtype in INTEGERS:
            self.compare(sums, self.numbers(7, dtype=dtype), self.numbers(7, dtype=dtype))
            self.compare(extremes, self.numbers(7, dtype=dtype), self.numbers(7, dtype=dtype))
            self.compare(running, self.numbers(7, dtype=dtype))

    def test_extremes_of_nan(self):
        a = np.array([1.0, np.nan, -2.0, np.nan, 7.0])
        self.compare(extremes, a, np.ones(5))
        self.compare(along, np.stack([a, a[::-1], np.arange(5.0)]))
        self.compare(row_by_row, np.stack([a, a[::-1]]), np.zeros(2), np.zeros(2))

    def test_along_an_axis(self):
        for shape in ((1, 1), (7, 3), (3, 31), (17, 19)):
            for dtype in (np.float64, np.float32, np.int32, np.uint8):
                self.compare(along, self.numbers(*shape, dtype=dtype))
            self.compare(centred, self.numbers(*shape) * 17 * 19)
            self.compare(row_by_row, self.numbers(*shape), np.zeros(shape[0]), np.zeros(shape[0]))
        self.compare(along_three, self.numbers(2, 3, 5))
        for n in SIZES:
            if n:
                self.compare(running, self.random.random(n))

    def test_slices(self):
        for n in SIZES + (2, 3):
            for k in (0, 1, 2, 5, 40, -1, -2, -40):
                self.compare(slices, self.numbers(n), k)
        for n in (7, 31):
            self.compare(overlaps, self.numbers(n))
            self.compare(moves, self.numbers(n), self.numbers(n))
        x, y = self.numbers(31), self.numbers(31)
        y[:] = x
        moves(x, x)
        dhpvm.jit(moves)(y, y)
        self.assertTrue(support.same_bits(x, y))

    def test_views_of_matrices(self):
        for shape in ((2, 2), (3, 7), (7, 3), (31, 17)):
            a = self.numbers(*shape)
            self.compare(edges, a)
            self.compare(transposes, a)
            self.compare(broadcasts, a, self.numbers(shape[1]), self.numbers(shape[0]))
            self.compare(fills, a, self.numbers(shape[1]), self.numbers(shape[0]))
            self.compare(rows_as_views, a)
            self.compare(swaps_rows, a)
            self.compare(parallel_rows, a, self.numbers(shape[1]), np.zeros(shape))
            self.compare(stencil, a, self.numbers(*shape))
        self.compare(keeps_views, self.numbers(7), self.numbers(3, 4), 1)
        self.compare(deep, self.numbers(2, 3, 4))
        self.compare(passes, self.numbers(1), np.zeros(1))
        a = self.random.random((40, 50))
        self.compare(stencil, a, np.zeros((40, 50)), fit=lambda x, y: abs(x - y) < 1e-9)

    def test_selections(self):
        for n in SIZES:
            for dtype in (np.float64, np.float32, np.int64, np.uint8):
                if n:
                    self.compare(selects, np.append(self.numbers(n, dtype=dtype), dtype(5)), 1)
                    self.compare(sets, self.numbers(n, dtype=dtype), self.numbers(n, dtype=dtype), 2)
        self.compare(selects, self.numbers(7, 5), 0)
        big = np.array([2**62 + 1, 3, 7])
        self.compare(sets, big, np.array([3, 3, 7]), 5)

    def test_calls_with_views(self):
        for shape in ((3, 4), (7, 5), (31, 17)):
            a, b = self.numbers(*shape), self.numbers(*shape)
            self.compare(calls_with_rows, a, b, np.zeros(shape[0]))
            self.compare(middle, a[0])
            self.compare(counts, a[0])

    def test_products(self):
        for n, k, m in ((1, 1, 1), (3, 7, 5), (7, 1, 3), (31, 17, 23), (2, 0, 3)):
            for dtype in (np.float64, np.float32, np.int32):
                a, b = self.numbers(n, k, dtype=dtype), self.numbers(k, m, dtype=dtype)
                self.compare(products, a, b, self.numbers(k, dtype=dtype), self.numbers(n, dtype=dtype))
                self.compare(product_of_rows, a, self.numbers(k, dtype=dtype), np.zeros(n, dtype))
        with self.assertRaisesRegex(dhpvm.Trap, "different shapes"):
            dhpvm.jit(products)(np.ones((2, 3)), np.ones((2, 3)), np.ones(3), np.ones(2))
        with self.assertRaises(IndexError):
            dhpvm.jit(product_of_rows)(np.ones((2, 3)), np.ones(4), np.ones(2))

    def test_conversions(self):
        self.compare(conversions, self.numbers(7))
        self.compare(conversions, self.numbers(2, 3, dtype=np.int32))

    def test_shapes_that_do_not_fit(self):
        add = dhpvm.jit(added)
        for a, b in ((np.ones(3), np.ones(4)), (np.ones((2, 3)), np.ones(2)), (np.ones((2, 3)), np.ones((3, 3)))):
            with self.assertRaisesRegex(dhpvm.Trap, "different shapes"):
                add(a, b)
        same = np.ones((2, 3))
        with self.assertRaisesRegex(dhpvm.Trap, "take the values from another array"):
            dhpvm.jit(parallel_rows)(same, np.ones(3), same)
        with self.assertRaises(IndexError):
            dhpvm.jit(parallel_rows)(np.ones((2, 3)), np.ones(4), np.ones((2, 3)))


if __name__ == "__main__":
    support.main()
