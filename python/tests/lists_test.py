#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists that grow, in each other and as results; arrays that are made in one block and used in another."""

import numpy as np
import support

import dhpvm

random = np.random.default_rng(3)
case = support.Cases(fit=support.nearly)
SAMPLE, LABELS = random.random(29), random.integers(0, 9, 12)


@case(LABELS)
def methods(a):
    xs = list(range(3, 10, 2))
    ys = [0] * 4 + [1, 2]
    zs = xs + ys
    zs.insert(0, 5)
    zs.insert(-1, 6)
    zs.insert(100, 7)
    p = zs.pop(0)
    q = zs.pop(-2)
    r = zs.pop()
    zs.extend(xs)
    zs.extend(range(2))
    zs.extend([1, 9])
    zs.extend(a)
    zs.reverse()
    zs.remove(9)
    w = sorted(zs)
    v = sorted(a, reverse=True)
    zs.sort()
    c = zs.count(1)
    k = zs.index(9)
    return np.array(zs), np.array(w), np.array(v), p, q, r, c, k, 9 in zs, 100 not in zs, \
        len(zs), sum(xs), max(zs[2:5]), np.array(zs[::-1]), np.array(zs[-3:]), np.array(zs[8:2:-2])


@case(np.array([1, 2, 3, 4, 5]), np.array([1, 3, 3, 5]))
def edit_distance(a, b):
    prev = list(range(len(b) + 1))
    for i in range(1, len(a) + 1):
        cur = [i] + [0] * len(b)
        for j in range(1, len(b) + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            cur[j] = min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + cost)
        prev = cur
    return prev[len(b)]


