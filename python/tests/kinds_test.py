# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy on arrays of each type of elements: results have the types that NumPy gives them, also where there
are no elements. There is no float16, so that what NumPy computes in it for 8 bits is left out."""

import math
import warnings

import support
from support import np

import dhpvm

A = np.array([3, 1, 0, 2, 5, 1])
ARRAYS = [np.array([2.5, -1.25, 0.0, 0.5, 3.75, 1.0], dtype) for dtype in ("f8", "f4")]
ARRAYS += [A.astype(dtype) for dtype in ("i8", "i2", "u8", "u2")]
ARRAYS += [np.array([3, -1, 0, 2, 127, -128], "i1"), np.array([3, 200, 0, 2, 255, 1], "u1"), A % 2 == 1]
EXACT = """abs(x) | np.abs(x) | np.square(x) | x ** 2 | x ** 3 | np.power(x, 2) | np.real(x) | np.imag(x) | np.conj(x) |
 np.cumsum(x) | np.diff(x) | np.unique(x) | np.sort(x) | np.where(x > 1, x, 0) | np.isclose(x, 1) |
 min(x[0] > 1, x[1] > 0)"""
CLOSE = """np.std(x, ddof=1) | np.var(x, ddof=7) | np.nanstd(x, ddof=1) | np.nanvar(x, ddof=7) | np.median(x) |
 np.nanmedian(x) | np.cov(x, x) | np.vander(x) | np.outer(x, x).std(axis=0, ddof=1)"""
OF_REALS = """np.fabs(x) | np.hypot(x, x) | np.arctan2(x, 2) | np.degrees(x) | np.radians(x) | np.arcsinh(x) |
 np.arctanh(x) | np.copysign(x, -1) | np.sqrt(x) | np.tanh(x)"""
# What NumPy does not have for these.
REFUSED = [("np.negative(x)", "?"), ("np.sign(x)", "?"), ("np.ediff1d(x)", "?"), ("np.gradient(x)", "?"),
           ("np.cross(x[:3], x[:3])", "?"), ("np.gcd(x, x)", "?"), ("np.gcd(x, x)", "d"), ("np.lcm(x, 2)", "f"),
           ("np.einsum('i,i->', x, x)", "?"), ("np.round(x)", "?")]
# A text, and where to find what to write instead.
ADVICE = [("np.reciprocal(x)", "1 / x"), ("np.partition(x, 2)", r"np\.sort\(x\)"), ("np.add.reduce(x)", r"np\.sum"),
          ("math.prod(x)", r"np\.prod"), ("'a b'.split()", "outside of the function"), ("x[0].tolist()", r"float\(x\)"),
          ("np.split(x, 2)", r"x\[i \* n:"), ("np.hsplit(x, 2)[0]", r"np\.split"),
          ("np.piecewise(x, [x > 1], [1, 2])", r"np\.where"), ("np.zeros((2, 2, 2, 2))", "1 to 3 dimensions")]


def function(text):
    return support.define(f"def f(x):\n    return {text}\n", f"<kinds {text}>")


class Kinds(support.Comparisons):
    def compare_all(self, texts, fit, arrays):
        warnings.simplefilter("ignore")  # those of NumPy for arrays without elements
        for text in (each.strip() for each in texts.split("|")):
            f = function(text)
            for x in arrays:
                with self.subTest(text, dtype=x.dtype.name):
                    self.compare(f, x, fit=fit)
                    if "x[0]" not in text and x.dtype in ("f8", "i2", "?"):
                        self.compare(f, x[:0].copy(), fit=fit)

    def test_exact(self):
        self.compare_all(EXACT, support.same_bits, ARRAYS)

    def test_close(self):
        self.compare_all(CLOSE, support.nearly, ARRAYS)

    def test_of_reals(self):
        self.compare_all(OF_REALS, support.nearly, [x for x in ARRAYS if x.itemsize > 1])

    def test_refused(self):
        for text, code in REFUSED:
            with self.subTest(text, code=code), self.assertRaises(dhpvm.TranslationError):
                dhpvm.jit(function(text))(np.ones(6, code))

    def test_advice(self):
        for text, advice in ADVICE:
            with self.subTest(text), self.assertRaisesRegex(dhpvm.TranslationError, advice):
                dhpvm.jit(function(text))(np.ones(6))

    def test_distance_of_small_integers(self):
        x, y = np.array([3, 200], np.uint8), np.array([200, 0], np.uint8)
        self.assertEqual(dhpvm.jit(lambda x, y: math.dist(x, y))(x, y), math.dist(x, y))


if __name__ == "__main__":
    support.main()
