#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions as people write them who come from Numba: finance, images, searches, statistics, particles, equations."""

import math

import numpy as np
import support

import dhpvm
from dhpvm import prange

R = np.random.default_rng(3)
X, Y, M, S = R.random(50), R.random(50), R.random((8, 10)), R.random((6, 6))
I, IMG = R.integers(0, 20, 40), R.integers(0, 256, (12, 14)).astype(np.uint8)
PRICES, MASK, Z = 100 + np.cumsum(R.normal(size=60)), R.random((8, 10)) > 0.5, R.random(20) + 1j * R.random(20)
PART = np.zeros(5, dtype=[("pos", "f8"), ("vel", "f8"), ("mass", "f4"), ("alive", "?")])
PART["pos"], PART["vel"], PART["mass"], PART["alive"] = R.random(5), R.random(5), 1, [1, 0, 1, 1, 0]
DAYS = 252
DIRS = ((0, 1), (1, 0), (0, -1), (-1, 0))
case = support.Cases(fit=support.nearly)


@case(PRICES)
def max_drawdown(p):
    peak = np.maximum.accumulate(p)
    dd = (p - peak) / peak
    end = np.argmin(dd)
    start = np.argmax(p[:end + 1]) if end > 0 else 0
    return (dd.min(), start, end)


@case(PRICES, 14)
def rsi(prices, n=14):
    deltas = np.diff(prices)
    seed = deltas[:n + 1]
    up = seed[seed >= 0].sum() / n
    down = -seed[seed < 0].sum() / n
    rs = up / down
    out = np.zeros_like(prices)
    out[:n] = 100.0 - 100.0 / (1.0 + rs)
    for i in range(n, len(prices)):
        delta = deltas[i - 1]
        if delta > 0:
            upval = delta
            downval = 0.0
        else:
            upval = 0.0
            downval = -delta
        up = (up * (n - 1) + upval) / n
        down = (down * (n - 1) + downval) / n
        rs = up / down
        out[i] = 100.0 - 100.0 / (1.0 + rs)
    return out


@case(PRICES, 5, 2.0)
def bollinger(p, w, k):
    n = len(p)
    mid = np.full(n, np.nan)
    upper = np.full_like(mid, np.nan)
    lower = np.full_like(mid, np.nan)
    for i in range(w - 1, n):
        win = p[i - w + 1:i + 1]
        m, s = (win.mean(), win.std())
        mid[i] = m
        upper[i], lower[i] = (m + k * s, m - k * s)
    return (mid, upper, lower)


@case(100.0, 105.0, 0.02, 0.25, 1.0)
def black_scholes(S, K, r, sigma, T):
    d1 = (math.log(S / K) + (r + 0.5 * sigma ** 2) * T) / (sigma * math.sqrt(T))
    d2 = d1 - sigma * math.sqrt(T)
    N = lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2)))
    call = S * N(d1) - K * math.exp(-r * T) * N(d2)
    put = K * math.exp(-r * T) * N(-d2) - S * N(-d1)
    return (call, put)


@case(100.0, 100.0, 1.0, 0.05, 0.2, 50)
def binomial_option(S0, K, T, r, sigma, N):
    dt = T / N
    u = np.exp(sigma * np.sqrt(dt))
    d = 1 / u
    p = (np.exp(r * dt) - d) / (u - d)
    prices = S0 * d ** np.arange(N, -1, -1) * u ** np.arange(0, N + 1, 1)
    values = np.maximum(K - prices, 0)
    for i in range(N - 1, -1, -1):
        values = np.exp(-r * dt) * (p * values[1:i + 2] + (1 - p) * values[0:i + 1])
        prices = prices[:i + 1] * u
        values = np.maximum(values, K - prices)
    return values[0]


@case(X)
def sharpe(r):
    excess = r - 0.02 / DAYS
    return np.sqrt(DAYS) * excess.mean() / excess.std(ddof=1)


