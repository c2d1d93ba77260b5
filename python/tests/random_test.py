#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random numbers in compiled functions: of a generator, and by place in prange loops."""

import math
import random
import unittest

import numpy as np
import support

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


def _step():
    return 1 if np.random.rand() < 0.5 else -1


@dhpvm.jit
def random_walk(seed, n):
    np.random.seed(seed)
    x = np.zeros(n)
    for i in range(1, n):
        x[i] = x[i - 1] + _step()
    return x


@dhpvm.jit
def inside_circle(n):
    inside = 0
    for _ in range(n):
        x, y = random.random(), random.random()
        if x * x + y * y < 1:
            inside += 1
    return 4 * inside / n


@dhpvm.jit
def of_the_modules(seed, n):
    random.seed(seed)
    ints = np.random.randint(0, 10, size=n)
    dice = np.zeros(n, np.int64)
    for i in range(n):
        dice[i] = random.randint(1, 6)
    chosen, order = np.random.choice(ints, 50), np.arange(20)
    np.random.shuffle(order)
    return (np.random.randn(n, 2), ints, np.random.uniform(-1, 1, n), chosen, order, dice,
            np.random.random_sample((2, 3)), np.random.normal(5, 2, n) + 0 * random.gauss(0, 1))


@dhpvm.jit
def distributions(seed, n):
    np.random.seed(seed)
    order = [1, 2, 3, 4]
    random.shuffle(order)
    drawn = np.random.choice(3, n, p=np.array([0.2, 0.3, 0.5]))
    return (np.random.gamma(2.0, 3.0, n), np.random.gamma(0.5, 1.0, n), np.random.poisson(3.0, n),
            np.random.poisson(100.0, n), np.random.binomial(10, 0.3, n), np.random.beta(2, 3, n),
            np.random.lognormal(0, 0.5, n), drawn, order, np.random.choice(20, 5, replace=False))


class Random(unittest.TestCase):
    def test_seeds_below_0(self):
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

    def test_of_the_modules(self):
        """np.random and random: one generator for a call and what it calls."""
        path = random_walk(7, 400)
        self.assertTrue((path == random_walk(7, 400)).all() and (np.abs(np.diff(path)) == 1).all())
        self.assertFalse((path == random_walk(8, 400)).all())
        self.assertAlmostEqual(inside_circle(20000), math.pi, delta=0.1)
        self.assertGreater(len({inside_circle(20000) for _ in range(6)}), 1)
        normal, ints, floats, chosen, order, dice, table, scaled = of_the_modules(3, 2000)
        self.assertEqual((normal.shape, table.shape, chosen.shape), ((2000, 2), (2, 3), (50,)))
        self.assertTrue(abs(normal.mean()) < 0.1 and abs(normal.std() - 1) < 0.1 and abs(scaled.mean() - 5) < 0.2)
        self.assertEqual((ints.min(), ints.max(), sorted(set(dice.tolist()))), (0, 9, [1, 2, 3, 4, 5, 6]))
        self.assertTrue((floats >= -1).all() and (floats < 1).all() and np.isin(chosen, ints).all())
        self.assertEqual(sorted(order.tolist()), list(range(20)))

    def test_distributions_of_np_random(self):
        gamma, small, few, many, tosses, beta, logs, drawn, order, chosen = distributions(3, N)
        for found, mean, variance in ((gamma, 6, 18), (small, 0.5, 0.5), (few, 3, 3), (many, 100, 100),
                                      (tosses, 3, 2.1), (beta, 0.4, 0.04), (np.log(logs), 0, 0.25)):
            self.assertAlmostEqual(found.mean(), mean, delta=5 * math.sqrt(variance / N))
            self.assertAlmostEqual(found.var() / variance, 1, delta=0.1)
        np.testing.assert_allclose(np.bincount(drawn) / N, [0.2, 0.3, 0.5], atol=0.02)
        self.assertEqual((sorted(order), len(set(chosen.tolist()))), ([1, 2, 3, 4], 5))

    def test_errors(self):
        def in_prange(x):
            rng = np.random.default_rng(1)
            for i in prange(len(x)):
                x[i] = rng.random()

        def unknown(x):
            rng = np.random.default_rng(1)
            return rng.zipf(2.0)

        def of_the_module(x):
            return np.random.zipf(2.0)

        def of_the_module_in_prange(x):
            for i in prange(len(x)):
                x[i] = random.random()

        def sampled(x):
            return random.sample([1, 2, 3], 2)

        def stepped(x):
            return random.randrange(0, 10, 2)

        def named(x):
            return random.gauss(mu=0.0, sigma=1.0)

        def wrong_bounds(x):
            rng = np.random.default_rng(1)
            return rng.integers(3, 3)

        for function, message in ((in_prange, r"dhpvm.uniform\(seed, i\)"), (unknown, "exponential"),
                                  (of_the_module, "of a generator cannot be compiled; .*uniform"),
                                  (sampled, "random.sample cannot be compiled"), (stepped, "and no step: write"),
                                  (named, "random.gauss takes up to 2 arguments here, in their order"),
                                  (of_the_module_in_prange, r"dhpvm.uniform\(seed, i\)")):
            with self.subTest(function.__name__), self.assertRaisesRegex(dhpvm.TranslationError, message):
                dhpvm.jit(function)(np.zeros(3))
        with self.assertRaisesRegex(ValueError, "low >= high"):
            dhpvm.jit(wrong_bounds)(np.zeros(3))


if __name__ == "__main__":
    support.main()
