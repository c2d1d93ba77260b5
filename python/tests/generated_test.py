#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random functions give the same bits in Python and compiled. DHPVM_SEED and DHPVM_RUNS choose others, and more."""

import os
import random
import unittest

import numpy as np
import support

import dhpvm

SEED = int(os.environ.get("DHPVM_SEED", "1"))
RUNS = int(os.environ.get("DHPVM_RUNS", "60"))
TYPES = (np.int32, np.int64, np.uint8, np.int16, np.float32, np.float64)


class Generator:
    """Writes a function `f(a, b, n, x, y)` of two numbers, a small integer, and two arrays; it writes to y.

    Variables and choices are made floats: in Python the type of their values may change, compiled they have one.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.floats, self.integers = ["a", "b"], ["n"]
        self.lines = []

    def pick(self, *choices):
        return self.random.choice(choices)

    def integer(self, depth=3):
        """An integer that stays small, so that Python's and ours are the same."""
        if depth == 0 or self.random.random() < 0.2:
            return self.pick(*self.integers, str(self.random.randint(0, 9)))
        left, right = self.integer(depth - 1), self.integer(depth - 1)
        form = self.pick("({} + {}) % 1000", "({} - {}) % 77", "({} * {}) % 501", "({}) // (abs({}) + 1)",
                         "({}) & ({})", "({}) | ({})", "({}) ^ ({})", "min({}, {})", "max({}, {})",
                         "-({}) + ({})", "(({}) << 2) - ({})", "int({} * 0.5) + ({})")
        return f"({form.format(left, right)})"

    def number(self, depth=3):
        if depth == 0 or self.random.random() < 0.15:
            return self.pick(*self.floats, *self.integers, "0.5", "-1.25", "3", "x[i % len(x)]", "x[-1]")
        left, right = self.number(depth - 1), self.number(depth - 1)
        form = self.pick("{} + {}", "{} - {}", "{} * {}", "{} / ({} * 0.0 + 3.5)",
                         "min(float({}), float({}))", "max(float({}), float({}))",
                         "({}) // (abs({}) + 1.5)", "({}) % (abs({}) + 0.75)", "-({}) + {}",
                         f"float({{}}) if {self.condition(depth - 1)} else float({{}})", "np.sqrt(abs(float({}))) + {}",
                         "np.floor({}) - {}", "np.float32({}) * {}", "math.fabs({}) * {}", "({}) ** 2 - {}")
        return f"({form.format(f'({left})', f'({right})')})"

    def condition(self, depth=2):
        kind = self.random.random()
        if depth > 0 and kind < 0.3:
            return f"({self.condition(depth - 1)} {self.pick('and', 'or')} {self.condition(depth - 1)})"
        if depth > 0 and kind < 0.4:
            return f"(not {self.condition(depth - 1)})"
        operator = self.pick("<", "<=", ">", ">=", "==", "!=")
        return f"({self.integer(1)} {operator} {self.integer(1)})"

    def emit(self, depth, text):
        self.lines.append("    " * depth + text)

    def statements(self, depth, level):
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.random()
            if kind < 0.3:
                self.emit(depth, f"{self.pick('s', 't')} = float({self.number()}) * 0.01")
            elif kind < 0.45:
                self.emit(depth, f"k = {self.integer()}")
            elif kind < 0.55:
                self.emit(depth, f"s, t = t, float({self.number(2)}) * 0.01")
            elif kind < 0.65:
                self.emit(depth, f"{self.pick('s', 't')} {self.pick('+=', '-=')} float({self.number(2)}) * 0.01")
            elif kind < 0.8 and level:
                self.emit(depth, f"if {self.condition()}:")
                self.statements(depth + 1, level - 1)
                if self.random.random() < 0.5:
                    self.emit(depth, "else:")
                    self.statements(depth + 1, level - 1)
            elif level:
                self.emit(depth, f"for j in range({self.integer(1)} % 5):")
                self.emit(depth + 1, f"k = (k + j * {self.random.randint(1, 5)}) % 100")
                self.statements(depth + 1, level - 1)
            else:
                self.emit(depth, "y[i] += s * 0.001")

    def function(self):
        self.emit(0, "def f(a, b, n, x, y):")
        self.emit(1, "total = 0")
        self.emit(1, f"for i in {self.pick('range', 'dhpvm.prange')}(len(y)):")
        self.integers += ["i", "k"]
        self.floats += ["s", "t"]
        self.emit(2, "k = i")
        self.emit(2, f"s = {self.pick('0.0', 'float(a)', 'float(b * 2)')}")
        self.emit(2, f"t = {self.pick('1.0', 'float(b)', 'float(a + i)')}")
        self.statements(2, 2)
        self.emit(2, "y[i] = s - t + k")
        self.emit(2, "total += k")
        self.emit(1, "return total, n")
        return "\n".join(self.lines) + "\n"


def same(a, b):
    a, b = np.asarray(a), np.asarray(b)
    return bool(((a == b) | ((a != a) & (b != b))).all())


class Random(unittest.TestCase):
    def test_functions(self):
        for seed in range(SEED, SEED + RUNS):
            text = Generator(seed).function()
            chosen = random.Random(seed)
            a, b = chosen.choice([(1.5, -0.25), (3, 7), (np.float32(0.3), 2.5), (-2, 0.125)])
            x = np.random.default_rng(seed).integers(1, 100, 7).astype(chosen.choice(TYPES))
            function = support.define(text, f"<generated {seed}>")
            expected, found = np.zeros(9, np.float64), np.zeros(9, np.float64)
            with self.subTest(seed=seed):
                with np.errstate(all="ignore"):
                    try:
                        result = function(a, b, 5, x, expected)
                    except (OverflowError, ZeroDivisionError):
                        continue  # an int that does not fit into a number of NumPy, which is documented
                compiled = dhpvm.jit(function)
                self.assertEqual(compiled(a, b, 5, x, found), result, text)
                self.assertTrue(same(expected, found), f"{text}\n  Python    {expected}\n  compiled  {found}")


if __name__ == "__main__":
    support.main()
