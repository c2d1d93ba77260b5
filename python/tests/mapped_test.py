# SPDX-License-Identifier: Apache-2.0
"""np.select, map and filter, bounded deques, tuples of tuples, bytes, limits of types, texts of exceptions."""

import collections
import math
from collections import deque

import support
from support import np

case = support.Cases()
errors = support.Cases()


X = np.arange(5.0) + 0.5


@errors(X, 3)
def raise_fmt(x, n):
    if n > 2:
        raise ValueError(f"n={n!r} mean {x[0]:.3f} {x[1]!r} {n / 2!r} {n!s}")
    return 1


@errors(X, "foo")
def mode_bad(x, how="mean"):
    if how == "mean":
        return x.mean()
    raise ValueError(f"unknown mode {how!r}, use 'mean' {{}}")


@errors(X, "foo")
def mode_bad2(x, how="mean"):
    if how == "mean":
        return x.mean()
    raise ValueError("unknown mode {!r} {}".format(how, len(x)))


@errors(X, "foo")
def mode_bad3(x, how="mean"):
    if how == "mean":
        return x.mean()
    raise ValueError("unknown mode %r" % how)


@errors(X, "foo")
def mode_bad4(x, how="mean"):
    if how == "mean":
        return x.mean()
    raise ValueError("unknown mode " + how + str(len(x)))


@case(X)
def one_d(x):
    y = (x[0],)
    return y


@case(X)
def one_r(x):
    return (x.sum(),)


@case(X)
def unpack_row(x):
    a, b, *c = x[:5]
    return (a, b, len(c))


@case(X)
def unpack_row2(x):
    a, *c, b = x
    return (a, b, c)


X = np.random.default_rng(5).normal(size=30)

M = np.arange(48.0).reshape(6, 8)

B = M % 3 > 1

SEQ = np.frombuffer(b"GATTACA", np.uint8)

BASES = b"ACGT"


@case(X)
def select(x):
    return np.select([x < -1, x < 0, x < 1], [-1.0, x * 2, x**2], default=9)


@case(X)
def select2(x):
    y = np.select([x < -1, x > 1], [1, 2])
    return y


@case(X, M)
def edge(x, m):
    return (np.signbit(x), np.ediff1d(x), np.ediff1d(m), np.signbit(-0.0), np.signbit(np.arange(-2, 2)))


@case(M)
def life(g):
    n = np.zeros(g.shape)
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            if dy or dx:
                n += np.roll(g, (dy, dx), (0, 1))
    return (n, np.roll(g, (1, 2), axis=(0, 1)), np.roll(g, 1, axis=(0, 1)))


@case(M)
def layer_norm(x, eps=1e-05):
    mu = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return ((x - mu) / np.sqrt(var + eps), np.std(x, 0, keepdims=True))


@case(X)
def mapf(x):
    return sum(map(lambda v: v * v, filter(lambda v: v > 0, x)))


@case(X)
def mapf2(x):
    return (
        list(map(abs, x)),
        max(map(lambda a, b: a + b, x, x[::-1])),
        any(map(np.isnan, x)),
        list(filter(None, [0, 1, 2])),
    )


@case(X)
def mapf3(x):
    t = 0.0
    for v in map(lambda v: v + 1, x):
        t += v
    for v in filter(lambda v: v > 1, x):
        t -= v
    return (t, np.array(list(map(int, x * 10))))


@case(X)
def dic(x):
    return dict(mean=x.mean() * 0 + 1, n=len(x))


@case(X)
def dic2(x):
    d = dict(a=1.0, b=2.0)
    d["a"] += x[0]
    return d["a"]


@case(M, (1.0, 2.0))
def star(m, p):
    return ((*m.shape, 3), (*p, 0.5), np.zeros((*m.shape[:1], 2)))


@case(SEQ)
def revcomp(s):
    table = np.zeros(256, np.uint8)
    for a, b in zip(b"ACGT", b"TGCA"):
        table[a] = b
    return table[s[::-1]]


@case(SEQ)
def bases(s):
    n = 0
    for c in s:
        if c in b"GC":
            n += 1
        if c == BASES[0]:
            n += 10
    return (n, len(BASES))


@case(X)
def infos(x):
    m = np.iinfo(np.int64).max
    e = np.finfo(np.float64).eps
    return (m, np.iinfo(np.uint8).max, e * x, np.finfo(float).max, np.iinfo(np.int32).min, np.finfo(x.dtype).tiny)


@case(X, 4, fit=support.nearly)
def rolling(x, w):
    buf = deque(maxlen=w)
    out = np.empty(len(x))
    for i in range(len(x)):
        buf.append(x[i])
        out[i] = sum(buf) / len(buf)
    return out


@case(X, 4)
def rolling2(x, w):
    buf = collections.deque([1.0, 2.0, 3.0], maxlen=2)
    n = 0
    for v in x:
        buf.appendleft(v)
        if len(buf) == buf.maxlen:
            n += 1
        buf.extend([v, v])
    return (n, list(buf))


@case(M)
def ix(m):
    r = np.array([0, 2, 4])
    c = np.array([1, 3])
    return (m[np.ix_(r, c)], m[np.ix_([0, 1], [2, 3])])


@case(2.675, -0.001, 1e300)
def rnd(a, b, c):
    return (
        round(a, 2),
        round(b, 2),
        round(c, 3),
        round(1.005, 2),
        round(2.5, 0),
        round(float("nan"), 1),
        round(0.15, 1),
        round(a * 100, 1),
    )


@case((0.0, 3.0), (4.0, 0.0))
def dst(p, q):
    return math.dist(p, q)


M = np.arange(48.0).reshape(6, 8)


@case(np.arange(5))
def sums_with_a_start(x):
    s = 2
    return sum([1, 2], 10), sum((v * v for v in x), 0.5), sum(x, start=s), sum([0.5, 0.25], s)


class Mapped(support.Comparisons):
    def test_results(self):
        case.compare(self)

    def test_errors(self):
        errors.compare_errors(self)


if __name__ == "__main__":
    support.main()
