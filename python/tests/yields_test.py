#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loops over generators: functions that yield."""

import support
from support import np

import dhpvm
from dhpvm import prange

case = support.Cases()
X = np.random.default_rng(3).normal(size=40)


def evens(n):
    i = 0
    while i < n:
        yield i
        i += 2


def products(x, k=3):
    """Has loops in each other, and is left early."""
    for i in range(len(x)):
        for j in range(k):
            if x[i] < -1.5:
                return
            if j == 2 and x[i] > 0.3:
                break
            yield x[i] * j


def several(n):
    yield -1
    for v in evens(n):
        if v > 8:
            return
        yield v * 10
    yield -2


def joined(n):
    yield from evens(n)
    yield from range(3)


def forever(a):
    while True:
        a = a * 3 + 1
        yield a


def pairs(x):
    for i in range(len(x)):
        for j in range(i + 1, len(x)):
            yield i, j, x[i] - x[j]


def with_else(n):
    for i in range(n):
        if i == 50:
            break
        yield i
    else:
        yield 100


def raising(x):
    for v in x:
        if v > 1:
            raise ValueError("too large")
        yield v


checked = dhpvm.jit(raising)


@case(7)
@case(0)
def collected(n):
    found = []
    for v in evens(n):
        found.append(v)
    return found, sum(evens(n)), max(list(evens(n + 1))), [v * v for v in evens(n) if v != 2], \
        any(v > 3 for v in evens(n))


@case(X, 2.0)
@case(np.abs(X), 0.5)
def left(x, limit):
    s, count = 0.0, 0
    for v in products(x):
        count += 1
        if v > limit:
            break
        if v < 0:
            continue
        s += v
    else:
        s = -s
    return s, count


@case(30)
@case(5)
def left_among_several(n):
    found, k = [], 0
    for v in several(n):
        if v == 20:
            continue
        found.append(v)
    for v in several(n):
        k += 1
        if v == 40:
            break
        k += 100
    return found, k


@case(6)
def from_others(n):
    found = [0]
    for v in joined(n):
        found.append(v)
    return found


@case(2, 1000)
def without_end(a, limit):
    n, v = 0, 0
    for v in forever(a):
        if v > limit:
            break
        n += 1
    return n, v, a


@case(X)
def tuples(x):
    best, largest, m = (0, 0), 0.0, 0
    for i, j, difference in pairs(x):
        if difference > largest:
            largest = difference
            best = (i, j)
    for k, (i, j, _) in enumerate(pairs(x[:5]), 1):
        m += k * (i + j)
    return best, largest, m


@case(X)
def of_its_own(x):
    def above(y, m):
        for t in y:
            if t > low:
                yield t * m
    low, s = 0.5, 0.0
    for v in above(x, 2):
        s += v
        for w in evens(5):
            if w > 2:
                break
            s += w
    return s


@case(3)
@case(60)
def after_else(n):
    s = 0
    for v in with_else(n):
        if v == 7:
            continue
        s += v
    for v in with_else(n):
        if v == 20:
            break
    else:
        s += 5
    return s


def position(x, limit):
    for i, v in enumerate(products(x)):
        if v > limit:
            return i
    return -1


@case(np.abs(X))
@case(X * 0)
def returned(x):
    return position(x, 0.4)


@case(X)
def in_parallel(x):
    out = np.zeros(len(x))
    for i in prange(len(x)):
        s = 0.0
        for v in evens(i):
            if v > 20:
                break
            s += x[v]
        out[i] = s
    return out


@case(5)
def assigned_meanwhile(n):
    x, found = n, []
    for v in evens(x):
        x = 100
        n = 1
        found.append(v)
    return found, n


@case(5)
def in_each_other(n):
    t = 0
    for a in evens(n):
        for b in evens(a):
            if b == 2:
                break
            t += a * b + 1
        else:
            t += 1000
    return t


@case(X)
@case(X * 0.01)
def caught(x):
    s = 0.0
    try:
        for v in raising(x):
            s += v
    except ValueError:
        s = -1.0
    return s


def calls_itself(n):
    yield n
    if n > 0:
        yield from calls_itself(n - 1)


def sends():
    x = yield 1
    yield x


def with_finally(n):
    try:
        yield n
    finally:
        print("done")


class Generators(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_compiled_ones(self):
        @dhpvm.jit
        def total(x):
            s = 0.0
            for v in checked(x):
                s += v
            return s
        self.assertAlmostEqual(total(X * 0.1), (X * 0.1).sum())
        self.assertRaisesRegex(ValueError, "too large", total, X + 1)

    def test_what_is_refused(self):
        def f(n):
            return sum(calls_itself(n))
        self._refuse("keep what is left to visit in a list", f)

        def f(n):
            return list(sends())
        self._refuse("only yields", f)

        def f(n):
            return sum(with_finally(n))
        self._refuse("write it around the loop", f)

        def f(n):
            g = evens(n)
            return next(g)
        self._refuse(r"for x in f\(..\)", f)

        def f(n):
            return sum(evens(n, 2))
        self._refuse("arguments one by one", f)

        def f(pairs):
            evens = 3
            return sum(doubled(pairs)) + evens
        self._refuse("uses 'evens', which is something else here", f)

    def _refuse(self, message, function):
        self.assertRaisesRegex(dhpvm.TranslationError, message, dhpvm.jit(function), 3)


def doubled(n):
    for v in evens(n):
        yield 2 * v


if __name__ == "__main__":
    support.main()
