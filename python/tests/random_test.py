#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random numbers in compiled functions: of a generator, and by place in prange loops."""

import unittest

import support
import numpy as np

import dhpvm
from dhpvm import prange

N = 20_000


@dhpvm.jit
def samples(seed, n):
    rng = np.random.default_rng(seed)
    return rng.random(n), rng.normal(3.0, 2.0, n), rng.integers(-2, 5, n), rng.exponential(4.0, size=n), \
        rng.uniform(1, 3, size=(n, 2)), rng.standard_normal((2, 3, n))


@dhpvm.jit
def one_by_one(seed, n):
    rng = np.random.default_rng(seed)
    a, b = np.empty(n), np.empty(n, np.int64)
    for i in range(n):
        a[i] = rng.random()
        b[i] = rng.integers(10)
    return a, b


@dhpvm.jit
def seeded(seed):
    return np.random.default_rng(seed).random()


@dhpvm.jit
def shuffled(seed, a, rows):
    rng = np.random.default_rng(seed)
    chosen = rng.choice(a, 5)
    order = rng.permutation(len(a))
    copy = rng.permutation(a)
    rng.shuffle(a)
    rng.shuffle(rows)
    return chosen, order, copy, rng.choice(a), rng.choice(7)


@dhpvm.jit
def by_place(seed, n):
    u, z = np.empty(n), np.empty(n)
    for i in prange(n):
        u[i] = dhpvm.uniform(seed, i)
        z[i] = dhpvm.normal(seed, i)
    return u, z


@dhpvm.jit
def walk(rng_seed, n):
    rng = np.random.default_rng(rng_seed)
    x = 0.0
    for _ in range(n):
        x = step(rng, x)
    return x


def step(rng, x):
    return x + rng.normal()


class Random(unittest.TestCase):
    def test_seeds(self):
        self.assertNotEqual(seeded(0), seeded(1))
        with self.assertRaisesRegex(ValueError, "non-negative"):
            seeded(-1)

    def test_distributions(self):
        u, z, k, e, pairs, cube = samples(7, N)
        self.assertEqual((pairs.shape, cube.shape), ((N, 2), (2, 3, N)))
        self.assertTrue(0 <= u.min() and u.max() < 1 and abs(u.mean() - 0.5) < 0.02)
        self.assertTrue(abs(z.mean() - 3) < 0.1 and abs(z.std() - 2) < 0.1)
        self.assertEqual(np.bincount(k + 2).size, 7)
        self.assertLess(np.ptp(np.bincount(k + 2)), 0.2 * N / 7)
        self.assertTrue(e.min() >= 0 and abs(e.mean() - 4) < 0.2)
        self.assertTrue(1 <= pairs.min() and pairs.max() < 3)
        self.assertTrue(abs(cube.mean()) < 0.05 and abs(cube.std() - 1) < 0.05)

    def test_seeds(self):
        for one, same, other in zip(samples(1, 10), samples(1, 10), samples(2, 10)):
            self.assertTrue((one == same).all())
            self.assertFalse((one == other).all())
        self.assertTrue((one_by_one(3, 50)[1] < 10).all())
        self.assertNotEqual(walk(1, 100), walk(2, 100))

    def test_orders(self):
        a, rows = np.arange(100.0), np.arange(20.0).reshape(10, 2)
        chosen, order, copy, one, below = shuffled(5, a, rows)
        self.assertTrue(np.isin(chosen, np.arange(100)).all() and 0 <= one < 100 and 0 <= below < 7)
        for each in (a, order, copy):
            self.assertFalse((each == np.arange(100)).all())
            self.assertTrue((np.sort(each) == np.arange(100)).all())
        self.assertTrue((rows[:, 1] == rows[:, 0] + 1).all() and (np.sort(rows[:, 0]) == np.arange(0, 20, 2)).all())

    def test_by_place(self):
        """As in Python: all bits of uniform, and all but the last of normal."""
        u, z = by_place(-9, 200)
        self.assertEqual(u.tolist(), [dhpvm.uniform(-9, i) for i in range(200)])
        np.testing.assert_allclose(z, [dhpvm.normal(-9, i) for i in range(200)], rtol=1e-13)
        self.assertTrue((u == by_place(-9, 200)[0]).all())

    def test_errors(self):
        def in_prange(x):
            rng = np.random.default_rng(1)
            for i in prange(len(x)):
                x[i] = rng.random()

        def unknown(x):
            rng = np.random.default_rng(1)
            return rng.gamma(1.0)

        def of_the_module(x):
            return np.random.rand()

        def wrong_bounds(x):
            rng = np.random.default_rng(1)
            return rng.integers(3, 3)

        for function, message in ((in_prange, r"dhpvm.uniform\(seed, i\)"), (unknown, "exponential"),
                                  (of_the_module, "default_rng")):
            with self.subTest(function.__name__), self.assertRaisesRegex(dhpvm.TranslationError, message):
                dhpvm.jit(function)(np.zeros(3))
        with self.assertRaisesRegex(ValueError, "low >= high"):
            dhpvm.jit(wrong_bounds)(np.zeros(3))


if __name__ == "__main__":
    support.main()
