#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions as people write them who have not read a page about this package."""

import math

import numpy as np
import support

import dhpvm
from dhpvm import prange

TABLE = (0.1, 0.2, 0.7)
CORNERS = ((0, 0), (1, 0), (0, 1))


def sieve(n):
    is_prime = np.ones(n + 1, dtype=np.bool_)
    is_prime[:2] = False
    for i in range(2, int(n ** 0.5) + 1):
        if is_prime[i]:
            is_prime[i * i::i] = False
    return np.sum(is_prime)


def every(x, y, step):
    part = x[2:40:step]
    back = x[::-step]
    y[::step] = x[::step] * 2
    return part.sum(), back.copy(), part[::2].copy(), np.diff(x[::step]), last(x[1::step])


def last(x):
    return x[-1]


def trace(m):
    t = 0.0
    for i in range(min(m.shape)):
        t += m[i, i]
    return t, max(m.shape), sum(m.shape), len(m.shape)


def sobel(image):
    h, w = image.shape
    out = np.zeros((h, w))
    kernel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    for i in prange(1, h - 1):
        for j in range(1, w - 1):
            g = 0.0
            for di in range(3):
                for dj in range(3):
                    g += kernel[di, dj] * image[i + di - 1, j + dj - 1]
            out[i, j] = g
    return out, np.array([[[1, 2.5], [3, 4]]]), np.array([[True], [False]]), np.array(CORNERS[1], dtype=np.float32)


def rotated(points, angle):
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, -s], [s, c]]).T


def of_table(x):
    s = 0.0
    for w in TABLE:
        s += w * x
    for k in range(len(TABLE)):
        s += TABLE[k] * x ** k
    for i, j in CORNERS:
        s += (i - x) ** 2 + j
    for i, (j, (k, l)) in enumerate(zip(TABLE, CORNERS)):
        s += i * j + k - l
    place = (x, 2 * x, 3)
    for each in place:
        s -= each
    return s, place[-1], place[1] * CORNERS[2][1]


def game_of_life(grid):
    n, m = grid.shape
    new = np.zeros_like(grid)
    for i in prange(n):
        for j in range(m):
            alive = 0
            for di in (-1, 0, 1):
                for dj in (1, -1, 0):
                    if di == 0 and dj == 0:
                        continue
                    alive += grid[(i + di) % n, (j + dj) % m]
            if alive == 3 or (alive == 2 and grid[i, j]):
                new[i, j] = 1
    return new


def reductions(x):
    total, product, low, high, first = 0.0, 1.0, np.inf, -np.inf, 1e9
    for i in prange(len(x)):
        total = total + x[i]
        product = x[i] * product
        total = total - 0.5
        if x[i] > high:
            high = x[i]
        if low > x[i]:
            low = x[i]
        if x[i] < first:
            first = x[i]
    return total, product, low, high, first


def all_places(x, n):
    t = 0.0
    for i, j in np.ndindex(x.shape):
        t += x[i, j] * i + j
    for (i, j), v in np.ndenumerate(x):
        t -= v * j
    for k, v in enumerate(x[:, 1:].flat):
        t += k * v
        if k == 5:
            continue
    for i, j, k in np.ndindex(2, n, 3):
        t += i * 100 + j * 10 + k
    return t


def statements(x):
    import math
    from math import floor as down
    a = b = np.zeros(len(x))
    with np.errstate(all="ignore"):
        a[0] = math.sqrt(x[1]) + x[0] / 0
    kept = down(x[2])
    y = x.copy()
    y.sort()
    y[1:].fill(kept)
    del kept
    if isinstance(x, np.ndarray) and not isinstance(x[0], (bool, np.float32)):
        return b, y
    return x


def keyword_only(x, *, scale=2, offset):
    return x * scale + offset


def of_keyword_only(x):
    return keyword_only(x, offset=1) + keyword_only(x, offset=2, scale=3)


def raising(x, what):
    assert what != 0, "what is 0"
    if what == 1:
        raise ValueError("no data")
    if what == 2:
        raise KeyError
    return (x + x[:what]).max()


