#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Complex numbers: as arguments and results, in loops, and in expressions of whole arrays."""

import cmath
from functools import partial
from random import Random

import numpy as np
import support

import dhpvm
from dhpvm import prange

ROOTS = np.exp(2j * np.pi * np.arange(5) / 5)
TURN = 1j


def mandelbrot(n):
    out = np.zeros((n, n), dtype=np.int32)
    for i in prange(n):
        for j in range(n):
            z = 0j
            c = complex(-2 + 3 * i / n, -1.5 + 3 * j / n)
            for k in range(50):
                z = z * z + c
                if abs(z) > 2:
                    out[i, j] = k
                    break
    return out


def sums(z):
    total, product = 0j, 1 + 0j
    for i in prange(len(z)):
        total += z[i]
        product *= z[i] * 0.5
    for i in prange(len(z)):
        total -= 1j
    return total, product, z.sum(), z.mean(), np.prod(z), np.any(z), np.all(z), z @ z, np.dot(z, z.conj())


def arithmetic(x, y):
    return x + y, x - y, x * y, x / y, -x, x ** 2, x ** 3, y ** 0, x == y, x != y, x.real, y.imag, \
        x.conjugate(), bool(x)


def functions(x, y):
    z = complex(x, y)
    w = cmath.exp(z) + cmath.sqrt(-z) * cmath.log(z) - cmath.sin(z) / cmath.cos(z) + cmath.sinh(z) - cmath.cosh(z)
    w -= 3
    w *= z
    return w, abs(w), cmath.phase(w), z ** z, 2 ** z, z ** -2, z ** 0.5, TURN * z, complex(x), isinstance(z, complex)


def of_numpy(z):
    return np.exp(z), np.sqrt(z), np.log(z + 3), np.sin(z), np.cos(z), np.abs(z), np.angle(z), np.conj(z), z.conj(), \
        np.square(z), np.isnan(z), np.isfinite(z), np.isinf(z), np.where(np.abs(z) > 1, z, 0), z ** 2, \
        z / 2, 1 / (z + 2)


def parts(z):
    return z.real.copy(), z.imag.copy(), np.real(z) + 1, np.imag(z) * 2, (z * 1j).real + z.imag


def fourier(x):
    n = len(x)
    w = np.exp(-2j * np.pi * np.arange(n) / n)
    y = np.zeros(n, dtype=np.complex128)
    for k in prange(n):
        s = 0j
        for t in range(n):
            s += x[t] * w[(k * t) % n]
        y[k] = s
    return y


def in_place(z, by):
    z[1:] *= by
    z[0] = 2
    z += 1j
    z[z.real < 0] = 0
    return z


def matrices(m):
    t = m.T.copy()
    t[:, 0] = m[0]
    return m @ t, m.sum(axis=0), m.ravel().copy(), np.vstack((m, t)), np.trace(m), m[::-1, 1:].copy(), np.roll(m, 1), \
        m.astype(np.complex64), np.linalg.solve(m + 4 * np.eye(len(m)), t[0])


def captured(z):
    return z * ROOTS[:len(z)]


def swapped(pair, numbers):
    a, b = pair
    return (b * numbers[0], a + numbers[1]), numbers[1]


def lists(n):
    found = []
    for i in range(n):
        found.append(complex(i, -i))
    return np.array(found), len(found), sum(found[i] for i in range(n))


def types(n):
    z = np.zeros((n, 2), complex)
    z[0, 1] = 1
    y = np.full(n, 1 - 1j)
    x = np.array([1, 2j])
    return z, np.zeros_like(y), np.ones(n, np.complex64) * 2j, y, x, np.array([1j], dtype=np.complex64)


class Generator:
    """Writes a function f(a, b, z) of two numbers and an array: expressions of numbers in a loop, and of whole arrays.
    What it divides by is not near 0."""

    def __init__(self, seed):
        self.random = Random(seed)

    def expression(self, leaves, depth=3):
        if depth == 0 or self.random.random() < 0.15:
            return self.random.choice(leaves)
        left, right = self.expression(leaves, depth - 1), self.expression(leaves, depth - 1)
        form = self.random.choice(
            ["{} + {}", "{} - {}", "{} * {}", "{} * {}", "-{} + {}", "({}).real - {}", "({}).imag * {}",
             "abs({}) + {}", "np.conj({}) * {}", "{} / (abs({}) + 1.5)", "{} / ({} * 0 + (2 - 1j))",
             "({}) ** 2 - {}", "({}) ** 3 * 0.1 + {}", "np.exp(0.01j * ({}).real) + {}",
             "({} if abs(a) > 1 else {})" if "z" not in leaves else "np.where(np.abs({}) > 1, {}, 2j)"])
        return f"({form.format(left, right)})"

    def function(self):
        numbers = ["a", "b", "w", "z[i]", "1j", "0.5", "2", "i"]
        return f"""def f(a, b, z):
    y = np.zeros(len(z), dtype=complex)
    s = 0j
    for i in {self.random.choice(("range", "dhpvm.prange"))}(len(z)):
        w = z[i] + 0j
        for _ in range(2):
            w = w * 0.01 + {self.expression(numbers)} * 0.01
        y[i] = w
        s += w
    x = {self.expression(["z", "y", "a", "b", "1j", "3"])} + z * 0
    return y, x, s, x.sum()
"""


