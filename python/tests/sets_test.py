#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets, dictionaries of lists and of tuples, and numbers that may be None."""

import collections
from collections import defaultdict

import numpy as np
import support

import dhpvm
from dhpvm import prange

random = np.random.default_rng(3)
case = support.Cases(fit=support.nearly)
SAMPLE, LABELS, MASK = random.random(29), random.integers(0, 9, 12), random.random((6, 6)) > 0.4


@case(LABELS)
def distinct(a):
    seen = set()
    out = []
    for x in a:
        if x not in seen:
            seen.add(x)
            out.append(x)
    return np.array(out), len(seen), sorted(seen), sum(seen)


@case(MASK)
def flood(m):
    visited = set()
    stack = [(0, 0)]
    while stack:
        i, j = stack.pop()
        if (i, j) in visited or i < 0 or j < 0 or i >= m.shape[0] or j >= m.shape[1] or not m[i, j]:
            continue
        visited.add((i, j))
        for di, dj in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            stack.append((i + di, j + dj))
    total = 0
    for i, j in visited:
        total += i * j
    return len(visited), total, visited


@case(LABELS)
def counts(a):
    d = {}
    for x in a:
        if d.get(x) is None:
            d[x] = 0
        d[x] += 1
    v = d.get(3)
    w = -1 if v is None else v + 1
    u = d.get(100)
    if u:
        w += u
    return d, w


@case(LABELS)
def groups(a):
    d = {}
    for i, x in enumerate(a):
        if x not in d:
            d[x] = []
        d[x].append(i)
    e = {}
    for i, x in enumerate(a):
        e.setdefault(x % 3, []).append(x)
    best = 0
    for k, v in d.items():
        best = max(best, len(v) * k + v[0])
    return best, len(e[0]), sum(e[1]), sorted(e)


@case(6)
def ops(n):
    a = {1, 2, 3}
    b = set(range(2, n))
    c = a | b
    d = a & b
    e = a - b
    a.update(b)
    b.discard(100)
    b.remove(2)
    f = set([1, 5, 5])
    return sorted(c), sorted(d), e, len(a), 2 in b, f.issubset(c), sorted(f.union(b)), max(b), a, set()


@case(6)
def pairs(n):
    d = {}
    for i in range(n):
        for j in range(i):
            d[i, j] = i * 10 + j
    d[(0, 0)] = -1
    t = 0
    for (i, j), v in d.items():
        t += (i + 1) * (j + 2) * v
    for i, j in d:
        t += i
    k = 0
    for key in d:
        k += key[1]
    return t, k, (2, 1) in d, d.get((9, 9), 7), d[2, 1], d, len(d)


@case(SAMPLE)
def tvals(x):
    best = {}
    for i, v in enumerate(x):
        k = int(v * 4)
        if k not in best or v > best[k][1]:
            best[k] = (i, v)
    return sorted(best), [best[k] for k in sorted(best)]


def fill(d, s, n):
    for i in range(n):
        d[i] = i * i
        s.add(i % 3)


@case(6)
def passed(n):
    d = {}
    s = set()
    fill(d, s, n)
    return d, s


@case(LABELS)
def defaults(a):
    d = defaultdict(int)
    e = collections.defaultdict(list)
    f = defaultdict(float)
    for i, x in enumerate(a):
        d[x] += 1
        e[x % 3].append(i)
        f[x] += 0.5 * i
    n = d[77]
    return n, len(d), len(e[1]), sum(e[0]), f[3], d[3]


@case(SAMPLE, True)
@case(SAMPLE, False)
def parallel_behind_branches(x, up):
    if up:
        out = np.zeros(len(x))
    else:
        out = np.ones(len(x))
    for i in prange(len(x)):
        out[i] += x[i] * 2
    return out


@case(random.random((40, 50)))
def rows_behind_a_loop(m):
    acc = np.zeros(m.shape[1])
    for row in m:
        if row.sum() > 25:
            acc += row
            last = row.copy()
    return (acc, last)


def collect(n, cur, out):
    if len(cur) == n:
        out.append(cur[0] * 100 + cur[1] * 10 + cur[2])
        return
    for i in range(n):
        if i not in cur:
            cur.append(i)
            collect(n, cur, out)
            cur.pop()


@case(3)
def permutations(n):
    out = []
    collect(n, [], out)
    return out


@case(SAMPLE)
def walks(x):
    edges = {}
    for i in range(10):
        for j in range(i):
            edges.setdefault(i, []).append(j)
    seen = {0}
    stack = [9]
    order = []
    while stack:
        u = stack.pop()
        if u in seen:
            continue
        seen.add(u)
        order.append(u)
        for v in edges[u]:
            if v not in seen:
                stack.append(v)
    return (order, sorted(seen))


@case(SAMPLE)
def found_or_not(x):
    found = None
    for i in range(len(x)):
        if x[i] > 0.5:
            found = i
            break
    if found is None:
        return -1
    return found


@case(SAMPLE)
def best_or_none(x):
    best = None
    for v in x:
        if best is None or v > best:
            best = v
    n = None
    k = 5
    if k > 3:
        n = 1
        n += 2
    return (0.0 if best is None else best * 1.0, n is None, n + 1 if n else 0)


@case(SAMPLE)
def place_or_none(x):
    where = None
    for i in range(len(x)):
        if x[i] > 2:
            where = i
    return where


@case(LABELS)
def looked_up(a):
    d = {1: 2.5}
    v = d.get(a[0])
    w = d.get(1)
    w = 0.0 if w is None else w
    return (v is None, w)


@case(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
def breadth_first(adj):
    from collections import deque
    q = deque([0])
    dist = [-1] * len(adj)
    dist[0] = 0
    while q:
        u = q.popleft()
        for v in range(len(adj)):
            if adj[u, v] and dist[v] < 0:
                dist[v] = dist[u] + 1
                q.append(v)
    return dist


@case(np.array([1, 2, 3]))
@case(np.array([1]))
@case(np.array([4, 3, 2, 1]))
@case(np.array([9, 8, 7]))
@case(np.array([], dtype=np.int64))
def compared(a):
    s, t, made, k = set(a), {1, 2, 3}, set(), 0
    while made != {0, 1, 2}:
        made.add(k)
        k += 1
    u = made
    made |= t
    made |= {50}
    return s == t, s != t, s <= t, s < t, s >= t, s > t, k, u, made


@case(LABELS)
@case(np.array([], dtype=np.int64))
def dictionaries_of_several(a):
    groups = {}
    places = {}
    pairs = {}
    for i in range(len(a)):
        k = a[i] % 3
        if k not in groups:
            groups[k] = []
        groups[k].append(i)
        places[k, i % 2] = i, i * 0.5
        pairs[i] = (i, 2)
    return groups, places, pairs, len(groups)


@case(4)
@case(0)
def maybe_a_dictionary(n):
    if n == 0:
        return None
    found = {n: [1, 2]}
    return found


class Sets(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_errors(self):
        for message, error, function in (("not in the set", KeyError, removes), ("this is None", TypeError, adds_none)):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                dhpvm.jit(function)(3)


def removes(n):
    s = {1, 2}
    s.remove(n)


def adds_none(n):
    d = {1: 2}
    x = d.get(n)
    return x + 1


if __name__ == "__main__":
    support.main()
