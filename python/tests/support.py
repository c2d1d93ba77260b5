# SPDX-License-Identifier: Apache-2.0
"""The common part of the tests. A test that cannot run here ends with 77 and says why."""

import dataclasses
import faulthandler
import linecache
import math
import sys
import unittest

faulthandler.enable()

try:
    import numpy as np
except ImportError:
    print("skipped: NumPy is missing")
    sys.exit(77)

import dhpvm


def _is_pythons(value):
    return value is None or isinstance(value, (list, dict, set))


def _has_arrays(value):
    items = value.values() if isinstance(value, dict) else value
    return isinstance(value, (list, dict)) and any(isinstance(each, np.ndarray) for each in items)


def _all(fit, a, b):
    """Whether both are lists of equal items, or dictionaries with equal keys and values."""
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and _all(fit, list(a.values()), list(b.values()))
    return isinstance(a, list) and isinstance(b, list) and len(a) == len(b) and all(map(fit, a, b))


def _copy(value):
    return value.copy() if isinstance(value, np.ndarray) else list(map(_copy, value)) if isinstance(value, list) else \
        value


def same_bits(a, b):
    """Whether two results are the same: arrays by their type, too, numbers by its kind: all come back as Python's."""
    if _has_arrays(a) or _has_arrays(b):
        return _all(same_bits, a, b)
    if _is_pythons(a) or _is_pythons(b):
        return type(a) is type(b) and a == b
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and same_bits(tuple(vars(a).values()), tuple(vars(b).values()))
    if isinstance(a, tuple) or isinstance(b, tuple):
        return type(a) is type(b) and len(a) == len(b) and \
            all(same_bits(x, y) for x, y in zip(a, b))
    is_array = isinstance(a, np.ndarray)
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype.names:
        return a.dtype == b.dtype and all(same_bits(a[name], b[name]) for name in a.dtype.names)
    kinds = [each.dtype if is_array else each.dtype.kind.replace("u", "i") for each in (a, b)]
    if a.shape != b.shape or kinds[0] != kinds[1]:
        return False
    both_nan = (a != a) & (b != b)
    if a.dtype.kind == "c":
        return same_bits(a.real, b.real) and same_bits(a.imag, b.imag)
    signs = np.ones(1) if a.dtype.kind in "bU" else np.copysign(1, a) == np.copysign(1, b)
    return bool(((a == b) & signs.astype(bool) | both_nan).all())


def nearly(a, b, tolerance=1e-9):
    """Whether two results have the same types and shapes, and numbers up to rounding."""
    if _has_arrays(a) or _has_arrays(b):
        return _all(nearly, a, b)
    if _is_pythons(a) or _is_pythons(b):
        return type(a) is type(b) and a == b
    if dataclasses.is_dataclass(a):
        return type(a) is type(b) and nearly(tuple(vars(a).values()), tuple(vars(b).values()), tolerance)
    if isinstance(a, tuple) or isinstance(b, tuple):
        return type(a) is type(b) and len(a) == len(b) and \
            all(nearly(x, y, tolerance) for x, y in zip(a, b))
    are_arrays = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype and (are_arrays or a.dtype.kind != b.dtype.kind):
        return False
    is_short = "f4" in (a.dtype.str[1:], b.dtype.str[1:]) or "c8" in (a.dtype.str[1:], b.dtype.str[1:])
    if a.dtype.names:
        return a.dtype == b.dtype and all(nearly(a[name], b[name], tolerance) for name in a.dtype.names)
    return a.shape == b.shape and np.allclose(a, b, 1e-5 if is_short else tolerance, 1e-12, equal_nan=True)


class Cases:
    """The functions of a file, with arguments for each: `@case(2.0, fit=support.nearly)`."""

    def __init__(self, fit=same_bits):
        self._all, self._fit = [], fit

    def __call__(self, *arguments, fit=None):
        """The function is tested with these arguments."""
        def add(function):
            self._all.append((function, arguments, fit or self._fit))
            return function
        return add

    def compare(self, test):
        for function, arguments, fit in self._all:
            test.compare(function, *arguments, fit=fit)

    def compare_errors(self, test):
        """The functions raise the same exception, with the same text, in Python and compiled."""
        for function, arguments, _ in self._all:
            with test.subTest(function.__name__):
                with test.assertRaises(Exception) as expected:
                    function(*_copy(list(arguments)))
                with test.assertRaises(type(expected.exception)) as found:
                    dhpvm.jit(function)(*_copy(list(arguments)))
                test.assertEqual(str(found.exception).partition("\n")[0], str(expected.exception))


def define(text, name):
    """The function `f` of a text that a generator wrote."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names = {"np": np, "math": math, "dhpvm": dhpvm}
    exec(compile(text, name, "exec"), names)  # noqa: S102: what a generator wrote
    return names["f"]


class Comparisons(unittest.TestCase):
    """Tests that call functions in Python and compiled."""

    compiled = {}

    def compare(self, function, *arguments, fit=same_bits):
        """Calls it in both with equal arguments: the results and what it writes are the same."""
        own, theirs = _copy(list(arguments)), _copy(list(arguments))
        compiled = self.compiled.setdefault(function, dhpvm.jit(function))
        with np.errstate(all="ignore"):
            expected = function(*own)
            found = compiled(*theirs)
        with self.subTest(function.__name__, arguments=arguments):
            self.assertTrue(fit(found, expected), f"\n  Python    {expected}\n  compiled  {found}")
            for x, y in zip(own, theirs):
                is_rounded = fit is nearly and isinstance(x, np.ndarray) and not x.dtype.names
                self.assertTrue((nearly if is_rounded else same_bits)(x, y), f"\n  Python    {x}\n  compiled  {y}")


def main():
    unittest.main(verbosity=0)
