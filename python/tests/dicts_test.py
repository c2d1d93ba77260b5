#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dictionaries of numbers in compiled functions."""


import support
import numpy as np

import dhpvm
from dhpvm import prange


def counts(x):
    seen = {}
    for v in x:
        if v in seen:
            seen[v] += 1
        else:
            seen[v] = 1
    total = 0
    for k, n in seen.items():
        total += 1000 * k + n
    for k in seen:
        total = 3 * total + k
    for n in seen.values():
        total = 5 * total - n
    return total, len(seen)


def by_get(x):
    seen = {}
    for i in range(len(x)):
        seen[x[i]] = seen.get(x[i], 0.0) + 0.5
    return np.sort(np.array(list(seen.keys()))), sum(seen.values()), max(seen.values())


def first_places(x):
    places = dict()
    for i, v in enumerate(x):
        if v not in places:
            places[v] = i
    removed = places.pop(x[0])
    if 3 in places.keys():
        del places[3]
    before = len(places)
    places.clear()
    return removed, before, len(places)


def by_text(x):
    weights = {"low": 0.5, "high": 2}
    weights["other"] = x
    weights["low"] *= 3
    total = 0.0
    for w in weights.values():
        total += w
    return weights["low"] + 10 * weights["high"], total, "none" in weights, "other" in weights


def changed_meanwhile(n):
    d = {0: 1, 1: 10}
    total = 0
    for k, v in d.items():
        d[1] = 100 + n
        total += k + v
    return total


def missing(x):
    d = {1: 2}
    return d[x]


def removes(x):
    d = {1: 2}
    del d[x]
    return len(d)


def floats(x):
    d = {0.5: 1}
    d[x] = 2
    return len(d), d[0.5]


def narrow(x):
    d = {}
    for v in x:
        d[v] = v
    return len(d), d[x[0]]


def with_defaults(n):
    d = {}
    for i in range(n):
        d.setdefault(i % 3, 0.5)
        d[i % 3] += d.setdefault(i, i)
    e = {1: 7, 90: 2}
    d.update(e)
    a = d.pop(1, -1) + d.pop(1, -1.5) + d.pop(1000, 3)
    if d and not d.pop(90, 0) == 2:
        a += 100
    return a, len(d), sum(d.values()), np.array(list(d.keys()))


def of_nothing_else(n):
    d = {}
    d.setdefault(n, n * 2)
    e = {}
    e.update(d)
    return e[n], e.pop(7, 1), bool(e)


class Dictionaries(support.Comparisons):
    def test_results(self):
        numbers = np.random.default_rng(1).integers(-3, 6, 50)
        for function in (counts, by_get, first_places):
            self.compare(function, numbers)
            self.compare(function, np.array([3, 3, 1]))
        self.compare(by_text, 7.0)
        self.compare(changed_meanwhile, 5)
        self.compare(floats, 0.5)
        self.compare(floats, 1.5)
        for kind in (np.int8, np.uint16, np.float32):
            self.compare(narrow, np.array([3, 3, 1], kind))

    def test_missing_keys(self):
        for function in (missing, removes):
            with self.assertRaisesRegex(KeyError, "7") as caught:
                dhpvm.jit(function)(7)
            self.assertEqual([frame.function for frame in caught.exception.frames], [function.__name__])

    def test_defaults(self):
        for n in (3, 9):
            self.compare(with_defaults, n)
        self.compare(of_nothing_else, 3)

    def test_with_and_without_a_default(self):
        def f(k):
            d = {1: 2, 3: 4}
            return d.pop(1), d.pop(k, 9), d.setdefault(3, 5), d.setdefault(5, 6), len(d)

        self.compare(f, 7)

    def test_errors(self):
        def in_prange(x):
            d = {}
            for i in prange(len(x)):
                d[i] = x[i]

        def of_dictionaries(x):
            d = {}
            e = {1: 2.0}
            d[0] = e

        def pairs(x):
            d = {}
            d[0, x[1]] = x[0]

        def mixed(x):
            d = {1: 2}
            d["a"] = 3

        def returned(x):
            d = {"a": 2}
            return d

        for function, message in ((in_prange, "fill arrays"), (of_dictionaries, "arrays or lists here, and this is"),
                                  (pairs, "tuples of integers"), (mixed, "elsewhere"),
                                  (returned, "return arrays of what is in it")):
            with self.subTest(function.__name__), self.assertRaisesRegex(dhpvm.TranslationError, message):
                dhpvm.jit(function)(np.zeros(3))


if __name__ == "__main__":
    support.main()
