# SPDX-License-Identifier: Apache-2.0
"""What scientists take from the standard library and NumPy around their loops: itertools, Counter, einsum, windows and
sets; names in expressions, and None among other results."""

import collections
import itertools
from collections import Counter, deque
from itertools import combinations, product

import support
from support import np

import dhpvm

try:
    from numpy.lib.stride_tricks import sliding_window_view
except ImportError:
    sliding_window_view = None

case = support.Cases()
R = np.random.default_rng(8)
X, Y, I, J = R.normal(size=50), R.normal(size=50), R.integers(0, 9, 20), R.integers(5, 14, 20)
A, B, C = R.normal(size=(4, 3)), R.normal(size=(3, 5)), R.normal(size=(4, 4))
V, W, T = R.normal(size=3), R.normal(size=4), R.normal(size=(2, 3, 4))


# ---- itertools.

@case(np.arange(6.0) * 1.5)
def pairs(x):
    best, d = (0, 0), -1.0
    for i, j in itertools.combinations(range(len(x)), 2):
        if i == 4:
            break
        if j == 3:
            continue
        if abs(x[i] - x[j]) > d:
            best, d = (i, j), abs(x[i] - x[j])
    else:
        d = -5.0
    return best, d, sum(i * j for i, j in combinations(range(5), 2)), len(list(combinations(x, 3)))


@case(4)
def products(n):
    return [(i, j) for i, j in product(range(n), range(2))], len(list(itertools.permutations(range(n), 3)))


@case(np.arange(4, dtype=np.float32))
def repeated(x):
    s = np.float32(0)
    for i, j, k in itertools.product(range(2), repeat=3):
        s += x[i + j + k] * i
    for a, b in itertools.combinations_with_replacement(x, 2):
        s += a * b
    for a, b in itertools.permutations(x, 2):
        s += a - 2 * b
    return s


@case(np.arange(6.0) * 1.5)
def in_a_row(x):
    out = []
    for a, b in itertools.pairwise(x):
        out.append(b - a)
    for i in itertools.count(2, 3):
        if i > 20:
            break
        out.append(i * 0.5)
    for v in itertools.chain(x[:2], x[4:]):
        out.append(v)
    return out, list(itertools.accumulate(x))


# ---- Counters.

@case(I)
def counted(a):
    c = Counter()
    for v in a:
        c[v] += 1
    n = c[77]
    c[100] -= 2
    return max(c.values()), len(c), n, 77 in c, c[100]


@case(I)
def counted_at_once(a):
    c = Counter(a)
    d = collections.Counter(v % 2 for v in a)
    m, mode = c.most_common(2), c.most_common(1)[0][0]
    del c[99]
    c.pop(mode)
    e = Counter([(x, y) for x, y in zip(a[:-1], a[1:])])
    return sorted(c.items()), m, mode, d[1], c.total(), [k for k, v in c.items() if v > 3], e[(0, 1)], len(e)


# ---- Sums over indices.

@case(A, B, C, fit=support.nearly)
def of_matrices(a, b, c):
    return np.einsum("ij,jk->ik", a, b), np.einsum("ij,jk", a, b), np.einsum("ij,kj->ik", a, a), \
        np.einsum("ji,jk->ik", a, c), np.einsum("ij,jk->ki", a, b), np.einsum("ii", c), np.einsum("ij->ji", a), \
        np.einsum("ij->", a), np.einsum("ij->i", a), np.einsum("ij->j", a)


@case(A, V, W, T, fit=support.nearly)
def of_several(a, v, w, t):
    return np.einsum("ij,j->i", a, v), np.einsum("i,j->ij", w, v), np.einsum("i,ij,j->", w, a, v), \
        np.einsum("i,i", v, v), np.einsum("ij,ij->i", a, a), np.einsum("ijk->jk", t), np.einsum("ijk->ki", t), \
        np.einsum("ijk,j->ik", t, v), np.einsum("ijk,k,j->i", t, w, v), np.einsum("i->i", v), \
        np.einsum("ijk,ijk->", t, t), np.einsum("ij, j -> ji", a, v)