def of_library(x, m):
    xs, ys = np.meshgrid(x[:3], m[:, 0])
    return (np.interp(x, m[0], m[1]), np.interp(0.3, m[0], m[1]), np.unique(x), np.unique(m), np.flip(x), np.fliplr(m),
            np.flipud(m), np.tile(x, 3), np.repeat(x, 2), x.repeat(2), np.vstack((x, x * 2)), np.stack((x, x)),
            np.stack((x, x, x), axis=1), np.column_stack((x, x)), np.hstack((m, m)), np.concatenate((m, m), axis=1),
            xs, ys, x.clip(0.2, 0.5), m.clip(0, 1), np.nanmin(x), np.nanmax(m))


def indices(a, order):
    b = a.copy()
    b[[0, 1]] = b[[1, 0]]
    b[order] = a[order] * 2
    return b, a[order, 1], a[:, order], a[0, order], a[:, [1, -1]], a[a[:, 0] > 0.5, 1]


def by_name(x, k):
    same = x.sum() if x.dtype == np.float64 else 0.0
    return same, x.dtype != np.int32, np.add(x, k), np.floor_divide(x, 0.3), np.mod(x, k), np.negative(x), \
        np.greater(x, 0.5), np.less_equal(x, x[::-1]).sum(), np.multiply(2, k), np.heaviside(x - 0.5, 0.25)


def more_of_library(x, m, bins):
    return np.tril(m), np.tril(m, -1), np.triu(m, 1), np.digitize(x, bins), np.searchsorted(bins, x), \
        math.isclose(x[0], x[0] + 1e-12), math.isclose(0, 1e-3, abs_tol=0.01)


def quantiles(x, q):
    return np.percentile(x, 50), np.quantile(x, 0.3), np.quantile(x, q), np.percentile(x, q * 100)


def distances(points, d):
    for i in prange(points.shape[0]):
        for j in range(points.shape[0]):
            step = points[i] - points[j]
            d[i, j] = np.sqrt((step * step).sum())
    for i, j in prange(d.shape):
        step = np.abs(points[i] - points[j])
        d[i, j] += step.max()


def own_arrays(x, out, bins):
    for i in prange(1, len(x), 2):
        counts = np.zeros(bins, np.int64)
        for v in x[i]:
            counts[int(v * bins)] += 1
        out[i] = counts
        m = np.empty((2, 2))
        m[0] = x[i, :2]
        m[1] = x[i, 1:3]
        rest = x[i].copy()
        rest[0] = m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
        again = np.ones_like(rest)
        for k in range(3):
            turn = np.full(3, 0.5)
            turn[k] += k
            again[0] += turn.sum()
        out[i, 0] += (rest * again).sum()
    for i in prange(5, 2):
        never = np.zeros(3)
        out[i, 0] = never[0]


def grows(x):
    for i in prange(len(x)):
        part = np.zeros(i + 1)
        x[i] = part.sum()


def allocates(x):
    for i in prange(len(x)):
        x[i] = sum_of_new(3)


def sum_of_new(n):
    return np.ones(n).sum()


def endless(n):
    return endless(n + 1) + 1


def doubled(x):
    return x * 2


def windows(a, w):
    b = np.zeros_like(a)
    for i in prange(2, a.shape[0] - 2):
        for j in range(2, a.shape[1] - 2):
            s = 0.0
            for k in range(-2, 3):
                for l in range(2, -3, -2):
                    if k != l or a[i, j] > 0.5:
                        step = a[i + k, j + l] * w[k, 1]
                        s += step - k * l
            for k in range(4):
                if a[i - k + 2, j] > 0.9:
                    break
                s += k
            b[i, j] = s
    return b