@case(M, 2)
def moving_mean_2d(a, r):
    h, w = a.shape
    out = np.empty_like(a)
    for i in prange(h):
        for j in range(w):
            lo_i, hi_i = (max(0, i - r), min(h, i + r + 1))
            lo_j, hi_j = (max(0, j - r), min(w, j + r + 1))
            out[i, j] = a[lo_i:hi_i, lo_j:hi_j].mean()
    return out


@case(IMG)
def otsu(image):
    hist = np.bincount(image.ravel(), minlength=256)
    total = image.size
    sum_total = np.dot(np.arange(256), hist)
    sum_b = 0.0
    w_b = 0
    best, threshold = (0.0, 0)
    for t in range(256):
        w_b += hist[t]
        if w_b == 0:
            continue
        w_f = total - w_b
        if w_f == 0:
            break
        sum_b += t * hist[t]
        m_b = sum_b / w_b
        m_f = (sum_total - sum_b) / w_f
        between = w_b * w_f * (m_b - m_f) ** 2
        if between > best:
            best = between
            threshold = t
    return threshold


@case(IMG)
def median_filter(img):
    out = img.copy()
    h, w = img.shape
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            out[y, x] = np.median(img[y - 1:y + 2, x - 1:x + 2])
    return out


@case(np.stack([IMG, IMG // 2, IMG // 3], axis=-1))
def to_gray(rgb):
    return (0.299 * rgb[..., 0] + 0.587 * rgb[..., 1] + 0.114 * rgb[..., 2]).astype(np.uint8)


@case(IMG)
def bilinear_half(img):
    h, w = img.shape
    small = img[:h // 2 * 2, :w // 2 * 2].astype(np.float64)
    return (small[0::2, 0::2] + small[1::2, 0::2] + small[0::2, 1::2] + small[1::2, 1::2]) / 4


@case(IMG > 120)
def label_components(binary):
    h, w = binary.shape
    labels = np.zeros((h, w), dtype=np.int32)
    current = 0
    for i in range(h):
        for j in range(w):
            if binary[i, j] and labels[i, j] == 0:
                current += 1
                stack = [(i, j)]
                labels[i, j] = current
                while stack:
                    y, x = stack.pop()
                    for dy, dx in DIRS:
                        ny, nx = (y + dy, x + dx)
                        if 0 <= ny < h and 0 <= nx < w and binary[ny, nx] and (not labels[ny, nx]):
                            labels[ny, nx] = current
                            stack.append((ny, nx))
    return (labels, current)


@case(IMG)
def integral_image(img):
    s = np.cumsum(np.cumsum(img.astype(np.int64), axis=0), axis=1)
    p = np.zeros((s.shape[0] + 1, s.shape[1] + 1), dtype=s.dtype)
    p[1:, 1:] = s
    return p


@case(np.array([1, 2, 3, 4, 5]), np.array([1, 3, 3, 5]))
def levenshtein(a, b):
    m, n = (len(a), len(b))
    prev = list(range(n + 1))
    for i in range(1, m + 1):
        cur = [i] + [0] * n
        for j in range(1, n + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            cur[j] = min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + cost)
        prev = cur
    return prev[n]


@case(np.array([3, 4, 5, 9]), np.array([2, 3, 4, 7]), 10)
def knapsack(w, v, cap):
    n = len(w)
    dp = [[0] * (cap + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for c in range(cap + 1):
            dp[i][c] = dp[i - 1][c]
            if w[i - 1] <= c:
                dp[i][c] = max(dp[i][c], dp[i - 1][c - w[i - 1]] + v[i - 1])
    return dp[n][cap]


@case(np.array([3, 4, 5, 9]), np.array([2, 3, 4, 7]), 10)
def knapsack1(w, v, cap):
    dp = np.zeros(cap + 1, dtype=int)
    for wt, val in zip(w, v):
        for c in range(cap, wt - 1, -1):
            dp[c] = max(dp[c], dp[c - wt] + val)
    return dp[-1]


@case(np.array([10, 20, 30, 40, 30]))
def matrix_chain(dims):
    n = len(dims) - 1
    m = np.zeros((n, n))
    for length in range(2, n + 1):
        for i in range(n - length + 1):
            j = i + length - 1
            m[i, j] = float("inf")
            for k in range(i, j):
                q = m[i, k] + m[k + 1, j] + dims[i] * dims[k + 1] * dims[j + 1]
                if q < m[i, j]:
                    m[i, j] = q
    return m[0, n - 1]


@case(30)
def fib_memo(n):
    memo = {0: 0, 1: 1}
    for i in range(2, n + 1):
        memo[i] = memo[i - 1] + memo[i - 2]
    return memo[n]


@case(I)
def counts(a):
    d = {}
    for x in a:
        if d.get(x) is None:
            d[x] = 0
        d[x] += 1
    return (len(d), d[a[0]])


@case(I)
def counts2(a):
    d = {}
    for x in a:
        d[x] = d.get(x, 0) + 1
    keys = sorted(d)
    out = np.zeros((len(keys), 2), dtype=np.int64)
    for i, k in enumerate(keys):
        out[i, 0] = k
        out[i, 1] = d[k]
    return out


@case(I, 17)
def two_sum(nums, target):
    seen = {}
    for i, x in enumerate(nums):
        if target - x in seen:
            return (seen[target - x], i)
        seen[x] = i
    return (-1, -1)


@case(I)
def distinct(a):
    seen = set()
    out = []
    for x in a:
        if x not in seen:
            seen.add(x)
            out.append(x)
    return np.array(out)


@case(X, 5)
def local_max(x, order):
    res = []
    for i in range(order, len(x) - order):
        if all((x[i] >= x[i - k] for k in range(1, order))) and all((x[i] >= x[i + k] for k in range(1, order))):
            res.append(i)
    return np.array(res, dtype=np.int64)


@case(Z)
def dft(x):
    N = len(x)
    n = np.arange(N)
    k = n.reshape((N, 1))
    M = np.exp(-2j * np.pi * k * n / N)
    return np.dot(M, x)


@case(R.random(16) + 0j)
def fft_iter(x):
    n = x.shape[0]
    out = x.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j ^= bit
        if i < j:
            out[i], out[j] = (out[j], out[i])
    length = 2
    while length <= n:
        ang = -2 * math.pi / length
        wl = complex(math.cos(ang), math.sin(ang))
        for i in range(0, n, length):
            w = 1 + 0j
            for k in range(length // 2):
                u = out[i + k]
                v = out[i + k + length // 2] * w
                out[i + k] = u + v
                out[i + k + length // 2] = u - v
                w *= wl
        length <<= 1
    return out


@case(20)
def julia(n):
    c = -0.8 + 0.156j
    img = np.zeros((n, n), dtype=np.uint16)
    for i in prange(n):
        for j in range(n):
            z = complex(-1.5 + 3 * j / n, -1.5 + 3 * i / n)
            it = 0
            while abs(z) <= 2 and it < 100:
                z = z * z + c
                it += 1
            img[i, j] = it
    return img


@case(R.random((10, 3)), R.random(10), 0.01)
def nbody_step(pos, mass, dt):
    n = pos.shape[0]
    acc = np.zeros_like(pos)
    for i in range(n):
        for j in range(n):
            if i != j:
                d = pos[j] - pos[i]
                r = np.sqrt(d[0] ** 2 + d[1] ** 2 + d[2] ** 2 + 0.0001)
                acc[i] += mass[j] * d / r ** 3
    pos += acc * dt ** 2
    ke = 0.5 * np.sum(mass * np.sum(acc ** 2, axis=1))
    return (acc, ke)


@case(R.random((6, 3)))
def lj_energy(pos):
    e = 0.0
    for i in range(len(pos) - 1):
        dr = pos[i + 1:] - pos[i]
        r2 = (dr ** 2).sum(axis=1)
        inv6 = 1.0 / r2 ** 3
        e += (4 * (inv6 ** 2 - inv6)).sum()
    return e


@case(PART, 0.1)
def push(p, dt):
    n = 0
    for i in range(len(p)):
        if p[i]["alive"]:
            p[i]["pos"] += p[i]["vel"] * dt
            if p[i]["pos"] > 0.5:
                p[i]["alive"] = False
                n += 1
    return (n, (p["mass"] * p["vel"] ** 2).sum() / 2)


@case(PART)
def com(p):
    return np.average(p["pos"], weights=p["mass"])


@case(M)
def normalize_cols(a):
    mu = a.mean(axis=0)
    sd = a.std(axis=0)
    return (a - mu) / np.where(sd == 0, 1, sd)


@case(M)
def normalize_keep(a):
    return a / np.linalg.norm(a, axis=1, keepdims=True)


@case(M)
def dax(a):
    return (np.diff(a, axis=0), np.diff(a, axis=1), np.diff(a, n=2), np.diff(a))


@case(M, R.random(8))
def avgax(a, w):
    return (np.average(a, axis=0), np.average(a, axis=1), np.average(a, axis=0, weights=w))


@case(M)
def pct(a):
    return (np.percentile(a, 50, axis=0), np.percentile(a, [25, 75]), np.median(a, axis=1), np.quantile(a, 0.3))


@case(X)
def hist(x):
    h, e = np.histogram(x, bins=10, range=(0, 1))
    c = 0.5 * (e[1:] + e[:-1])
    return (h, c, c[np.argmax(h)])


@case(X)
def hist_density(x):
    h, e = np.histogram(x, bins=8, density=True)
    return (h, np.digitize(x, e))


@case(X, Y)
def einsumlike(a, b):
    n = a.size
    out = np.empty((n, n))
    for i in range(n):
        out[i, :] = a[i] * b
    return (out, np.outer(a, b), (a[:, np.newaxis] * b[np.newaxis, :]).trace(), np.sum(a * b), np.inner(a, b),
        np.vdot(a, b))


@case(S)
def gram_schmidt(A):
    m, n = A.shape
    Q = np.zeros((m, n))
    Rr = np.zeros((n, n))
    for k in range(n):
        v = A[:, k].copy()
        for i in range(k):
            Rr[i, k] = Q[:, i].T @ A[:, k]
            v -= Rr[i, k] * Q[:, i]
        Rr[k, k] = np.linalg.norm(v)
        Q[:, k] = v / Rr[k, k]
    return (Q, Rr)


@case(S)
def cholesky(A0):
    A = A0 @ A0.T + np.eye(len(A0)) * 3
    n = A.shape[0]
    A[0, 0] = np.sqrt(A[0, 0])
    for i in range(1, n):
        for j in range(i):
            A[i, j] -= np.dot(A[i, :j], A[j, :j])
            A[i, j] /= A[j, j]
        A[i, i] -= np.dot(A[i, :i], A[i, :i])
        A[i, i] = np.sqrt(A[i, i])
    return np.tril(A)


@case(S, R.random(6))
def back_sub(U, b):
    n = len(b)
    x = np.zeros(n)
    for i in range(n)[::-1]:
        x[i] = (b[i] - U[i, i + 1:] @ x[i + 1:]) / U[i, i]
    return x


@case(S)
def durbin(r0):
    r = r0[0]
    y = np.empty_like(r)
    alpha = -r[0]
    beta = 1.0
    y[0] = -r[0]
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


@case(M, 3)
def seidel(A, T):
    N = A.shape[0]
    for t in range(0, T - 1):
        for i in range(1, N - 1):
            A[i, 1:-1] += A[i - 1, :-2] + A[i - 1, 1:-1] + A[i - 1, 2:] + A[i, 2:] + A[i + 1, :-2] + A[i + 1,
                1:-1] + A[i + 1, 2:]
            for j in range(1, N - 1):
                A[i, j] += A[i, j - 1]
                A[i, j] /= 9.0


@case(R.random((4, 4, 3)), R.random((2, 2, 3)))
def conv_hwc(x, w):
    K = w.shape[0]
    H = x.shape[0] - K + 1
    out = np.empty((H, H))
    for i in range(H):
        for j in range(H):
            out[i, j] = np.sum(x[i:i + K, j:j + K, :] * w)
    return np.maximum(out, 0)


@case(M)
def softmax(x):
    tmp_max = np.max(x, axis=-1, keepdims=True)
    tmp_out = np.exp(x - tmp_max)
    tmp_sum = np.sum(tmp_out, axis=-1, keepdims=True)
    return tmp_out / tmp_sum


@case(X, Y)
def pearson(x, y):
    xm = x - np.mean(x)
    ym = y - np.mean(y)
    r = xm @ ym / (np.sqrt((xm ** 2).sum()) * np.sqrt((ym ** 2).sum()))
    return (r, np.corrcoef(x, y)[0, 1])


@case(X, Y)
def ks_stat(a, b):
    a = np.sort(a)
    b = np.sort(b)
    allv = np.concatenate((a, b))
    cdf1 = np.searchsorted(a, allv, side="right") / len(a)
    cdf2 = np.searchsorted(b, allv, side="right") / len(b)
    return np.max(np.abs(cdf1 - cdf2))


@case(X, Y)
def spearman(x, y):

    def rank(v):
        order = np.argsort(v)
        ranks = np.empty(len(v))
        ranks[order] = np.arange(len(v))
        return ranks
    rx, ry = (rank(x), rank(y))
    n = len(x)
    return 1 - 6 * np.sum((rx - ry) ** 2) / (n * (n ** 2 - 1))


@case(X)
def bootstrap_idx(x):
    n = x.size
    idx = (np.arange(n) * 7 + 3) % n
    y = x[idx]
    lo, hi = np.percentile(y, [2.5, 97.5])
    return (lo, hi, y[-1], y[:-3:-1].copy(), x[-5:].mean())


@case(MASK, M)
def masked_stats(mask, a):
    n = mask.sum()
    if n == 0:
        return (np.nan, np.nan, np.zeros(10, dtype=np.int64), np.nan, np.nan)
    b = a.copy()
    b[~mask] = 0
    return (b.sum() / n, a[mask].std(), np.count_nonzero(mask, axis=0), a[mask & (a > 0.3)].max(), (a > 0.5).mean())


@case(M)
def inplace_ops(a):
    a *= 2
    a -= a.mean()
    a[::2, :] /= 3
    a[:, -1] = 0
    a[-1] += 1
    a **= 2
    np.clip(a, 0, 2, out=a)
    np.sqrt(a, out=a)
    return a.max(axis=1) - a.min(axis=1)


@case(100)
def primes_list(n):
    primes = []
    for num in range(2, n):
        for p in primes:
            if p * p > num:
                primes.append(num)
                break
            if num % p == 0:
                break
        else:
            primes.append(num)
    return primes


@case(100)
def primes_any(n):
    out = []
    for i in range(2, n):
        is_p = True
        for d in range(2, int(math.sqrt(i)) + 1):
            if i % d == 0:
                is_p = False
                break
        if is_p:
            out.append(i)
    return (sum(out), len(out), out[-1])


@case(0.0, 2.0, 1e-10)
def bisect(a, b, tol=1e-08, maxiter=100):
    f = lambda x: x ** 3 - x - 2
    fa = f(a)
    for _ in range(maxiter):
        c = (a + b) / 2
        fc = f(c)
        if fc == 0 or (b - a) / 2 < tol:
            return c
        if (fc > 0) == (fa > 0):
            a, fa = (c, fc)
        else:
            b = c
    return None


@case(1000, 42)
def mc_pi(n, seed):
    x = seed
    inside = 0
    for i in range(n):
        x = (1103515245 * x + 12345) % 2 ** 31
        a = x / 2 ** 31
        x = 1103515245 * x + 12345 & 2147483647
        b = x / 2147483647
        inside += a * a + b * b <= 1.0
    return 4.0 * inside / n


@case(np.array([0, 1, 1, 2, 3, 3]), np.array([1, 2, 3, 3, 4, 5]), 6)
def bfs(src, dst, n):
    adj = np.zeros((n, n), dtype=bool)
    adj[src, dst] = True
    dist = -np.ones(n, dtype=np.int64)
    queue = [0]
    dist[0] = 0
    while len(queue) > 0:
        u = queue.pop(0)
        for v in range(n):
            if adj[u, v] and dist[v] == -1:
                dist[v] = dist[u] + 1
                queue.append(v)
    return dist


@case(R.random((6, 6)))
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


@case(X, "mean")
def agg(x, how="sum"):
    if how == "sum":
        return x.sum()
    elif how == "mean":
        return x.mean()
    elif how in ("max", "maximum"):
        return x.max()
    else:
        raise ValueError(f"unknown {how}")


@case(R.random((5, 4)), np.array([0, 2, 1, 1, 3]))
def cross_entropy(p, y):
    n = y.shape[0]
    ll = -np.log(p[np.arange(n), y] + 1e-12)
    onehot = np.zeros_like(p)
    onehot[np.arange(n), y] = 1
    return (ll.mean(), (p - onehot) / n, np.argmax(p, axis=1) == y)


@case(X, Y)
def polyline(x, y):
    seg = np.hypot(np.diff(x), np.diff(y))
    s = np.concatenate(([0.0], np.cumsum(seg)))
    t = np.linspace(0, s[-1], 7)
    return (np.interp(t, s, x), s[-1])


@case(50, 0.5)
def wave(n, c):
    x = np.linspace(0, 1, n, endpoint=False)
    u = np.exp(-100 * (x - 0.5) ** 2)
    up = u.copy()
    for _ in range(10):
        un = 2 * u - up + c ** 2 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
        up, u = (u, un)
    return u


@case(I)
def rle(a):
    change = np.flatnonzero(np.diff(a) != 0) + 1
    starts = np.r_[0, change]
    lens = np.diff(np.append(starts, len(a)))
    return (a[starts], lens)


@case(X, 3)
def topn(x, n):
    idx = np.argsort(x)[::-1][:n]
    idx2 = np.argsort(-x)[:n]
    return (x[idx], idx2, np.sort(x)[-n:])


@case(R.normal(size=(30, 2)), 3)
def em_step(x, k):
    n, d = x.shape
    mu = x[:k].copy()
    sigma = np.ones((k, d))
    pi = np.ones(k) / k
    resp = np.zeros((n, k))
    for i in range(n):
        total = 0.0
        for j in range(k):
            p = pi[j]
            for m in range(d):
                p *= np.exp(-0.5 * ((x[i, m] - mu[j, m]) / sigma[j, m]) ** 2) / (sigma[j, m] * np.sqrt(2 * np.pi))
            resp[i, j] = p
            total += p
        resp[i] /= total
    nk = resp.sum(axis=0)
    mu = resp.T @ x / nk[:, None]
    return (mu, nk)


@case(M[:7, :9])
def checkerboard(a):
    out = np.zeros(a.shape)
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            out[i, j] = a[i, j] if (i + j) % 2 == 0 else -a[i, j]
    return (out.sum(-1), out.min(axis=(0, 1)), out[..., ::2].mean(), np.prod(a.shape))


@case(I[:30])
def memberships(a):
    return (np.isin(a, [1, 2, 3]), np.isin(a, np.array([4])).sum())


@case(M[:7, :9])
def places(a):
    idx = np.argwhere(a > 0.5)
    i, j = np.unravel_index(np.argmax(a), a.shape)
    return (idx, i, j, a[i, j])


@case(X[:40])
def inequality(x):
    total = np.cumsum(x)[-1]
    frac = x / total
    ent = -(frac * np.log2(frac)).sum()
    gini = np.abs(x[:, None] - x[None, :]).sum() / (2 * len(x) ** 2 * x.mean())
    return (ent, gini, round(ent, 3), x.tolist()[:3])


@case(R.random((4, 5, 6)))
def correlations(t):
    n = t.shape[0]
    r = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            r[i, j] = r[j, i] = np.sum(t[i] * t[j])
    return (r, t.mean(axis=(1, 2)), t[:, 1, :].T.copy(), t.transpose(2, 0, 1).copy(), t.reshape(4, -1).sum(axis=1))


@case(X[:40], Y[:40])
def least_squares(x, y):
    A = np.column_stack((np.ones(len(x)), x, x ** 2))
    coef = np.linalg.solve(A.T @ A, A.T @ y)
    res = y - A @ coef
    return (coef, np.sqrt((res ** 2).mean()), 1 - res.var() / y.var())


@case(Z[:12])
def polar(z):
    r = np.abs(z)
    ph = np.angle(z)
    w = r * np.exp(1j * ph)
    return (w, z.real.sum(), z.imag.max(), (z * z.conj()).real.copy(), np.sum(z), z.mean(), z ** 2, 1 / z, np.sqrt(z))


@case(X[:40])
def gaps(x):
    mask = (x > 0.2) & ~(x > 0.8) | (x == 0)
    y = np.where(mask, x, np.nan)
    return (np.nanmean(y), np.nanstd(y), np.nanmax(y), np.isnan(y).sum(), y[~np.isnan(y)].size, np.nanmedian(y))


@case(M[:7, :9])
def upper_triangle(a):
    iu = np.triu_indices(5, 1)
    b = a[:5, :5]
    return b[iu].sum()


@case(X[:40])
def defaults_inside(x):

    def g(v, p=2, *, s=1.0):
        return s * v ** p
    return (g(x[0]), g(x[1], 3), g(x[2], s=2.0), 0)


@case(X[:40])
def extremes_by_name(x):
    lo, hi = (x[0], x[0])
    for v in x[1:]:
        if v < lo:
            lo = v
        elif v > hi:
            hi = v
    return {"lo": lo, "hi": hi}


@case(6)
def spiral(n):
    grid = np.full((n, n), fill_value=-1, dtype=np.int32)
    k = 0
    top, left, bottom, right = (0, 0, n - 1, n - 1)
    while top <= bottom and left <= right:
        for j in range(left, right + 1):
            grid[top, j] = k
            k += 1
        top += 1
        for i in range(top, bottom + 1):
            grid[i, right] = k
            k += 1
        right -= 1
        if top <= bottom:
            for j in range(right, left - 1, -1):
                grid[bottom, j] = k
                k += 1
            bottom -= 1
        if left <= right:
            for i in range(bottom, top - 1, -1):
                grid[i, left] = k
                k += 1
            left += 1
    return grid


@case(X[:30], I[:30])
def group_means(x, lab):
    K = lab.max() + 1
    sums = np.zeros(K)
    cnt = np.zeros(K, int)
    np.add.at(sums, lab, x)
    np.add.at(cnt, lab, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return (sums / cnt, np.bincount(lab, weights=x) / np.maximum(cnt, 1))


@case(X[:40])
def smoothed(x):
    w = np.hanning(9)
    s = np.r_[x[8:0:-1], x, x[-2:-10:-1]]
    y = np.convolve(w / w.sum(), s, mode="valid")
    return y


@case(M[:7, :9])
def edges(a):
    p = np.pad(a, 1, mode="edge")
    gx = p[1:-1, 2:] - p[1:-1, :-2]
    gy = p[2:, 1:-1] - p[:-2, 1:-1]
    mag = np.hypot(gx, gy)
    ang = np.rad2deg(np.arctan2(gy, gx)) % 180
    return (mag, ang, (mag > mag.mean()).astype(np.uint8) * 255)


@case(I[:30])
def runs(a):
    best_len = cur = 1
    for p, q in zip(a[:-1], a[1:]):
        cur = cur + 1 if q >= p else 1
        best_len = max(best_len, cur)
    return (best_len, any(a == 3), all(a >= 0), a.any(), list(a[:3]))


@case(np.array([[1, 2], [3, 4]]), 5)
def matrix_power(m, n):
    r = np.eye(2, dtype=np.int64)
    b = m.copy()
    while n:
        if n & 1:
            r = r @ b
        b = b @ b
        n >>= 1
    return r


@case(X[:40])
def density(x):
    kde = np.zeros(20)
    grid = np.linspace(x.min(), x.max(), 20)
    h = 1.06 * x.std() * len(x) ** (-1 / 5)
    for i, g in enumerate(grid):
        kde[i] = np.exp(-0.5 * ((g - x) / h) ** 2).sum() / (len(x) * h * np.sqrt(2 * np.pi))
    return (grid, kde, np.trapezoid(kde, grid))


@case(R.random((4, 5, 6)))
def three_dimensions(t):
    out = np.empty((t.shape[0], t.shape[2]))
    for i, m in enumerate(t):
        out[i] = m.max(axis=0)
    for (i, j, k), v in np.ndenumerate(t):
        out[i, k] += v * j
    return out


@case(X[:40])
def picks(x):
    y = x[x > 0.3][::2]
    z = x[np.argsort(x)[-3:]]
    x[x < 0.1] += 5
    x[-1], x[0] = (x[0], x[-1])
    return (y, z, x[len(x) // 2], np.ptp(x), np.flatnonzero(x > 1))


@case(40)
def fizz_buzz(n):
    fizz = []
    for i in range(1, n + 1):
        if i % 15 == 0:
            fizz.append(-15)
        elif i % 5 == 0:
            fizz.append(-5)
        elif i % 3 == 0:
            fizz.append(-3)
        else:
            fizz.append(i)
    return (fizz, fizz.count(-3), [f for f in fizz if f > 0][-1])


@case(M[:7, :9])
def indices_in_tuples(a):
    p = (2, 3)
    k = np.unravel_index(np.argmax(a), a.shape)
    a[p] = 5
    a[p] += 1
    a[k] = -1
    il = np.tril_indices(4)
    b = a[:4, :4].copy()
    b[il] = 0
    k2 = np.where(a[0] > 0.5)
    k3 = np.nonzero(b > 0.3)
    b[k3] = 9
    a[0][k2] = 3
    return (a[k], a[p], b, b[il].sum())


@case(R.random((4, 5, 6)))
def orders_of_axes(t):
    u = t.transpose(2, 0, 1)
    v = np.moveaxis(t, 0, -1)
    w = np.swapaxes(t, 0, 1)
    s = 0.0
    for i in range(u.shape[0]):
        s += u[i, 1, 2] * v[1, i, 0]
    return (s, u.copy(), w[1].copy(), np.transpose(t, (1, 2, 0)).sum(axis=2), t[0].transpose().copy(),
        t.transpose().copy())


@case(6)
def identities(n):
    return (np.eye(3, dtype=int), np.eye(2, 3), np.eye(4, k=-1), np.identity(2), np.eye(3, 4, 1, dtype=np.float32))


@case(M[:7, :9])
def more_of_numpy(a):
    return (a.max(), a[a > 0.5][::2].copy(), np.isin(np.array([[1, 2], [3, 4]]), [2, 3]), np.nanpercentile(a, 30),
        np.argwhere(a[0] > 0.5), np.hanning(1), np.hanning(8), np.hamming(5), any(a[0] > 2), all(a[0] > 0))


@case(X[:40])
def named_results(x):
    lo, hi = (x[0], x[0])
    for v in x[1:]:
        if v < lo:
            lo = v
        elif v > hi:
            hi = v
    return {"lo": lo, "hi": hi, "n": len(x)}


@case(X, 0.5)
@case(X, 2.0)
def none_or_named(x, t):
    if t > 1:
        return None
    return {"first": [v for v in x if v > t][0], "all": [v for v in x if v > t]}


class Newcomers(support.Comparisons):
    def test_on_the_host(self):
        case.compare(self)

    def test_on_a_device(self):
        with dhpvm.Engine(device="sim"):
            case.compare(self)


if __name__ == "__main__":
    support.main()
