#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists that grow, comprehensions, lambda, text as an argument, and arguments that are assigned or returned."""

import io
from contextlib import redirect_stdout

import numpy as np
import support

import dhpvm
from dhpvm import prange

X = np.random.default_rng(0).random(40)
squared = lambda x: x * x + 1  # noqa: E731: what is tested


def lists(v):
    places, values = [], []
    for i in range(len(v)):
        if v[i] > 0.5:
            places.append(i)
            values.append(v[i])
    total = 0
    for k in places:
        total += k
    places[0] = 7
    places.append(2)
    last = places.pop()
    return np.array(places), len(values), places[0], places[-1], sum(places), total, max(places), last, np.array(values)


def doubled_until(n):
    found = [1, 2.5]
    while len(found) < n:
        found.append(found[-1] * 2)
    return np.array(found), np.mean(found)


def comprehensions(v):
    kept = np.array([i * y for i, y in enumerate(v) if y > 0.3])
    s = sum(x * 2 for x in v) + 1
    largest = max([abs(y) for y in v])
    squares = [x * x for x in v]
    some = any(v[i] > 0.9 or v[i + 1] > 2 for i in range(len(v)))
    return kept, s, some, all(y >= 0 for y in v), largest, np.array(squares), \
        np.array([i * j for i in range(3) for j in range(i)]), sum(x > 0.5 for x in v)


def sums_in_parallel(v):
    r = np.empty(len(v))
    for i in prange(len(v)):
        r[i] = sum(v[j] * v[i] for j in range(i))
    return r


def own_names(x):
    y = np.array([x for x in x])
    return y, x[0]


def elements_of_results(v):
    order = np.argsort(v)[::-1]
    bins = np.histogram(v, 5, (0.0, 1.0))
    return v[order[:5]], np.where(v > 0.5)[0], np.unique(order, return_counts=True)[1], bins[0], bins[1], \
        np.sort(v)[::-1][:3].copy()


def lambdas(x):
    scaled = lambda y: y * k  # noqa: E731
    k = 3.0
    return squared(x[0]) + scaled(2.0), scaled(x)


def reduced(v, how="max"):
    if how == "max":
        return v.max()
    return v.min() if how in ("min", "least") else np.nan


def of_mode(v):
    return np.convolve(v, v[:3], mode="same"), reduced(v, "least")


def swapped(u, v, n):
    for _ in range(n):
        v[1:-1] = 0.5 * (u[2:] + u[:-2])
        u, v = v, u
    return u


def integrated(y, n):
    t = 0.0
    for _ in range(n):
        k = 0.1 * (t - y)
        y = y + k
        t += 0.1
    return y


def jacobi(a, n):
    b = np.zeros_like(a)
    for _ in range(n):
        for i in prange(1, len(a) - 1):
            b[i] = 0.5 * (a[i - 1] + a[i + 1])
        a, b = b, a
    return b


def maybe_copied(y, is_copied):
    if is_copied:
        y = y.copy()
    y[0] = 42
    return y


def shadowed(x):
    i = 5
    s = sum(i for i in range(4))
    t = np.array([x for x in range(3)])
    return i, s, t, x[0]


def said(v, how):
    print(f"{{{how}}} {v.mean():.3f} of {len(v)}: {len(v) > 2}", "is", how)


@dhpvm.jit
def raised(x):
    x[0] += 1
    return x.copy()


def after_its_reads(x):
    first = x[0] + raised(x)[0]
    second = raised(x)[0] * x[0]
    third = sum([len(raised(x)) for i in range(3)]) + x[0]
    return first, second, third


def before_its_reads(x):
    return x[0] + sum([len(raised(x)) for i in range(3)])


class Comprehensions(support.Comparisons):
    def test_what_changes_arrays_stays_in_its_place(self):
        self.compare(after_its_reads, X)
        with self.assertRaisesRegex(dhpvm.TranslationError, "write a loop"):
            dhpvm.jit(before_its_reads)(X.copy())

    def test_lists_and_comprehensions(self):
        self.compare(lists, X)
        self.compare(doubled_until, 6)
        self.compare(comprehensions, X)
        self.compare(sums_in_parallel, X)
        self.compare(own_names, X)
        self.compare(shadowed, X)
        self.compare(elements_of_results, X)

    def test_lambdas_and_text(self):
        self.compare(lambdas, X)
        self.compare(reduced, X)
        for how in ("min", "least", "other", 3):
            self.compare(reduced, X, how)
        self.compare(of_mode, X, fit=lambda a, b: np.allclose(a[0], b[0]) and a[1] == b[1])

    def test_printed(self):
        texts = []
        for function in (said, dhpvm.jit(said)):
            with redirect_stdout(io.StringIO()) as out:
                function(X, "mean")
            texts.append(out.getvalue())
        self.assertEqual(*texts)

    def test_parameters_that_are_assigned(self):
        for n in range(4):
            self.compare(swapped, X[:8] ** 2, X[:8], n)
            self.compare(integrated, X, n)
            self.compare(jacobi, X, n)
        self.compare(maybe_copied, X, True)
        self.compare(maybe_copied, X, False)

    def test_arguments_that_are_returned(self):
        @dhpvm.jit
        def grown(v, w, p):
            v += 1
            p["a"] += w
            return v, 2 * w, p

        v, p = np.zeros(3), np.zeros(3, [("a", "f8"), ("b", "i4")])
        results = grown(v, 2.0, p)
        self.assertIs(results[0], v)
        self.assertIs(results[2], p)
        self.assertEqual((v[0], results[1], p[1]["a"]), (1, 4, 2))


if __name__ == "__main__":
    support.main()