class Strangers(support.Comparisons):
    def test_steps_that_are_computed(self):
        for n in (2, 9, 100):
            self.compare(sieve, n)
        for step in (1, 2, 7):
            self.compare(every, np.arange(50.0), np.zeros(50), step)

    def test_lists_and_tuples(self):
        self.compare(trace, np.arange(12.0).reshape(3, 4))
        self.compare(sobel, np.arange(42.0).reshape(6, 7) ** 2)
        self.compare(rotated, np.arange(8.0).reshape(4, 2), 0.5)
        self.compare(of_table, 0.3)
        self.compare(all_places, np.arange(12.0).reshape(3, 4), 2)
        self.compare(windows, np.random.default_rng(3).random((9, 11)), np.arange(10.0).reshape(5, 2))
        self.compare(game_of_life, np.random.default_rng(1).integers(0, 2, (9, 8)).astype(np.uint8))

    def test_reductions(self):
        for x in (np.arange(1.0, 9.0), np.array([3.0, np.nan, 1.0]), np.zeros(0)):
            self.compare(reductions, x)

    def test_statements(self):
        self.compare(statements, np.array([3.0, 2.5, 7.2, 1.0]))
        compiled = dhpvm.jit(keyword_only)
        self.assertEqual(compiled(2, offset=1), 5)
        self.assertEqual(compiled(2, offset=1, scale=0.5), 2)
        self.assertRaises(TypeError, compiled, 2, 3, 4)
        self.assertRaises(TypeError, compiled, 2)
        self.compare(of_keyword_only, np.arange(3.0))

    def test_arrays_in_prange(self):
        x = np.random.default_rng(1).random((9, 5))
        self.compare(distances, x, np.zeros((9, 9)))
        self.compare(own_arrays, x, np.zeros((9, 4)), 4)
        for function in (grows, allocates):
            self.assertRaisesRegex(dhpvm.TranslationError, "makes no arrays whose size is not known before the loop",
                                   dhpvm.jit(function), np.zeros(4))
        self.assertRaisesRegex(dhpvm.TranslationError, "return a number before", dhpvm.jit(endless), 1)

    def test_unusual_arrays(self):
        for shape in ((5,), (2, 3)):
            self.compare(doubled, np.broadcast_to(np.float64(2.5), shape))
        self.compare(doubled, np.broadcast_to(np.arange(3.0), (2, 3)))
        self.compare(doubled, np.frombuffer(b"x" + np.arange(3.0).tobytes(), np.float64, offset=1))
        one = np.lib.stride_tricks.as_strided(np.ones(1), (4,), (0,))
        masked = np.ma.masked_array([1.0, 2.0], [True, False])
        self.assertRaisesRegex(dhpvm.TranslationError, "is a masked array", dhpvm.jit(doubled), masked)
        program = dhpvm.compile("fn first(x: [f64]) -> f64 { x[0] = x[0] + 1.0; return x[0]; }")
        self.assertRaisesRegex(TypeError, "is a masked array", program.first, masked)
        self.assertRaisesRegex(ValueError, "one and the same", program.first, one)

    def test_exceptions(self):
        compiled, x = dhpvm.jit(raising), np.arange(5.0)
        self.assertEqual(compiled(x, 5), 8)
        for what, kind, text in ((0, AssertionError, "what is 0"), (1, ValueError, "no data"), (2, KeyError, ""),
                                 (3, ValueError, "different shapes")):
            with self.assertRaisesRegex(kind, text) as caught:
                compiled(x, what)
            self.assertIsInstance(caught.exception, dhpvm.Trap)
            self.assertEqual(caught.exception.frames[-1].function, "raising")

    def test_functions_of_numpy(self):
        random = np.random.default_rng(2)
        m = np.sort(random.random((2, 4)), axis=1)
        self.compare(of_library, random.random(9).round(1), m)
        self.compare(indices, np.arange(12.0).reshape(3, 4) / 11, np.array([2, 0]))
        self.compare(by_name, random.random(9), 0.25)
        self.compare(by_name, random.random(9).astype(np.float32), 3)
        self.compare(more_of_library, random.random(9), m, np.array([0.1, 0.4, 0.9]))
        for n in (1, 2, 7, 100):
            self.compare(quantiles, random.random(n), random.random(5))


if __name__ == "__main__":
    support.main()
