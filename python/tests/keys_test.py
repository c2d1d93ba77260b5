#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sorted, min and max with keys, comprehensions of dictionaries and sets, loops over comprehensions."""

import support
from support import np

import dhpvm

case = support.Cases()
X = np.random.default_rng(5).normal(size=30)
I = np.random.default_rng(5).integers(0, 9, 40)


@case(X, I)
def in_order(x, a):
    order = sorted(range(len(x)), key=lambda i: -abs(x[i]))
    by_value = sorted([(v, i) for i, v in enumerate(a)], key=lambda p: p[0], reverse=True)
    return order, by_value, sorted(x, key=abs)[:3], sorted(a, key=lambda v: v % 3)


@case(I)
def most_frequent(a):
    count = {}
    for v in a:
        count[v] = count.get(v, 0) + 1
    items = sorted(count.items(), key=lambda kv: (-kv[1], kv[0]))
    best = max(count, key=count.get)
    least = min(count.items(), key=lambda kv: kv[1])
    n = 0
    for k, v in sorted(count.items(), key=lambda kv: kv[1], reverse=True)[:3]:
        n = n * 10 + k
    for k, v in sorted(count.items()):
        n += k * v
    return items, best, least, n


@case(X)
def nearest(x):
    k = 3.0
    distance = lambda v: abs(v - k)  # noqa: E731: what is tested
    near = min(x, key=distance)
    far = max((v * 2 for v in x), key=lambda v: abs(v))
    none = max((v for v in x if v > 100), default=-1.0)
    some = min((v for v in x if v > 0), default=0.0)
    return near, far, none, some


@case(I)
def in_place(a):
    pairs = [(int(v), i) for i, v in enumerate(a)]
    pairs.sort(key=lambda t: t[1] % 7)
    numbers = list(a)
    numbers.sort(key=lambda v: v % 4, reverse=True)
    return pairs, numbers


@case(X, X[::-1].copy())
def of_pairs(x, y):
    found = []
    for i, v in reversed(list(enumerate(x))):
        found.append(i * v)
    return [b for a, b in sorted(zip(x, y))], sorted(enumerate(x), key=lambda t: t[1])[0], found, list(zip(x, y))[2]


@case(X)
def of_tuples(x):
    points = [(v, -v) for v in x]
    total = 0.0
    for a, b in [(q[1], q[0]) for q in points if q[0] > 0]:
        total += a - b
    if any(v > 1 for v in sorted(x, key=lambda v: -v)[:2]):
        total += 100.0
    return max(points, key=lambda p: p[0] ** 2 + p[1]), total


@case(I)
def comprehensions(a):
    last = {v: i for i, v in enumerate(a) if v > 2}
    rests = {v % 4 for v in a}
    squares = {i: i * i for i in range(4)}
    cells = {(i, j) for i in range(3) for j in range(i)}
    count = {k: sum(1 for v in a if v == k) for k in {int(v) for v in a}}
    return last, sorted(rests), len({v for v in a}), sum(squares.values()), {i: [j for j in range(i)] for i in
                                                                            range(3)}, (1, 0) in cells, sorted(
        count.items())


@case(I)
def keys_computed_once(a):
    d = {int(v): 0.0 for v in a}
    for v in a:
        d[int(v)] += 0.5
    pairs = {}
    for v in a:
        pairs[(int(v), abs(int(v) - 3))] = 0
    for v in a:
        pairs[(int(v), abs(int(v) - 3))] += 2
    return d, len(pairs), pairs[(3, 0)]


def of_nothing(a):
    return max(a, key=lambda v: -v)


class Keys(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_nothing(self):
        self.assertRaisesRegex(ValueError, "empty", dhpvm.jit(of_nothing), np.zeros(0))


if __name__ == "__main__":
    support.main()