@case(np.array([3, 4, 5, 9]), np.array([2, 3, 4, 7]), 10)
def knapsack(w, v, cap):
    n = len(w)
    dp = [[0] * (cap + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for c in range(cap + 1):
            dp[i][c] = dp[i - 1][c]
            if w[i - 1] <= c:
                dp[i][c] = max(dp[i][c], dp[i - 1][c - w[i - 1]] + v[i - 1])
    return (dp[n][cap], np.array(dp), len(dp), len(dp[0]), dp[-1][-1])


@case(np.array([0, 1, 1, 2, 3, 3]), np.array([1, 2, 3, 3, 4, 5]), 6)
def bfs(src, dst, n):
    adj = [[] for _ in range(n)]
    for u, v in zip(src, dst):
        adj[u].append(v)
        adj[v].append(u)
    dist = [-1] * n
    queue = [0]
    dist[0] = 0
    while queue:
        u = queue.pop(0)
        for v in adj[u]:
            if dist[v] == -1:
                dist[v] = dist[u] + 1
                queue.append(v)
    return np.array(dist)


@case(random.random((6, 6)))
def dijkstra(g):
    n = len(g)
    dist = [float("inf")] * n
    done = [False] * n
    dist[0] = 0
    for _ in range(n):
        u = -1
        for i in range(n):
            if not done[i] and (u == -1 or dist[i] < dist[u]):
                u = i
        done[u] = True
        for v in range(n):
            if dist[u] + g[u, v] < dist[v]:
                dist[v] = dist[u] + g[u][v]
    return np.array(dist)


@case(SAMPLE)
def alias(x):
    a = []
    b = a
    for v in x:
        if v > 0.5:
            b.append(v)
    b.append(1.0)
    m = [[1.0, 2.0], [3.0]]
    for row in m:
        row.append(7.0)
    m.append(b[:0] + [5.0])
    m[0][1] += 10.0
    first = m[0]
    first.append(9.0)
    t = [(1, 2.5), (3, 4.0)]
    t.insert(0, (0, 0.5))
    i, f = t.pop()
    q = (3, 4.0) in t
    return (len(a), a[-1], sum(first), len(m[1]), m[2][0], i, f, q, np.array(t), m[0][-1])


@case(5)
def pascal(n):
    rows = [[1]]
    for i in range(n):
        prev = rows[-1]
        row = [1]
        for k in range(len(prev) - 1):
            row.append(prev[k] + prev[k + 1])
        row.append(1)
        rows.append(row)
    total = 0
    for r in rows:
        for v in r:
            total += v * v
    return (total, rows[n][2])


@case(6)
def queens(n):
    count = 0
    cols = [False] * n
    d1 = [False] * (2 * n)
    d2 = [False] * (2 * n)

    def place(row, cols, d1, d2):
        if row == len(cols):
            return 1
        found = 0
        for c in range(len(cols)):
            if cols[c] or d1[row + c] or d2[row - c + len(cols)]:
                continue
            cols[c] = d1[row + c] = d2[row - c + len(cols)] = True
            found += place(row + 1, cols, d1, d2)
            cols[c] = d1[row + c] = d2[row - c + len(cols)] = False
        return found
    return place(0, cols, d1, d2)


def helper(xs, y):
    xs.append(y)
    return xs[0]


@case(6)
def calls(n):
    xs = []
    helper(xs, 1)
    helper(xs, 2)
    return (sum(xs), helper(xs, 3))


@case(SAMPLE)
def sorts(x):
    xs = [v for v in x if v > 0.3]
    xs.sort(reverse=True)
    ys = [i * i for i in range(5)]
    ys[2] = 100
    words = [[i * j for j in range(3)] for i in range(3)]
    return (np.array(xs), np.array(ys), np.array(words), words[2][1], np.mean(xs), np.sort(ys))


@case(SAMPLE, 3)
def local_maxima(x, order):
    res = []
    for i in range(order, len(x) - order):
        if all((x[i] >= x[i - k] for k in range(1, order))) and all((x[i] >= x[i + k] for k in range(1, order))):
            res.append(i)
        elif i > 5 and any((v > x[i] for v in x)) or x[i] < 0.1:
            res.append(-i)
    return np.array(res)


@case(30)
def primes(n):
    found = []
    k = 2
    while not any((p > n for p in found)):
        if all((k % p != 0 for p in found)):
            found.append(k)
        k += 1
    assert all((p > 1 for p in found))
    return np.array(found)


@case(4)
def nested(n):
    a = [[i * j for j in range(n)] for i in range(n)]
    b = [[x for x in row if x > 1] for row in a]
    c = [sum((x * x for x in row)) for row in a]
    d = sum((sum((row[k] for k in range(2))) for row in a))
    e = [max(row) for row in a]
    return (np.array(a), len(b), len(b[3]), np.array(c), d, np.array(e))


@case(SAMPLE, None)
@case(SAMPLE, SAMPLE)
def decided_by_types(x, w):
    if w is not None and any((v > 0.9 for v in w)):
        return w.sum()
    return x.sum()


@case(12)
def returns_numbers(n):
    out = []
    for i in range(n):
        if i % 3:
            out.append(i * i)
    return out


@case(SAMPLE)
def returns_tuples(x):
    pairs = []
    for i, v in enumerate(x):
        if v > 0.5:
            pairs.append((i, v))
    return pairs


@case(5)
def returns_lists(n):
    return [[i * j for j in range(i)] for i in range(n)]


@case(LABELS)
def returns_dictionary(a):
    d = {}
    for v in a:
        d[v] = d.get(v, 0) + 1
    return d


@case(LABELS)
def returns_several(a):
    return (sorted(a), [1, 2.5], len(a), [True, False])


@case(SAMPLE, 0.5)
@case(SAMPLE, 2.0)
def none_or_number(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return i
    return None


@case(SAMPLE, 0.5)
@case(SAMPLE, 2.0)
def none_at_the_end(x, t):
    for i in range(len(x)):
        if x[i] > t:
            return (i, x[i:].copy())


@case(SAMPLE, 0.5)
@case(SAMPLE, 2.0)
def none_or_list(x, t):
    if t > 1:
        return
    return [v for v in x if v > t]


@case(SAMPLE, 0.5)
@case(SAMPLE, 2.0)
def none_or_argument(x, t):
    if t > 1:
        return None
    elif t > 0:
        return x
    else:
        return x


@case(3)
def returns_nothing_in_it(n):
    return []


def squares_and_halves(n):
    xs = [0] * n
    ys = []
    for i in range(n):
        xs[i] = i * i
        ys.append(i + 0.5)
    return (xs, ys)


@case(4)
def lists_of_calls(n):
    a, b = squares_and_halves(n)
    a.append(7)
    return (a, sum(b), max(a))


def evens(n):
    return [i for i in range(n) if i % 2 == 0]


@case(9)
def items_of_calls(n):
    xs = evens(n)
    t = 0
    for v in evens(n):
        t += v
    return (xs, t, np.array(evens(n)), len(evens(n)), sum(evens(n)))


@case(SAMPLE, True)
@case(SAMPLE, False)
def in_both_branches(x, up):
    if up:
        out = x + 1
    else:
        out = x - 1
    return out


@case(SAMPLE)
def behind_a_loop(x):
    for i in range(3):
        y = x * i
    return (y, y.sum())


@case(SAMPLE, 2)
def in_several_branches(x, k):
    if k == 1:
        w = np.ones(3)
    elif k == 2:
        w = np.array([1.0, 2, 3])
    else:
        raise ValueError("k")
    for i in range(2):
        found = []
        for v in x:
            if v > 0.2 * i:
                found.append(v)
    return (w / w.sum(), len(found))


@case(np.arange(4.0), np.arange(4))
def rows_of_arrays(x, i):
    return np.array([x, i]), np.array([x, x * 2, x[::-1]]), np.array([x]), np.array([i, i], dtype=np.float32), \
        np.array((i, i)), np.array([k * 2 for k in range(3)], dtype=np.float64)


def pushed(xs, x):
    xs.append(x)


@case(7)
@case(0)
def changed_in_loops(n):
    xs, out = [1, 2, 3], []
    ys = xs
    for x in xs:  # by another name
        out.append(x)
        if len(ys) < n:
            ys.append(x * 10)
    ws = [5]
    for x in ws:  # by a function
        if len(ws) < n:
            pushed(ws, x + 1)
    else:
        ws.append(-1)

    def add(x):
        ws.append(x)

    for k, (x, w) in enumerate(zip(xs, ws)):  # by a function in this one
        if k == 1:
            continue
        if k > 2 * n:
            break
        add(x + w)
    table = [[1], [2, 3]]
    for row in table:
        for x in row:
            if len(row) < n:
                row += [x + 1]
        if len(table) < n:
            table.append([9])
    zs = [1, 2, 3, 4]
    for z in zs:
        zs.remove(z)
    return out, xs, ws, table, zs


@case(3)
@case(0)
def one_list_several_times(n):
    table = [[]] * n
    pairs = [[n], [0]] * 2
    pairs[0].append(7)
    for row in table:
        row.append(len(row))
    return table, pairs


@case(3)
def added_to(n):
    xs = [n]
    ys, table = xs, [[1], [2]]
    xs += [1, 2]
    xs += xs
    xs += (5, 6)
    xs += range(2)
    table[1] += [n]
    groups = {1: [2]}
    groups[1] += [n]
    del ys[1], ys[-1]
    return xs, ys, table, groups


class Lists(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_errors(self):
        self.assertEqual(dhpvm.jit(nothing_among_others)(3), nothing_among_others(3))
        for message, error, function in (("pop from empty list", IndexError, pops),
                                         ("index 3 is out of range for length 1", IndexError, beyond),
                                         ("not in the list", ValueError, finds),
                                         ("different lengths", ValueError, tables)):
            with self.subTest(message), self.assertRaisesRegex(error, message):
                dhpvm.jit(function)(3)


def pops(n):
    xs = [0] * (n - 3)
    return xs.pop(0)


def beyond(n):
    xs = [1]
    return xs[n]


def nothing_among_others(n):
    return n, None


def finds(n):
    xs = [1, 2]
    return xs.index(n)


def tables(n):
    return np.array([[0] * i for i in range(n)])


if __name__ == "__main__":
    support.main()
