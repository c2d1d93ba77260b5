#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of scientists: series, statistics, tables, searches."""

import numpy as np
import support

random = np.random.default_rng(7)
case = support.Cases()


@case(np.array([1, 5, 2, 8, 3, 9, 4]))
def lis(a):
    n = len(a)
    best = [1] * n
    for i in range(n):
        for j in range(i):
            if a[j] < a[i]:
                best[i] = max(best[i], best[j] + 1)
    return max(best)


@case(np.array([1, 2, 5, 10, 25]), 63)
def coin_change(coins, amount):
    INF = amount + 1
    dp = np.full(amount + 1, INF, dtype=np.int64)
    dp[0] = 0
    for c in coins:
        for v in range(c, amount + 1):
            dp[v] = min(dp[v], dp[v - c] + 1)
    return -1 if dp[amount] == INF else dp[amount]


@case(np.array([1., 2, 3, 4, 2]), np.array([1., 2, 2, 4]))
def dtw(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = abs(a[i - 1] - b[j - 1])
            D[i, j] = cost + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


@case(np.array([1.0, np.nan, 3.0, -999.0, 5.0, np.nan, 1e9]))
def clean(x, missing=-999.0, lo=-100, hi=100):
    y = x.copy()
    y[y == missing] = np.nan
    y[(y < lo) | (y > hi)] = np.nan
    ok = ~np.isnan(y)
    mean = y[ok].mean() if ok.any() else 0.0
    y[~ok] = mean
    return y, ok.sum(), mean


@case(np.arange(12.0), 3, fit=support.nearly)
def moving_average(x, w):
    c = np.cumsum(np.insert(x, 0, 0.0))
    return (c[w:] - c[:-w]) / w


@case(random.random(30), fit=support.nearly)
def zscore(x):
    mu, sd = x.mean(), x.std()
    if sd == 0:
        return np.zeros_like(x)
    return (x - mu) / sd


@case(2.0, 1e-12)
def newton_sqrt(a, tol=1e-10):
    x = a
    while abs(x * x - a) > tol:
        x = 0.5 * (x + a / x)
    return x


@case(np.array([1.0, -3.0, 2.5]), 0.7)
def horner(coeffs, x):
    r = 0.0
    for c in coeffs[::-1]:
        r = r * x + c
    return r


@case(np.array([3, 1, 4, 1, 5, 9, 2, 6]))
def bubble(a):
    a = a.copy()
    n = len(a)
    swapped = True
    while swapped:
        swapped = False
        for i in range(n - 1):
            if a[i] > a[i + 1]:
                a[i], a[i + 1] = a[i + 1], a[i]
                swapped = True
    return a


@case(np.array([3., 1., 2.]), np.array([0.5, 0.25, 0.25]), fit=support.nearly)
def weighted(x, w=None):
    if w is None:
        w = np.ones_like(x)
    total = w.sum()
    if total <= 0:
        raise ValueError("weights must be positive")
    m = (x * w).sum() / total
    v = np.average((x - m) ** 2, weights=w)
    return m, np.sqrt(v)


@case(random.random(20), 5)
def topk(x, k):
    idx = np.argsort(-x)[:k]
    return idx, x[idx]


@case(50, 3.7, 0.2)
def logistic(n, r=3.5, x0=0.5):
    x = np.zeros(n)
    x[0] = x0
    for i in range(1, n):
        x[i] = r * x[i-1] * (1 - x[i-1])
    return x


@case(random.integers(0, 5, 30))
def mode(x):
    counts = {}
    for v in x:
        counts[v] = counts.get(v, 0) + 1
    best, best_n = -1, 0
    for k, n in counts.items():
        if n > best_n or (n == best_n and k < best):
            best, best_n = k, n
    return best, best_n


@case(np.array([0., 1, 3, 6]), np.array([1., 2, 0, 4]))
def trapz(x, y):
    return np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1])) / 2


@case(random.random(100), 10)
def bins(x, nbins):
    lo, hi = x.min(), x.max()
    h = np.zeros(nbins, dtype=int)
    w = (hi - lo) / nbins
    for v in x:
        b = int((v - lo) / w)
        if b == nbins:
            b -= 1
        h[b] += 1
    return h, np.linspace(lo, hi, nbins + 1)


@case(random.random(12))
def peaks(x):
    p = []
    for i in range(1, len(x) - 1):
        if x[i - 1] < x[i] > x[i + 1]:
            p.append(i)
    return np.array(p, dtype=int)


@case(np.array([1.0, 2.0, 4.0]), "linear")
def resample(y, mode="nearest"):
    n = y.size
    out = np.zeros(2 * n - 1)
    out[::2] = y
    if mode == "linear":
        out[1::2] = 0.5 * (y[:-1] + y[1:])
    elif mode == "nearest":
        out[1::2] = y[:-1]
    else:
        raise ValueError(f"unknown mode {mode}")
    return out


@case(random.random(40), fit=support.nearly)
def autocorr(x, maxlag=5):
    x = x - np.mean(x)
    denom = np.sum(x * x)
    return np.array([np.sum(x[:len(x) - k] * x[k:]) / denom for k in range(maxlag + 1)])


@case(random.random(40), fit=support.nearly)
def ema(x, alpha=0.3):
    y = np.zeros(x.shape)
    y[0] = x[0]
    for t, v in enumerate(x[1:], start=1):
        y[t] = alpha * v + (1 - alpha) * y[t - 1]
    return y


@case(30)
def collatz(n):
    best = (0, 0)
    for s in range(1, n):
        c, x = 0, s
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            c += 1
        if c > best[1]:
            best = (s, c)
    return best


@case(random.random(8), random.random(8) * 10)
def sort_by(x, key):
    order = np.argsort(key)
    x[:] = x[order]
    key.sort()
    return order.argmin()


@case(np.linspace(-2, 2, 9))
def piecewise(x):
    return np.where(x < 0, -x, np.where(x < 1, x**2, 2 * x - 1))


@case(random.random(10), fit=support.nearly)
def softmax(x, axis=-1):
    e = np.exp(x - np.max(x))
    return e / e.sum()


@case(np.array([1, 2, 3]))
def fstr(x):
    s = 0
    for i in range(x.shape[0]):
        s = s + x[i] if i % 2 == 0 else s - x[i]
    s += len([v for v in x if v > 1])
    any_big = any(v > 2 for v in x)
    return s, any_big, [int(v) for v in x][0]


class Series(support.Comparisons):
    def test_all(self):
        case.compare(self)


if __name__ == "__main__":
    support.main()