class ComplexNumbers(support.Comparisons):
    def samples(self, *shape):
        random = np.random.default_rng(5)
        return random.random(shape) - 0.5 + 1j * (random.random(shape) - 0.5)

    def test_numbers(self):
        self.compare(mandelbrot, 12)
        for x, y in ((1 + 2j, -0.5j), (2.5, 1j), (1j, 3), (np.complex128(1 - 1j), 2.0), (1j, np.float32(2)),
                     (np.complex64(1 + 2j), np.complex64(3 - 1j)), (-0.0 + 0j, 1e300 + 1e300j)):
            self.compare(arithmetic, x, y, fit=support.nearly)
        for x, y in ((1.5, -0.25), (-1.5, 0.25), (-0.5, -2.0)):
            self.compare(functions, x, y, fit=support.nearly)

    def test_arrays(self):
        for n in (1, 5, 1000):
            self.compare(sums, self.samples(n), fit=support.nearly)
        for z in (self.samples(9), self.samples(4, 5), self.samples(9)[::2], self.samples(4, 5).T):
            self.compare(of_numpy, z, fit=support.nearly)
            self.compare(parts, z)
        self.compare(fourier, self.samples(16), fit=support.nearly)
        self.compare(matrices, self.samples(3, 3), fit=support.nearly)
        self.compare(captured, self.samples(4), fit=support.nearly)
        self.compare(lists, 5)
        self.compare(types, 3)
        self.compare(parts, self.samples(7).astype(np.complex64))

    def test_the_memory_is_that_of_numpy(self):
        compiled, z = dhpvm.jit(in_place), self.samples(6)
        expected = in_place(z.copy(), 2j)
        self.assertIs(compiled(z, 2j), z)
        self.assertTrue(support.nearly(z, expected))
        wide = self.samples(6, 2)
        expected = in_place(wide[:, 1].copy(), 2j)
        compiled(wide[:, 1], 2j)
        self.assertTrue(support.nearly(wide[:, 1].copy(), expected))

        @dhpvm.jit
        def add(a, b):
            a += b
        add(z, z)
        self.assertTrue(np.allclose(z, 2 * in_place(self.samples(6), 2j)))
        for other in (z.imag, z.real, z[1:]):
            self.assertRaisesRegex(ValueError, "share memory", add, z[:len(other)], other)
        one = z[:1]
        self.assertRaisesRegex(ValueError, "share memory", add, one, one.imag)

    def test_arguments(self):
        self.compare(swapped, (1j, np.complex64(2)), (np.float32(3), 1 + 1j), fit=support.nearly)
        compiled = dhpvm.jit(arithmetic)
        for x in (1j, np.complex128(1j), np.complex64(1j), 1j, np.complex64(1j)):
            self.assertEqual(compiled(x, x)[0], 2j)
        self.assertEqual(len(compiled.signatures()), 3)
        big_endian = np.zeros(2, ">c16")
        self.assertRaisesRegex(dhpvm.TranslationError, "newbyteorder", dhpvm.jit(parts), big_endian)

    def test_devices(self):
        z = self.samples(2000)
        with dhpvm.Engine(device="sim", jit_wait=True):
            self.compiled.clear()
            self.compare(of_numpy, z, fit=support.nearly)
            self.compare(sums, z, fit=support.nearly)
            self.compare(fourier, z[:64].copy(), fit=support.nearly)
        self.compiled.clear()
        held = dhpvm.jit(parts)
        self.assertTrue(support.nearly(held(z), parts(z)))
        self.assertEqual(dhpvm.array(z)[:].tolist(), z.tolist())

    def test_generated(self):
        numbers = (1.5 - 0.5j, np.complex128(0.25 + 2j), np.complex64(-1 + 0.5j), np.float32(1.25), 3, -0.75)
        for seed in range(30):
            text, chosen = Generator(seed).function(), Random(seed)
            a, b = chosen.choice(numbers), chosen.choice(numbers)
            z = self.samples(7).astype(chosen.choice((np.complex128, np.complex64)))
            # A variable that gets numbers of several types has one type.
            is_short = any(np.asarray(each).dtype in (np.float32, np.complex64) for each in (a, b, z))
            with self.subTest(text):
                self.compare(support.define(text, f"<complex {seed}>"), a, b, z,
                             fit=partial(support.nearly, tolerance=1e-4 if is_short else 1e-9))

    def test_what_is_refused(self):
        z = self.samples(4)

        def refuse(text, advice):
            function = support.define(f"def f(z):\n    {text}\n", f"<{text}>")
            with self.subTest(text):
                self.assertRaisesRegex(dhpvm.TranslationError, advice, dhpvm.jit(function), z)

        refuse("return z.real", "already")
        refuse("z.real[0] = 1", "a part of a complex number cannot be assigned")
        refuse("r = z.copy().real; z[0] = 1; return r < z", "have no order")
        refuse("x = np.zeros(2); x[0] = z[0]", "a complex number is no float64")
        refuse("return float(z[0])", "a complex number is no float")
        refuse("return z.std(), np.floor(z)", "std of complex numbers")
        refuse("return np.floor(z)", "abs, angle, exp, log")
        refuse("return z // 2", r"have \+, -, \*, / and")
        refuse("return max(z[0], z[1])", "have no max")
        refuse("return np.sort(z)", "have no order")
        refuse("return z.max()", "max of complex numbers")
        refuse("x = np.ones(2); x *= 1j", "does not fit")
        refuse("print(z[0])", "printed by its parts")
        refuse("d = {}; d[z[0]] = 1", "real numbers")
        refuse("return np.arange(z[0])", "real numbers are needed")
        refuse("return np.minimum(z, z)", "minimum of complex numbers")


if __name__ == "__main__":
    support.main()
