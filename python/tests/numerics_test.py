#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of scientists: transforms, equations, graphs, clusters."""

import math

import numpy as np
import support

from dhpvm import prange

random = np.random.default_rng(3)
case = support.Cases(fit=support.nearly)


@case(random.random(16) + 0j)
def fft(x):
    n = x.shape[0]
    y = x.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            y[i], y[j] = y[j], y[i]
    length = 2
    while length <= n:
        w_len = np.exp(-2j * np.pi / length)
        for i in range(0, n, length):
            w = 1.0 + 0.0j
            for k in range(length // 2):
                u = y[i + k]
                v = y[i + k + length // 2] * w
                y[i + k] = u + v
                y[i + k + length // 2] = u - v
                w *= w_len
        length *= 2
    return y


@case(random.random(20))
def welch(x, nperseg=8, noverlap=4):
    step = nperseg - noverlap
    win = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(nperseg) / nperseg)
    scale = 1.0 / (win ** 2).sum()
    n = (len(x) - noverlap) // step
    psd = np.zeros(nperseg // 2 + 1)
    for s in range(n):
        seg = x[s * step:s * step + nperseg]
        seg = (seg - seg.mean()) * win
        for k in range(len(psd)):
            z = 0j
            for t in range(nperseg):
                z += seg[t] * np.exp(-2j * np.pi * k * t / nperseg)
            psd[k] += (z * z.conjugate()).real * scale
    psd /= n
    return psd


@case(32, 1.0)
def crank_nicolson(n, L):
    x = np.linspace(-L, L, n)
    dx = x[1] - x[0]
    dt = 0.01
    psi = np.exp(-(x ** 2) * 10) * np.exp(1j * 5 * x)
    norm = np.sqrt((np.abs(psi) ** 2).sum() * dx)
    psi = psi / norm
    a = 1j * dt / (4 * dx * dx)
    for _ in range(5):
        rhs = psi.copy()
        rhs[1:-1] += a * (psi[2:] - 2 * psi[1:-1] + psi[:-2])
        c = np.zeros(n, dtype=complex)
        d = np.zeros(n, dtype=complex)
        b = 1 + 2 * a
        c[0] = -a / b
        d[0] = rhs[0] / b
        for i in range(1, n):
            m = b + a * c[i - 1]
            c[i] = -a / m
            d[i] = (rhs[i] + a * d[i - 1]) / m
        psi[n - 1] = d[n - 1]
        for i in range(n - 2, -1, -1):
            psi[i] = d[i] - c[i] * psi[i + 1]
    return psi, np.sum(np.abs(psi) ** 2) * dx


@case(random.random((30, 2)), 0.2, 3)
def dbscan(X, eps, min_pts):
    n = len(X)
    labels = np.full(n, -1)
    cluster = 0
    visited = np.zeros(n, dtype=bool)
    for i in range(n):
        if visited[i]:
            continue
        visited[i] = True
        neigh = np.where(np.sqrt(((X - X[i]) ** 2).sum(axis=1)) < eps)[0]
        if len(neigh) < min_pts:
            continue
        labels[i] = cluster
        queue = [int(v) for v in neigh]
        k = 0
        while k < len(queue):
            j = queue[k]
            if not visited[j]:
                visited[j] = True
                nj = np.where(np.sqrt(((X - X[j]) ** 2).sum(axis=1)) < eps)[0]
                if nj.size >= min_pts:
                    for q in nj:
                        queue.append(int(q))
            if labels[j] == -1:
                labels[j] = cluster
            k += 1
        cluster += 1
    return labels, cluster


@case(random.integers(1, 20, (5, 5)).astype(float))
def dijkstra(w, src=0):
    n = w.shape[0]
    dist = np.full(n, np.inf)
    done = np.zeros(n, bool)
    dist[src] = 0.0
    prev = -np.ones(n, dtype=int)
    for _ in range(n):
        u, best = -1, np.inf
        for v in range(n):
            if not done[v] and dist[v] < best:
                best, u = dist[v], v
        if u < 0:
            break
        done[u] = True
        for v in range(n):
            alt = dist[u] + w[u, v]
            if alt < dist[v]:
                dist[v], prev[v] = alt, u
    return dist, prev


@case(random.random((6, 6)))
def distance_transform(img):
    b = img > 0.3
    h, w = b.shape
    d = np.where(b, h + w, 0)
    for i in range(h):
        for j in range(w):
            if i > 0:
                d[i, j] = min(d[i, j], d[i - 1, j] + 1)
            if j > 0:
                d[i, j] = min(d[i, j], d[i, j - 1] + 1)
    for i in reversed(range(h)):
        for j in reversed(range(w)):
            if i < h - 1:
                d[i, j] = min(d[i, j], d[i + 1, j] + 1)
            if j < w - 1:
                d[i, j] = min(d[i, j], d[i, j + 1] + 1)
    return d


@case(random.random(30), random.random(30))
def kendall(x, y):
    n = x.size
    conc = disc = 0
    for i in range(n - 1):
        s = np.sign(x[i + 1:] - x[i]) * np.sign(y[i + 1:] - y[i])
        conc += (s > 0).sum()
        disc += np.count_nonzero(s < 0)
    return (conc - disc) / (n * (n - 1) / 2)


@case(random.random(50))
def kde(x, h=None):
    n = len(x)
    if h is None:
        h = 1.06 * np.std(x, ddof=1) * n ** (-1 / 5)
    grid = np.linspace(x.min() - 3 * h, x.max() + 3 * h, 64)
    u = (grid[:, None] - x) / h
    return grid, np.exp(-0.5 * u * u).sum(axis=1) / (n * h * math.sqrt(2 * math.pi))


@case(random.random((4, 4)))
def qr_gs(A):
    m, n = A.shape
    Q = np.zeros((m, n))
    R = np.zeros((n, n))
    for j in range(n):
        v = A[:, j].copy()
        for i in range(j):
            R[i, j] = Q[:, i] @ A[:, j]
            v -= R[i, j] * Q[:, i]
        R[j, j] = np.linalg.norm(v)
        Q[:, j] = v / R[j, j]
    return Q, R


@case(np.array([[4., 1, 0], [1, 3, 1], [0, 1, 2]]), np.ones(3))
def cg(A, b, tol=1e-10, maxiter=None):
    maxiter = maxiter or 10 * len(b)
    x = np.zeros_like(b)
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    it = 0
    while it < maxiter and rs ** 0.5 > tol:
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        rs_new = r @ r
        p = r + (rs_new / rs) * p
        rs = rs_new
        it += 1
    return x, it


@case(np.array([1, 2, 3, 3, 2, 1, 1]))
def rle(a):
    values, counts = [], []
    i = 0
    while i < len(a):
        j = i
        while j < len(a) and a[j] == a[i]:
            j += 1
        values.append(a[i])
        counts.append(j - i)
        i = j
    return np.array(values), np.array(counts)


@case(random.random((3, 8)))
def detrend(y, order=1):
    t = np.arange(y.shape[-1])
    t = t - t.mean()
    out = np.empty_like(y)
    for k, row in enumerate(y):
        slope = (t * (row - row.mean())).sum() / (t * t).sum()
        out[k] = row - row.mean() - slope * t
    return out


@case(10)
def pascal(n):
    tri = np.zeros((n, n), dtype=np.int64)
    tri[:, 0] = 1
    for i in range(1, n):
        tri[i, 1:i + 1] = tri[i - 1, :i] + tri[i - 1, 1:i + 1]
    return tri


@case(random.random((5, 3)), random.random(5) > 0.5)
def logistic_grad(X, y, lr=0.1, epochs=20):
    w = np.zeros(X.shape[1])
    b = 0.0
    losses = []
    for e in range(epochs):
        z = X @ w + b
        p = 1 / (1 + np.exp(-z))
        g = p - y
        w -= lr * (X.T @ g) / len(y)
        b -= lr * g.mean()
        losses.append(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))
    return w, b, np.array(losses)


@case(random.random(12))
def simpson(f):
    n = len(f)
    if n % 2 == 0:
        f = f[:-1]
        n -= 1
    w = np.ones(n)
    w[1:-1:2] = 4
    w[2:-1:2] = 2
    return (w * f).sum() / 3


@case(0.3, 5)
def legendre(x, n):
    p0, p1 = 1.0, x
    if n == 0:
        return p0
    for k in range(2, n + 1):
        p0, p1 = p1, ((2 * k - 1) * x * p1 - (k - 1) * p0) / k
    return p1


@case(random.random((4, 5)))
def bilinear(img, scale=2):
    h, w = img.shape
    out = np.zeros((h * scale, w * scale))
    for y in prange(h * scale):
        fy = min(max((y + 0.5) / scale - 0.5, 0), h - 1)
        y0 = int(np.floor(fy))
        y1 = min(y0 + 1, h - 1)
        for x in range(w * scale):
            fx = min(max((x + 0.5) / scale - 0.5, 0), w - 1)
            x0, x1 = int(fx), min(int(fx) + 1, w - 1)
            a, b = fy - y0, fx - x0
            above = (1 - b) * img[y0, x0] + b * img[y0, x1]
            below = (1 - b) * img[y1, x0] + b * img[y1, x1]
            out[y, x] = (1 - a) * above + a * below
    return out


@case(np.array([2.5, 1.0, -3.0]))
def quad_roots(c):
    a, b, d = c
    disc = b * b - 4 * a * d
    if disc < 0:
        r = (-b + np.sqrt(disc + 0j)) / (2 * a)
        return r, r.conjugate()
    s = math.sqrt(disc)
    return complex((-b + s) / (2 * a)), complex((-b - s) / (2 * a))


@case(random.integers(0, 4, 20), random.integers(0, 4, 20))
def confusion(t, p, k=4):
    m = np.zeros((k, k), int)
    for a, b in zip(t, p):
        m[a, b] += 1
    acc = np.trace(m) / m.sum()
    prec = np.diag(m) / np.maximum(m.sum(axis=0), 1)
    return m, acc, prec


@case(random.random((8, 3)), random.random(3))
def nearest(points, q, k=3):
    d = np.linalg.norm(points - q, axis=1)
    idx = np.argsort(d)[:k]
    return idx, d[idx], points[idx].mean(0)


@case(random.random(10))
def running_stats(x):
    mean = m2 = 0.0
    n = 0
    lo, hi = math.inf, -math.inf
    for v in x:
        n += 1
        delta = v - mean
        mean += delta / n
        m2 += delta * (v - mean)
        lo = v if v < lo else lo
        hi = max(hi, v)
    var = m2 / (n - 1) if n > 1 else float("nan")
    return mean, var, lo, hi


@case(random.random((3, 4)), random.random((4, 2)))
def matmul(A, B):
    assert A.shape[1] == B.shape[0], "shapes"
    C = np.zeros((A.shape[0], B.shape[1]), dtype=A.dtype)
    for i, j in np.ndindex(*C.shape):
        C[i, j] = sum(A[i, k] * B[k, j] for k in range(A.shape[1]))
    return C


@case(random.random(9))
def lowess_like(y):
    x = np.arange(len(y), dtype=float)
    out = []
    for i in range(len(y)):
        w = np.clip(1 - np.abs(x - x[i]) / 3, 0, None)
        out.append((w * y).sum() / w.sum())
    return np.asarray(out)


@case(random.random(6), 2)
def shift(x, k):
    y = np.full_like(x, np.nan)
    if k > 0:
        y[k:] = x[:-k]
    elif k < 0:
        y[:k] = x[-k:]
    else:
        y[:] = x
    return y


@case(random.random((4, 3)))
def standard(X):
    mu, sd = X.mean(axis=0), X.std(axis=0)
    sd = np.where(sd == 0, 1, sd)
    Z = (X - mu) / sd
    return Z, (mu, sd)


@case(3)
def einsum_like(n):
    a = np.arange(n * n).reshape(n, n)
    b = a.astype(np.float32) / 2
    tot = np.float32(0)
    for i in range(n):
        for j in range(n):
            tot += a[i, j] * b[j, i]
    return tot, a.dtype == b.dtype, b.max(), a.min(axis=1)


@case(random.random(7))
@case(random.random(8))
def even(x):
    if len(x) % 2:
        x = x[1:]
    z = x[2:]
    y = z
    if x[0] > 0:
        y = x[1:]
    s = np.outer(x, x)
    np.fill_diagonal(s, 0)
    return x.sum(), y.sum(), s, np.linalg.norm(s, axis=0)



class Numerics(support.Comparisons):
    def test_all(self):
        case.compare(self)


if __name__ == "__main__":
    support.main()
