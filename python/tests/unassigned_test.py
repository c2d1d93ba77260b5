# SPDX-License-Identifier: Apache-2.0
"""Variables that may have no value where they are read."""

import support
from support import np

import dhpvm

case = support.Cases()
errors = support.Cases()


X = np.arange(5.0)


@case(X)
def unbound_and(x):
    found = False
    for v in x:
        if v > 100:
            found = True
            y = v
    return found and y > 0


@errors(X)
def unbound_and2(x):
    found = True
    for v in x:
        if v > 100:
            found = True
            y = v
    return found and y > 0


@errors(X)
def unbound_ifexp(x):
    if x[0] > 100:
        y = 1
    return y if x[0] > -1000 else 0


@case(X)
def ifexp_ok(x):
    if x[0] > 100:
        y = 1
    return y if x[0] > 1000 else 0


@case(X)
def first_or(x):
    first = True
    n = 0
    for v in x:
        if first or v > best:
            best = v
            first = False
            n += 1
    return (best, n)


@case(X)
def last_prev(x):
    n = 0
    for i in range(len(x)):
        if i > 0 and x[i] != prev:
            n += 1
        prev = x[i]
    return n


@errors(X)
def bad_prev(x):
    n = 0
    for i in range(len(x)):
        if i >= 0 and x[i] != prev:
            n += 1
        prev = x[i]
    return n


@errors(X)
def del_use(x):
    y = 1
    del y
    return y


@case(X)
def del_loop(x):
    t = 0.0
    for v in x:
        y = v * 2
        t += y
        del y
    return t


@errors(X)
def del_cond(x):
    y = 1.0
    if x[0] > -1:
        del y
    if x[1] > 5:
        y = 3.0
    return y


@errors(X)
def tup(x):
    for i in range(len(x)):
        if x[i] > 100:
            best = (i, x[i])
    return len(x) > 0 and best[1] > 3


@case(X)
def wh(x):
    i = 0
    while i < 3 and (i == 0 or last < 10):
        last = x[i]
        i += 1
    return (last, i)


@case(X, 0)
def pr4(x, m):
    out = np.zeros(len(x))
    for i in dhpvm.prange(len(x)):
        for k in range(m):
            t = x[i]
            out[i] += t
        else:
            out[i] += 1
    return out


class Unassigned(support.Comparisons):
    def test_results(self):
        case.compare(self)

    def test_errors(self):
        errors.compare_errors(self)


if __name__ == "__main__":
    support.main()
