# SPDX-License-Identifier: Apache-2.0
"""Statements that are written by others before they are translated: try that is left, match, nonlocal, reduce, parts of
arrays, and variables that are None or a tuple."""

import functools
import operator
from functools import reduce

import support
from support import np

import dhpvm

case = support.Cases()
errors = support.Cases()
X = np.arange(6.0) + 0.25


# ---- try with finally.

@case(X)
def returns(x):
    try:
        return x[0] + 1
    finally:
        x[1] = 5


@case(X)
def leaves_loops(x):
    n = 0
    for i in range(5):
        for j in range(5):
            try:
                if j == i:
                    continue
                if x[j] > 3:
                    return n, i, j
                if n > 1000:
                    break
                n += 1
            finally:
                n += 100
    return n, -1, -1


@case(X)
def leaves_handlers(x):
    for i in range(5):
        try:
            if i == 3:
                raise ValueError("a")
            y = 10 // (i - 1)
        except ZeroDivisionError:
            continue
        except ValueError:
            return i
        else:
            x[0] += y
        finally:
            x[1] += 1
    return -5


@case(X)
def in_each_other(x):
    try:
        try:
            return x[0] + 1
        finally:
            x[0] = 7
    finally:
        x[1] = 8


@case(X)
@case(X - 9)
def leaves_from_inside(x):
    try:
        for v in x:
            while True:
                if v > 2:
                    return v
                break
    finally:
        x[0] = 9
    return None


@case(X)
def finally_returns(x):
    try:
        return 1
    finally:
        return 2  # noqa: B012


def value_and_count(x):
    try:
        if x[0] > 100:
            return 0.5
        return x[0]
    finally:
        x[0] += 1


@case(X)
def of_called_functions(x):
    return value_and_count(x) + value_and_count(x) + x[0]


@case(X)
def returns_arrays(x):
    try:
        if x[0] > 100:
            return x * 2
        return x + 1
    finally:
        x[0] = 5


@case(X)
def left_by_an_exception(x):
    try:
        try:
            return x[int(x[0]) + 99]
        finally:
            x[0] = 5
    except IndexError:
        return x[0]


# ---- match.

@case(16)
def fizz_buzz(n):
    t = 0
    for i in range(n):
        match (i % 3, i % 5):
            case (0, 0):
                t += 1000
            case (0, _):
                t += 100
            case (_, 0):
                t += 10
            case _:
                t += 1
    return t


@case(X)
@case(X[:1])
def captures(x):
    t = 0.0
    for v in x:
        match int(v):
            case 0:
                continue
            case 1 | 2:
                t += 1
            case k if k > 4:
                t += 10 * k
            case k:
                t -= k
    return t


@case(X)
@case(X[:1])
def without_default(x):
    match len(x):
        case 1:
            return 1
    return 5


@case(3)
@case(1)
def keeps_names(n):
    match n:
        case k if k > 2:
            return 1
    return k


# ---- nonlocal.

@case(X)
def visits(x):
    count = 0
    best = -1.0
    seen = False

    def visit(i):
        nonlocal count, best, seen
        count += 1
        seen = True
        if x[i] > best:
            best = x[i]
        if i + 1 < len(x):
            visit(i + 1)
        if i + 2 < len(x):
            visit(i + 2)
    visit(0)
    return count, best, seen


@case(X)
def sums_so_far(x):
    s = 0

    def add(v):
        nonlocal s
        s += v
        return s
    out = np.zeros(len(x))
    for i in range(len(x)):
        out[i] = add(x[i])
    s = s * 2
    t, s = s, s + 1
    return out, s, t


@case(X)
def grows(x):
    a = x.copy()

    def grow():
        nonlocal a
        a = a * 2
    grow()
    grow()
    return a


# ---- reduce.

@case(X)
def greatest(x):
    return reduce(lambda a, b: a if a > b else b, x)


@case(X)
def folds(x):
    def f(a, b):
        return 2 * a + b
    return functools.reduce(f, [int(v) for v in x], 0) + 1, reduce(operator.mul, [2, 3], 10), reduce(max, x), reduce(
        operator.add, (v * v for v in x if v > 1), 0.0)


@errors(X[:0])
def folds_nothing(x):
    return reduce(lambda a, b: a + b, x)


# ---- Parts.

@case(X)
def halves(x):
    a, b = np.split(x, 2)
    a[0] = 50
    b += 1
    return a.sum() - b.sum(), np.split(x, 3)[1].copy()


@case(X, 2)
def at_places(x, n):
    a, b, c = np.split(x, [1, n + 1])
    return a[0], b[0], len(c)


@case(X)
@case(X[:2])
def unequal(x):
    a, b, c, d = np.array_split(x, 4)
    return len(a), len(b), len(c), len(d), a.sum(), d.sum()


@case(X)
def goes_over_parts(x):
    t = 0.0
    for part in np.split(x, 3):
        t = 2 * t + part[0]
    return t


@case(np.arange(24.0).reshape(4, 6))
def columns(a):
    left, right = np.split(a, 2, axis=1)
    return left.sum() - right.sum(), right[1, 1]


@errors(X)
def unequal_split(x):
    a, b, c, d = np.split(x, 4)
    return a[0] + b[0] + c[0] + d[0]


@case(X, 7.5)
@case(np.arange(4, dtype=np.int32), 7)
@case(X[:0], 1.0)
def differences(x, first):
    return np.diff(x, prepend=first), np.diff(x, append=x), np.diff(x, 2, prepend=0)


# ---- None or a tuple.

@case(X)
@case(X[:0])
def best_place(x):
    best = None
    for i in range(len(x)):
        if best is None or x[i] > best[1]:
            best = (i, x[i])
    return best


@case(X)
def last_of(x):
    last = None
    n = 0
    for v in x:
        if last is not None and last[0] > v:
            n += 1
        if not last:
            n += 10
        last = (v, n)
    a, b = last
    return n, a, b


@errors(X)
def none_has_no_items(x):
    best = None
    if x[0] > 100:
        best = (1, 2.0)
    return best[0]


@errors(X)
def none_is_not_unpacked(x):
    best = None
    if x[0] > 100:
        best = (1, 2.0)
    a, b = best
    return a


# ---- Items of lists that get another type.

@case(X)
def list_items(x):
    s, t, q = [0], [[0] * 2 for _ in range(3)], {0: [0, 0]}
    for v in x:
        s[0] += v
        t[int(v) % 3][0] += v
        q[0][1] += v
    xs = list(range(3))
    xs[-1] -= 0.5
    xs[0] *= 3
    return s[0], t[1][0], q[0][1], xs[2]


def add_to(s, v):
    s[0] += v
    return s[0]


@case(X)
def lists_of_called_functions(x):
    s = [0]
    for v in x:
        add_to(s, v)
    return s[0]


class Statements(support.Comparisons):
    def test_results(self):
        case.compare(self)

    def test_errors(self):
        errors.compare_errors(self)


if __name__ == "__main__":
    support.main()
