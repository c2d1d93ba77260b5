# SPDX-License-Identifier: Apache-2.0
"""Integers beyond a type: generators of 64 bits, comparisons with narrow elements, floats that become integers."""

import math

import support
from support import np

case = support.Cases()


U = np.array([0, 5, 200, 255], dtype=np.uint8)

U64 = np.array([0, 5, 2**63, 2**64 - 1], dtype=np.uint64)

I64 = np.array([-5, 0, 7, 2**62])

I8 = np.array([-128, 0, 127], dtype=np.int8)

X = rng = np.random.default_rng(0).normal(size=40)

MASK = 18446744073709551615


@case(X)
def acceptance(x):
    state = 42
    acc = 0
    cur = 0.0
    tot = 0.0
    for p in x:
        state = state * 6364136223846793005 + 1442695040888963407 & 18446744073709551615
        u = (state >> 11) / 9007199254740992.0
        if math.log(u + 1e-300) < -(p * p - cur * cur) / 2:
            cur = p
            acc += 1
        tot += cur
    return (acc, tot)


@case(7, 10)
def splitmix(seed, n):
    out = []
    s = seed
    for i in range(n):
        s = s + 11400714819323198485 & MASK
        z = s
        z = (z ^ z >> 30) * 13787848793156543929 & MASK
        z = (z ^ z >> 27) * 10723151780598845931 & MASK
        z = z ^ z >> 31
        out.append(z % 100)
    return (out, z)


@case(np.frombuffer(b"hello", np.uint8))
def fnv1a(data):
    h = 14695981039346656037
    for b in data:
        h ^= int(b)
        h = h * 1099511628211 & (1 << 64) - 1
    return h


@case(np.frombuffer(b"hello", np.uint8))
def djb(data):
    h = 5381
    for b in data:
        h = (h << 5) + h + int(b) & 4294967295
    return h


@case(88172645463325252)
def xorshift64(x):
    r = []
    for _ in range(5):
        x ^= x << 13 & 18446744073709551615
        x ^= x >> 7
        x ^= x << 17 & 18446744073709551615
        r.append((x >> 40) / float(1 << 24))
    return (r, x)


@case(U, 300, -1, 5)
def cmp8(u, a, b, c):
    n = 0
    for v in u:
        if v < a:
            n += 1
        if v > b:
            n += 10
        if v == c:
            n += 100
        if v != 300:
            n += 1000
        if -1 < v < 256:
            n += 10000
        if 300 >= v:
            n += 100000
    return (n, u < a, u > b, u == c, u <= 300, u != -1, (u > a).sum(), np.where(u < a, 1, 0))


@case(I8, 300, -300, 5)
def cmpi8(u, a, b, c):
    return (u < a, u > b, u == c, u <= 300, u != -1, (u > a).sum(), u > -129)


@case(U64, -1, 5)
def cmp64(u, a, c):
    n = 0
    for v in u:
        if v > a:
            n += 1
        if c < v:
            n += 10
        if v >= 2**63:
            n += 100
        if v > -1:
            n += 1000
        if v == -1:
            n += 10000
    return (n, u > a, u <= c, u == -1, u >= 2**63, u != a)


@case(I64)
def cmpi64(x):
    n = 0
    for v in x:
        if v < 18446744073709551615:
            n += 1
        if v == 2**63:
            n += 10
    return (n, x < 2**63)


@case(U)
def adler2(t):
    a, b = (1, 0)
    for c in t.tolist():
        a = (a + c) % 65521
        b = (b + a) % 65521
    return b << 16 | a


@case(np.array([300.7, -5.2, 10000.0, -40000.0, 3000000000.0, 70000.0]))
def casts(y):
    o = np.zeros(len(y), np.uint8)
    for i in range(len(y)):
        o[i] = y[i]
    return (
        y[:3].astype(np.int8),
        y[:4].astype(np.int16),
        y[:4].astype(np.uint8),
        y[:4].astype(np.uint16),
        (y[:4].astype(np.float32) * 2).astype(np.uint8),
        np.uint8(y[0]),
        o[:4],
    )


U = np.array([0, 5, 200, 255], dtype=np.uint8)

U64 = np.array([0, 5, 2**63, 2**64 - 1], dtype=np.uint64)

F = np.array([0.1, 2], dtype=np.float32)


@case(U, U64, F, F > 1)
def lists(u, v, f, b):
    xs = u.tolist()
    return (xs[2] + xs[3], sum(xs), v.tolist()[2] - 1, f.tolist()[0] * 3, b.tolist(), f.tolist())


@case(U)
def lst(u):
    xs = list(u)
    return xs[2] + xs[3]


class LargeNumbers(support.Comparisons):
    def test_results(self):
        case.compare(self)


if __name__ == "__main__":
    support.main()
