# SPDX-License-Identifier: Apache-2.0
"""Objects of namedtuple and dataclass that functions return, alone and in lists and dictionaries."""

from collections import namedtuple
from dataclasses import dataclass
from typing import NamedTuple

import support
from support import np

case = support.Cases()


X = np.arange(5.0) + 0.5

Pt = namedtuple("Pt", "x y")


class Fit(NamedTuple):
    slope: float
    residuals: np.ndarray
    n: int = 0


@dataclass
class Stat:
    mean: float
    n: int = 3


@dataclass(frozen=True)
class Fz:
    a: float
    b: float


@case(X)
def r1(x):
    return Pt(x.min(), x.max())


@case(X)
def r2(x):
    return Stat(x.mean(), len(x))


@case(X)
def r3(x):
    s = Stat(0.0)
    for v in x:
        s.mean += v
        s.n += 1
    return s


@case(X)
def r4(x):
    return Fit(x[0], x * 2)


@case(X)
def r5(x):
    return (Pt(x[0], 1), Pt(2, x[1]), x.sum())


@case(X)
def r6(x):
    out = []
    for i in range(3):
        out.append(Pt(x[i], i))
    return out


@case(X)
def r7(x):
    out = []
    for i in range(3):
        out.append(Pt(x[i], i))
    t = 0.0
    for p in out:
        t += p.x * p.y
    q = out[1]
    a = max(out, key=lambda p: p.x)
    return (t, a.x, out[1].x, q.y)


def mid(p, q):
    return Pt((p.x + q.x) / 2, (p.y + q.y) / 2)


@case(X)
def r8(x):
    a = mid(Pt(x[0], x[1]), Pt(x[2], x[3]))
    return (a, mid(a, a).x)


@case(X)
def r9(x):
    if x[0] > 5:
        return None
    return Pt(1, 2.5)


@case(X, Pt(1.0, 2.0))
def r10(x, p):
    return Pt(p.x + 1, p.y)


@case(X)
def r13(x):
    best = Pt(0.0, 0)
    for i, v in enumerate(x):
        if v > best.x:
            best = Pt(v, i)
    return best


@case(X)
def r14(x):
    return [Fz(v, v * 2) for v in x]


@case(X)
def r15(x):
    d = {}
    for i, v in enumerate(x):
        d[i] = Pt(v, i)
    return d


@case(X)
def r19(x):
    return {"a": Pt(x[0], 1), "b": x.sum()}


class ReturnedStructs(support.Comparisons):
    def test_results(self):
        case.compare(self)


if __name__ == "__main__":
    support.main()
