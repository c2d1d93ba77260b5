#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""dhpvm.array: elements that stay where they were used last until they are looked at."""

import unittest

import numpy as np
import support

import dhpvm

X = np.random.default_rng(2).random(100000)


@dhpvm.jit
def step(x, k):
    y = np.empty_like(x)
    for i in dhpvm.prange(len(x)):
        y[i] = x[i] * k / (1 + x[i] * x[i])
    return y


@dhpvm.jit
def double(x):
    for i in dhpvm.prange(len(x)):
        x[i] *= 2
    return x


@dhpvm.jit
def add(x, y):
    for i in dhpvm.prange(len(x)):
        x[i] += y[i]


def uploaded(function):
    return sum(each._isolate.statistics()["device_upload_bytes"] for each in function._programs.values())


class Held(unittest.TestCase):
    def test_stays_on_a_device(self):
        with dhpvm.Engine(device="sim"):
            copied = X
            for _ in range(5):
                copied = step(copied, 0.5)
            before = uploaded(step)
            self.assertEqual(before, 5 * X.nbytes)
            held = dhpvm.array(X)
            for _ in range(5):
                held = step(held, 0.5)
            self.assertEqual(uploaded(step) - before, X.nbytes)
            self.assertIsInstance(held, dhpvm.Array)
            self.assertTrue((np.asarray(held) == copied).all())

    def test_is_seen_by_others(self):
        x = dhpvm.array([[1, 2], [3, 4]], np.float32)
        self.assertEqual((x.shape, x.ndim, x.size, x.nbytes, len(x), x.dtype), ((2, 2), 2, 4, 16, 2, np.float32))
        self.assertEqual(repr(x), "<dhpvm.Array of float32, 2 x 2>")
        self.assertEqual(memoryview(x).shape, (2, 2))
        self.assertFalse(np.asarray(x).flags.writeable)
        x[1] = 7
        self.assertEqual(np.from_dlpack(x).tolist(), [[1, 2], [7, 7]])
        self.assertEqual([row.tolist() for row in x], [[1, 2], [7, 7]])
        copy = x.copy()
        copy[0] = 0
        self.assertEqual(x[0, 1], 2)

    def test_goes_from_function_to_function(self):
        x, y = dhpvm.array(X), dhpvm.array(X[::-1])
        self.assertIs(double(x), x)
        add(x, y)
        x[0] = 5
        double(x)
        add(x, x)
        expected = 2 * (2 * X + X[::-1])
        expected[0] = 10
        self.assertTrue((x[:] == 2 * expected).all())
        add(x, X)  # with an array of NumPy
        self.assertTrue((x[:] == 2 * expected + X).all())

    def test_complex(self):
        @dhpvm.jit
        def turn(z, w):
            r = np.empty(len(z), z.dtype)
            for i in dhpvm.prange(len(z)):
                z[i] = z[i] * w
                r[i] = z[i] + 1
            return r

        for dtype in (np.complex128, np.complex64):
            for n in (0, 3, 20000):
                expected = (np.arange(n) * (1 + 2j)).astype(dtype)
                z = dhpvm.array(expected)
                self.assertEqual((z.dtype, z.shape), (dtype, (n,)))
                for _ in range(3):
                    r = turn(z, 1j)
                    expected = (expected * 1j).astype(dtype)
                    self.assertIsInstance(r, dhpvm.Array)
                    self.assertEqual(r.dtype, dtype)
                    self.assertTrue((np.asarray(r) == expected + 1).all())
                self.assertTrue((z[:] == expected).all())
        with dhpvm.Engine(device="sim"):
            z = dhpvm.array([1, 2, 1j])
            self.assertEqual((turn(z, 2)[:].tolist(), z[:].tolist()), ([3, 5, 1 + 2j], [2, 4, 2j]))
        self.assertTrue((turn(np.array([1j, 2]), 1) == [1 + 1j, 3]).all())

    def test_programs_and_mistakes(self):
        program = dhpvm.compile("fn f(x: [f64]) -> [f64] { return x.copy(); }")
        self.assertEqual(list(program.f(dhpvm.array([1.0, 2.0]))), [1, 2])
        with self.assertRaisesRegex(TypeError, "should be \\[f64\\]"):
            program.f(dhpvm.array([1, 2]))
        self.assertEqual(step(dhpvm.array(np.zeros(0)), 1.0).shape, (0,))
        for wrong in (["a"], np.zeros((1, 1, 1, 1))):
            self.assertRaises(TypeError, dhpvm.array, wrong)


if __name__ == "__main__":
    support.main()
