#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy that are written in Python here: neighbours, samples, decimals, equations, several axes."""

import numpy as np
import support

import dhpvm

RANDOM = np.random.default_rng(3)
X, Y, A = RANDOM.random(50), RANDOM.random(7), RANDOM.random((5, 8))
K = RANDOM.integers(0, 10, 50)
C = RANDOM.random((4, 5, 6))
NAN = np.array([[1.0, np.nan, 3.0], [np.nan, 0.0, -1.0]])
SQUARE = RANDOM.random((6, 6)) + 6 * np.eye(6)
IMAGE = RANDOM.integers(0, 255, (5, 6), dtype=np.uint8)


def exact(a, k, c, nan, image):
    """Results with NumPy's bits."""
    rolled = np.roll(a, 1, axis=0), np.roll(a, -2, 1), np.roll(a, 9)
    places = np.argmin(a, axis=1), a.argmax(axis=0), c.argmax(1), nan.argmin(axis=1), nan.argmax(0)
    tests = (a > 0.5).any(axis=1), np.all(c > 0.1, axis=(0, 2)), c.max(axis=(1, 2)), c.min((0, 1, 2))
    chosen = np.take(a, [0, 2], axis=0), np.take(a, [1, 0], 1), np.take(a, [9, 3])
    turned = np.transpose(a).copy(), np.swapaxes(a, 0, 1).copy(), np.clip(a, None, 0.5), np.clip(a, 0.2, None)
    values, counts = np.unique(k, return_counts=True)
    sums = np.zeros(10)
    np.add.at(sums, k, 1.5)
    np.add.at(sums, k[:3], a[0, :3])
    made = np.insert(k, 2, 7), np.delete(k, -1), np.pad(k, 2), np.pad(a, ((1, 0), (2, 1)), mode="edge"), \
        np.pad(k[:4], (5, 3), mode="reflect"), np.pad(k[:4], 6, mode="symmetric"), np.pad(k[:4], 6, mode="wrap")
    small = np.pad(image, 1, constant_values=9), np.cross(a[0, :3], a[1, :3]), np.cross(a[:, :3], a[:, 3:6])
    return rolled[0], rolled[1], rolled[2], places[0], places[1], places[2], places[3], places[4], tests[0], tests[1], \
        tests[2], tests[3], chosen[0], chosen[1], chosen[2], turned[0], turned[1], turned[2], turned[3], values, \
        counts, sums, made[0], made[1], made[2], made[3], made[4], made[5], made[6], small[0], small[1], small[2]


def rounded(x, k):
    return np.round(x, 2), np.round(x * 1000, -1), x.round(3), np.around(x), round(x[0], 2), np.round(k, 1), \
        np.gradient(x), np.gradient(k, 0.5), np.nan_to_num(x / (x - x[3])), np.nan_to_num(k), \
        np.round(k * 35, -1), np.round(k * -150, -2), np.round(1250, -2)


def counted(x, k):
    a, edges = np.histogram(x, 7)
    b, _ = np.histogram(k, bins=10, range=(0.0, 10.0))
    c, _ = np.histogram(x, [0.0, 0.25, 0.5, 1.0])
    return a, edges, b, c


def near(x, y, a, c, square):
    """Results whose last bits depend on the order of sums."""
    return np.convolve(x, y), np.convolve(y, x, mode="same"), np.convolve(x, y, "valid"), \
        np.correlate(x, y), np.correlate(x, y, mode="full"), np.cov(a), np.cov(x, x[::-1]), np.cov(x), \
        np.corrcoef(x, x ** 2), np.corrcoef(a), np.polyval(y, x), np.polyval([1.0, 2.0, 3.0], x[0]), \
        np.logspace(0, 2, 5), np.sinc(x), c.sum(axis=(0, 1)), c.mean(axis=(0, 2)), np.percentile(a, [25, 50, 75]), \
        np.median(a, axis=0), np.median(a, axis=1), np.linalg.solve(square, x[:6]), np.linalg.inv(square), \
        np.linalg.det(square), np.linalg.solve(square, square)


def are_near(found, expected):
    return len(found) == len(expected) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, 1e-9, 1e-12) for a, b in zip(found, expected))


def singular(m):
    return np.linalg.inv(m)


def scaled(m, b):
    return np.linalg.solve(m, b), np.linalg.inv(m)


def samples_of_rows(m):
    return np.cov(m, m)


def descending(x):
    counts, _ = np.histogram(x, [5.0, 1.0, 9.0])
    return counts


def swapped_of_three(c):
    return np.swapaxes(c, 0, 3)


def no_such_axis(a):
    return a.sum(axis=(0, 2))


def largest_bool(a):
    return np.max(a, axis=0)


def widths_of_rows(x):
    return np.pad(x, ((1, 1), (2, 2)))


class Functions(support.Comparisons):
    def test_equal_bits(self):
        self.compare(exact, A, K, C, NAN, IMAGE)
        self.compare(rounded, X, K)
        self.compare(counted, X, K)
        self.compare(counted, X[:1], K)

    def test_near(self):
        self.compare(near, X, Y, A, C, SQUARE, fit=are_near)

    def test_errors(self):
        with self.assertRaisesRegex(ValueError, "singular"):
            dhpvm.jit(singular)(np.ones((3, 3)))
        for wrong, argument, reason in (
            (swapped_of_three, C, "order of the axes"),
            (no_such_axis, A, "each of them once"),
            (largest_bool, A > 0, "write any or all"),
        ):
            with self.assertRaisesRegex(dhpvm.TranslationError, reason):
                dhpvm.jit(wrong)(argument)
        for wrong, argument in ((samples_of_rows, A), (descending, X), (widths_of_rows, X)):
            with self.assertRaises(ValueError):
                dhpvm.jit(wrong)(argument)

    def test_equations_have_the_arrays_types_and_any_scale(self):
        self.compare(scaled, np.eye(3) * 2.0**-600, np.ones(3))
        single = SQUARE.astype(np.float32)
        for x in dhpvm.jit(scaled)(single, single[0]):
            self.assertEqual(x.dtype, np.float32)


if __name__ == "__main__":
    support.main()