@case(np.arange(6).reshape(2, 3), np.arange(3))
def of_integers(a, v):
    return np.einsum("ij,j->i", a, v), np.einsum("ij,kj->ik", a, a), np.einsum("ij->ji", a)


# ---- Functions of NumPy.

@case(X, Y)
def in_two_dimensions(x, y):
    return np.histogram2d(x, y, bins=5), np.histogram2d(x, y, bins=(3, 4)), \
        np.histogram2d(x, y, bins=4, range=((-1, 1), (0.0, 2.0)))[0], \
        np.histogram2d(x, y, bins=np.array([-1.0, 0, 1]), weights=np.abs(x))[0], np.histogram2d(x, y)[0].sum()


@case(I, J)
def as_sets(a, b):
    return np.intersect1d(a, b), np.union1d(a, b), np.setdiff1d(a, b), np.intersect1d(a, [3, 4, 100]), \
        np.setdiff1d(a.reshape(4, 5), b)


@case(X, 5)
def windows(x, k):
    w = np.lib.stride_tricks.sliding_window_view(x, k)
    return w.max(axis=1), sliding_window_view(x, 3).sum(axis=1)[0], w.shape


# ---- Names in expressions.

@case(np.arange(8.0))
def named(x):
    n = 0
    while (v := x[n]) < 3.5:
        n += 1
    if (m := len(x)) > 3 and n > 2:
        n += m
    elif (k := n) > 2:
        n = -k
    return n, v, m, [y for v in x if (y := v * v) > 10], (z := x.sum()) + z


@case(np.arange(8.0))
def named_to_the_end(x):
    i = 0
    while (i := i + 1) < 5:
        if i == 3:
            continue
        x[i] = -1
    else:
        i = 100
    return i, x


@case(3)
def rest_of_tuples(n):
    a, *rest = (1, 2, n)
    *head, z = (n, 2.5, 3)
    p, *q, r = (1, 2)
    rest.append(7)
    return a, rest, head, z, q, p, r


# ---- None.

@case(np.arange(8.0), 100.0)
@case(np.arange(8.0), 3.0)
def none_among_results(x, limit):
    best, at = -1.0, None
    for i, v in enumerate(x):
        if v > limit:
            at, best = i, v
            if v > limit + 3:
                return best, (at, None)
    return best, (at, 2)


@case(3)
def always_none(n):
    return None, n


@case(X)
def smoothed(x):
    previous, out = None, np.zeros(len(x))
    for i in range(len(x)):
        previous = x[i] if previous is None else 0.5 * previous + x[i]
        out[i] = previous
    return out


@case(np.zeros(0))
@case(X)
def index_that_may_be_none(x):
    best = None
    for i, v in enumerate(x):
        if best is None or v > x[best]:
            best = i
    return best, len(x)


def too_many_indices(a):
    return np.einsum("ij,kl->ijkl", a, a)


def limited(x):
    d = deque(maxlen=3)
    other = d
    for v in x:
        other.append(v)
    return len(d)


def window_that_is_written(x):
    w = np.lib.stride_tricks.sliding_window_view(x, 3)
    x[0] = 5
    return w.max(axis=1)


def behind_a_call(x):
    xs = [1, 2, 3]
    return xs.pop() + (n := len(xs)) + n


def update_of_a_counter(x):
    c = Counter()
    c.update(x)
    return len(c)


class Collections(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_what_is_refused(self):
        for function, argument, message in (
                (too_many_indices, A, "einsum has up to three indices here"),
                (limited, X, "a deque has no limit here, where it has two names"),
                (window_that_is_written, X, "this may be the memory of 'x' in NumPy"),
                (behind_a_call, X, ":= cannot be compiled"),
                (update_of_a_counter, X, "a Counter is updated by a loop")):
            with self.subTest(function.__name__), self.assertRaisesRegex(dhpvm.TranslationError, message):
                dhpvm.jit(function)(argument)


if __name__ == "__main__":
    support.main()
