#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random functions of arrays and views give what NumPy gives. DHPVM_SEED and DHPVM_RUNS choose others, and more."""

import os
import random
import unittest

import numpy as np
import support

import dhpvm

SEED = int(os.environ.get("DHPVM_SEED", "1"))
RUNS = int(os.environ.get("DHPVM_RUNS", "40"))
# Slices of arrays with n elements, by how many fewer they have; the names are variables of the function.
SLICES = {0: ["", "[:]", "[::-1]", "[...]", "[0:]", "[:n]", "[-n:]", "[-40:40]"],
          1: ["[1:]", "[:-1]", "[:n - 1]", "[one:]", "[-2::-1]", "[:0:-1]"],
          3: ["[1:-2]", "[2:-1]", "[3:]", "[:-3]", "[one:n - 2]", "[1:][1:-1]", "[::-1][3:]", "[-2:0:-1][:n - 3]"]}


class Generator:
    """Writes a function `f(a, b, m, n)` of two vectors of n numbers and a matrix with n columns, and writes to them.

    Numbers stay small integers, so that all results are exact in every order."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.vectors, self.scalars = ["a", "b"], ["n", "one", "2", "s"]
        self.lines, self.count = [], 0

    def pick(self, *choices):
        return self.random.choice(choices)

    def vector(self, fewer):
        """A view of a vector or of a row, with n - fewer elements."""
        name = self.pick(*self.vectors, "m[0]", "m[-1]", "m[one]", "m.T[:, 0]", "m[:, ::-1][1]")
        return name + self.pick(*SLICES[fewer])

    def expression(self, leaf, depth=2):
        if depth == 0 or self.random.random() < 0.2:
            return leaf() if self.random.random() < 0.8 else self.number(0)
        left, right = self.expression(leaf, depth - 1), self.expression(leaf, depth - 1)
        form = self.pick("({} + {}) % 17", "({} - {}) % 13", "({} * {}) % 11", "np.where({0} > 3, {0}, {1})",
                         "np.minimum({}, {})", "np.maximum({}, {})", "np.abs(-{}) + {} * 0",
                         "np.clip({}, 1, 5) + {} % 7", "({} // 2 + {}) % 19")
        return f"({form.format(left, right)})"

    def array(self, leaf, depth=2):
        """An expression that is an array for sure."""
        return f"({self.expression(leaf, depth)} + {leaf()}) % 23"

    def number(self, depth=1):
        if depth == 0 or self.random.random() < 0.3:
            return self.pick(*self.scalars)
        fewer = self.pick(0, 1, 3)
        what = self.array(lambda: self.vector(fewer), 1)
        form = self.pick("np.sum({})", "({}).sum()", "({}).max()", "np.min({})", "({}).argmax()", "np.argmin({})",
                         "np.cumsum({})[-1]", "np.sum({} > 4)", "len({})")
        return f"(({form.format(what)}) % 29)"

    def matrix(self):
        return self.pick("m", "m[:, ::-1]", "m[::-1]", "m[:, :]", self.pick(*self.vectors),
                         f"{self.pick('a', 'b')}[None, :]", "m[:, 0][:, None]", "m.sum(axis=0)",
                         "m.max(axis=1)[:, None]", "m.T.T")

    def statement(self, depth):
        pad, kind = "    " * depth, self.random.random()
        fewer = self.pick(0, 1, 3)
        if kind < 0.3:
            target = self.pick("a", "b", "m[1]", "m[one]") + (self.pick(*SLICES[fewer]) or "[:]")
            operator = self.pick("=", "=", "+=", "-=")
            self.lines.append(f"{pad}{target} {operator} {self.array(lambda: self.vector(fewer))}")
        elif kind < 0.4:
            self.lines.append(f"{pad}m[:] = (m + {self.expression(self.matrix)}) % 31")
        elif kind < 0.5:
            self.lines.append(f"{pad}m[:, {self.pick('0', '-1', 'one')}] = m[:, 1] + {self.number()}")
        elif kind < 0.6:
            self.lines.append(f"{pad}s = (s + {self.number()}) % 37")
        elif kind < 0.7 and depth == 1:
            self.count += 1
            name = f"v{self.count}"
            self.lines.append(f"{pad}{name} = {self.pick(self.vector(0), self.array(lambda: self.vector(0)))}")
            self.vectors.append(name)
        elif kind < 0.8 and depth == 1:
            self.count += 1
            row = f"row{self.count}"
            self.lines.append(f"{pad}for {row} in m:")
            self.lines.append(f"{pad}    {row}[{self.pick('0', '-1', 'one')}] = {self.number()}")
            self.lines.append(f"{pad}    {row} += {self.array(lambda: self.pick(*self.vectors), 1)}")
        elif depth == 1:
            self.lines.append(f"{pad}for i in range(2):")
            self.statement(2)
            self.statement(2)
        else:
            self.lines.append(f"{pad}s += i")

    def function(self):
        self.lines = ["def f(a, b, m, n):", "    s = 1.0", "    one = 1"]
        for _ in range(self.random.randint(2, 7)):
            self.statement(1)
        self.lines.append(f"    return s, {self.array(lambda: self.vector(0))}, {self.array(self.matrix)} + m")
        return "\n".join(self.lines) + "\n"


class Random(unittest.TestCase):
    def test_functions(self):
        for seed in range(SEED, SEED + RUNS):
            text = Generator(seed).function()
            function = support.define(text, f"<generated arrays {seed}>")
            chosen = np.random.default_rng(seed)
            n = int(chosen.choice([5, 7, 31]))
            a, b, m = (chosen.integers(0, 9, shape).astype(float) for shape in (n, n, (n, n)))
            # Both vectors may be the same array.
            is_one = seed % 4 == 0
            sets = []
            for call in (function, dhpvm.jit(function)):
                own = [a.copy(), b.copy(), m.copy()]
                if is_one:
                    own[1] = own[0]
                sets.append((call(*own, n), *own))
            with self.subTest(seed=seed):
                self.assertTrue(support.same_bits(*sets), f"{text}\n  Python    {sets[0]}\n  compiled  {sets[1]}")


if __name__ == "__main__":
    support.main()
