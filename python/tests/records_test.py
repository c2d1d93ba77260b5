#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Arguments that are taken apart: records and tuples; and arrays of the surroundings."""

import numpy as np
import support

import dhpvm
from dhpvm import prange

PARTICLE = np.dtype([("x", "f8"), ("y", "f8"), ("m", "f4"), ("id", "i4"), ("name", "U3"), ("old", ">f8")])
WEIGHTS = np.array([0.25, 0.5, 0.25])
SETTINGS = {"rows": np.arange(6).reshape(2, 3)}
COUNTS = np.zeros(3)


def fields(p):
    s = 0.0
    for i in range(len(p)):
        s += p[i]["x"] * p["y"][i] + p[-1]["id"]
    return s, p["x"].sum(), p["m"].max(), p.shape[0], p.size, p["x"][1:][::-1].copy()


def written(p, step):
    for i in prange(len(p)):
        p[i]["x"] = p[i]["x"] + p["m"][i] * step
        p["y"][i] *= 2
    p["id"][1:] = 7
    q = p[0]
    q["m"] = 3
    for r in p:
        r["x"] += q["m"]
    p[1] = p[2]
    part = p[2:]
    part["x"] = -1
    return p["x"].sum()


def of_recarray(p):
    s = 0.0
    for i in range(p.shape[0]):
        s += p[i].x * p.y[i]
    for r in p[::2]:
        s -= r.m
    for k, r in enumerate(p):
        s += k * r.id
    return s


def passed_on(p):
    return energy(p[1]) + energy(p[0]) + total(p[1:]) + total(p)


def energy(r):
    return r["m"] * (r["x"] ** 2 + r["y"] ** 2)


def total(p):
    return p["x"].sum()


def grid(p):
    s = 0.0
    for i in prange(p.shape[0]):
        for j in range(p.shape[1]):
            s += p[i, j]["x"] - p["y"][i, j]
        s += p[i, 0].id
    return s


def both(p, q):
    for i in prange(len(p)):
        p["x"][i] += q["y"][i]


def tuples(shape, pair):
    out = np.zeros(shape)
    rows, columns = shape
    x, (k, y) = pair[0], pair[1]
    for i in range(rows):
        out[i] = x[:columns] * k + y
    return out, sum(shape), area(shape, scale=pair[1][1])


def area(shape, scale):
    return shape[0] * shape[1] * scale


def filtered(x):
    out = np.zeros(len(x) - 2)
    for i in prange(len(out)):
        for k in range(len(WEIGHTS)):
            out[i] += x[i + k] * WEIGHTS[k]
    return out, mixed(out), WEIGHTS * 2, SETTINGS["rows"].sum(axis=0)


def mixed(x):
    return (x[:2] * SETTINGS["rows"][0, 1:]).sum() + deep(3)


def deep(n):
    return WEIGHTS[n % 3] if n == 0 else deep(n - 1)


def writes_outside(x):
    COUNTS[0] = x


def writes_outside_in_a_call(x):
    set_first(COUNTS, x)


def set_first(a, x):
    a[0] = x


def returns_outside():
    return COUNTS


def no_field(p):
    return p["z"].sum()


def some(p, order):
    return p[order]["x"]


def particles(n):
    random = np.random.default_rng(n)
    p = np.zeros(n, PARTICLE)
    for name in ("x", "y", "m"):
        p[name] = random.integers(0, 64, n) / 8  # so that sums are exact
    p["id"], p["name"] = np.arange(n), "abc"
    return p


class Arguments(support.Comparisons):
    def test_records(self):
        for n in (3, 10):
            self.compare(fields, particles(n))
            self.compare(passed_on, particles(n))
            self.compare(of_recarray, particles(n).view(np.recarray))
        p, q = particles(5), particles(5)
        self.assertEqual(dhpvm.jit(written)(p, 0.5), written(q, 0.5))
        self.assertTrue((p == q).all())
        many = np.zeros((3, 4), PARTICLE)
        many["x"] = 0.25
        self.compare(grid, many.view(np.recarray))

    def test_records_that_do_not_fit(self):
        compiled, p = dhpvm.jit(fields), particles(4)
        self.assertTrue(support.same_bits(compiled(p), compiled(p)))
        self.assertEqual(len(compiled.signatures()), 1)
        other = np.zeros(4, [("id", "i4"), ("y", "f8"), ("x", "f4"), ("m", "f4")])
        compiled(other)
        self.assertEqual(len(compiled.signatures()), 2)
        p.flags.writeable = False
        compiled(p)
        self.assertRaisesRegex(ValueError, "read-only", dhpvm.jit(written), p, 0.5)
        p = particles(4)
        self.assertRaisesRegex(ValueError, "share memory", dhpvm.jit(both), p, p)
        dhpvm.jit(both)(p, particles(4))
        self.assertRaisesRegex(ValueError, "share memory", dhpvm.jit(both), p[1:], p[:-1])
        for function, arguments, text in ((no_field, (p,), "no field 'z' of numbers; there are x, y, m, id"),
                                          (fields, (np.zeros(3, [("name", "U3")]),), "such records"),
                                          (some, (p, np.array([1])), "for one field")):
            self.assertRaisesRegex(dhpvm.TranslationError, text, dhpvm.jit(function), *arguments)

    def test_tuples(self):
        self.compare(tuples, (2, 3), (np.arange(5.0), (2, 0.5)))
        compiled = dhpvm.jit(area)
        for shape, scale in (((2, 3), 4), ((2, 3.0), 4), ((np.float32(2), 3), 4), ((2, 3, 4), 1)):
            self.assertEqual(compiled(shape, scale), area(shape, scale))
        self.assertEqual(len(compiled.signatures()), 4)
        self.assertRaisesRegex(dhpvm.TranslationError, r"'shape\[1\]' is of type str", compiled, (2, "ä"), 1)

    def test_arrays_of_the_surroundings(self):
        self.compare(filtered, np.arange(9.0))
        compiled, x = dhpvm.jit(filtered), np.arange(9.0)
        first = compiled(x)
        WEIGHTS[1] = 0.75
        self.assertTrue(support.same_bits(compiled(x), filtered(x)))
        self.assertFalse(support.same_bits(compiled(x), first))
        WEIGHTS[1] = 0.5
        for function, arguments in ((writes_outside, (1.0,)), (writes_outside_in_a_call, (1.0,))):
            self.assertRaisesRegex(dhpvm.TranslationError, "'COUNTS' is an array of the surroundings",
                                   dhpvm.jit(function), *arguments)
        self.assertRaisesRegex(dhpvm.TranslationError, "the caller has 'COUNTS' already", dhpvm.jit(returns_outside))


if __name__ == "__main__":
    support.main()
