#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of scientists: fields, images, matrices, particles."""

import math

import numpy as np
import support
from dhpvm import prange

PARTICLE = np.dtype([("x", "f8"), ("v", "f8"), ("id", "i4")])
G = 6.674e-11

random = np.random.default_rng(7)
case = support.Cases()


@case(random.random((12, 15)), 0.1, 0.01, 5, fit=support.nearly)
def heat_equation(u0, alpha, dt, nsteps, dx=1.0):
    u = u0.copy()
    for step in range(nsteps):
        lap = (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]) / dx**2
        u[1:-1, 1:-1] += alpha * dt * lap
    return u


@case(random.random((40, 2)), 3, 20, fit=support.nearly)
def kmeans(points, k, max_iter=100):
    centroids = points[:k].copy()
    labels = np.zeros(len(points), dtype=int)
    for it in range(max_iter):
        d = ((points[:, None, :] - centroids[None, :, :]) ** 2).sum(axis=2)
        new_labels = d.argmin(axis=1)
        if it > 0 and np.all(new_labels == labels):
            break
        labels = new_labels
        for j in range(k):
            mask = labels == j
            if mask.any():
                centroids[j] = points[mask].mean(axis=0)
    return labels, centroids


@case(random.random((9, 10)), np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0.0]]), fit=support.nearly)
def conv2d(img, ker):
    kh, kw = ker.shape
    h, w = img.shape
    out = np.zeros((h - kh + 1, w - kw + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(img[i:i+kh, j:j+kw] * ker)
    return out


@case(random.random(16), fit=support.nearly)
def dft_power(x):
    n = len(x)
    re = np.zeros(n)
    im = np.zeros(n)
    for k in range(n):
        for t in range(n):
            ang = -2 * np.pi * k * t / n
            re[k] += x[t] * np.cos(ang)
            im[k] += x[t] * np.sin(ang)
    return np.hypot(re, im)


@case(random.random((6, 3)), random.random(6), fit=support.nearly)
def nbody_accel(pos, mass, eps=1e-3):
    n = pos.shape[0]
    acc = np.zeros_like(pos)
    for i in prange(n):
        for j in range(n):
            if i == j:
                continue
            d = pos[j] - pos[i]
            r2 = d @ d + eps**2
            acc[i] += G * mass[j] * d / r2**1.5
    return acc


@case(random.random((5, 5)) + 5 * np.eye(5), random.random(5), fit=support.nearly)
def jacobi(A, b, iters=25):
    x = np.zeros_like(b)
    D = np.diag(A)
    R = A - np.diagflat(D)
    for _ in range(iters):
        x = (b - R @ x) / D
    return x


@case(random.random((5, 5)) + 5 * np.eye(5), random.random(5), fit=support.nearly)
def gauss(A, b):
    A = A.astype(float).copy()
    b = b.copy()
    n = len(b)
    for k in range(n - 1):
        p = k + np.argmax(np.abs(A[k:, k]))
        if p != k:
            A[[k, p]] = A[[p, k]]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i, k:] -= f * A[k, k:]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - np.dot(A[i, i+1:], x[i+1:])) / A[i, i]
    return x


@case(0.0, 1.0, 100, fit=support.nearly)
def rk4(y0, t_end, n):
    def f(t, y):
        return -2 * y + np.sin(t)
    h = t_end / n
    t, y = 0.0, y0
    ts = np.empty(n + 1)
    ys = np.empty(n + 1)
    ts[0], ys[0] = t, y
    for i in range(n):
        k1 = f(t, y)
        k2 = f(t + h/2, y + h*k1/2)
        k3 = f(t + h/2, y + h*k2/2)
        k4 = f(t + h, y + h*k3)
        y += h/6 * (k1 + 2*k2 + 2*k3 + k4)
        t += h
        ts[i+1], ys[i+1] = t, y
    return ts, ys


@case(np.array([1.0, 0.0, 0.0]), 0.01, 50, fit=support.nearly)
def lorenz(state0, dt, n, sigma=10.0, rho=28.0, beta=8/3):
    out = np.empty((n + 1, 3))
    out[0] = state0
    for i in range(n):
        x, y, z = out[i]
        dx = sigma * (y - x)
        dy = x * (rho - z) - y
        dz = x * y - beta * z
        out[i + 1] = out[i] + dt * np.array([dx, dy, dz])
    return out


@case(random.integers(0, 256, (8, 8)).astype(np.uint8))
def histogram_eq(img):
    hist = np.zeros(256, dtype=np.int64)
    for v in img.ravel():
        hist[v] += 1
    cdf = hist.cumsum()
    cdf_min = cdf[cdf > 0][0]
    lut = np.round((cdf - cdf_min) / (img.size - cdf_min) * 255).astype(np.uint8)
    return lut[img]


@case(random.random((7, 3)), random.random((5, 3)), fit=support.nearly)
def cdist(a, b):
    return np.sqrt(((a[:, np.newaxis] - b) ** 2).sum(-1))


@case(np.array([0.2, 0.5, 0.9]), np.arange(6.0))
def interp_lin(xq, y):
    out = np.empty_like(xq)
    n = len(y)
    for i, q in enumerate(xq):
        p = q * (n - 1)
        k = min(int(p), n - 2)
        w = p - k
        out[i] = (1 - w) * y[k] + w * y[k + 1]
    return out


@case(np.array([(0.0, 1.0, 1), (2.0, -1.0, 2)], dtype=PARTICLE), 0.1, fit=support.nearly)
def push(p, dt):
    p["x"] += p["v"] * dt
    n_left = 0
    for q in p:
        if q["v"] < 0:
            n_left += 1
    return p["x"].sum(), n_left


@case(random.random((4, 6)))
def normalise_rows(a):
    s = a.sum(axis=1, keepdims=True)
    s[s == 0] = 1
    return a / s


@case(random.random((4, 4)), 100, 1e-9, fit=support.nearly)
def power_iteration(A, max_iter=1000, tol=1e-8):
    v = np.ones(A.shape[0]) / math.sqrt(A.shape[0])
    lam_old = 0.0
    for i in range(max_iter):
        w = A @ v
        lam = np.dot(v, w)
        v = w / np.linalg.norm(w)
        if abs(lam - lam_old) < tol:
            break
        lam_old = lam
    else:
        i = -1
    return lam, v


@case(random.random(9), random.random(9), fit=support.nearly)
def linear_fit(x, y):
    A = np.vstack([x, np.ones(len(x))]).T
    ATA = A.T @ A
    ATy = A.T @ y
    m, c = np.linalg.solve(ATA, ATy)
    r2 = 1 - ((y - (m * x + c))**2).sum() / ((y - y.mean())**2).sum()
    return m, c, r2


@case((random.random((8, 8)) > 0.4))
def flood(mask):
    h, w = mask.shape
    label = np.zeros((h, w), dtype=np.int32)
    current = 0
    stack = []
    for i in range(h):
        for j in range(w):
            if not mask[i, j] or label[i, j]:
                continue
            current += 1
            stack.append(i * w + j)
            while stack:
                p = stack.pop()
                y, x = divmod(p, w)
                if label[y, x] or not mask[y, x]:
                    continue
                label[y, x] = current
                if y > 0:
                    stack.append((y - 1) * w + x)
                if y < h - 1:
                    stack.append((y + 1) * w + x)
                if x > 0:
                    stack.append(y * w + x - 1)
                if x < w - 1:
                    stack.append(y * w + x + 1)
    return label, current


@case((random.random((8, 8)) > 0.4))
def flood2(mask):
    h, w = mask.shape
    label = np.zeros((h, w), dtype=np.int32)
    current = 0
    for i in range(h):
        for j in range(w):
            if mask[i, j] and label[i, j] == 0:
                current += 1
                stack = [(i, j)]
                while len(stack) > 0:
                    y, x = stack.pop()
                    if 0 <= y < h and 0 <= x < w and mask[y, x] and label[y, x] == 0:
                        label[y, x] = current
                        stack.append((y - 1, x))
                        stack.append((y + 1, x))
                        stack.append((y, x - 1))
                        stack.append((y, x + 1))
    return label, current


@case(np.array([[0., 2, np.inf], [2, 0, 1], [np.inf, 1, 0]]))
def floyd(d):
    d = d.copy()
    n = d.shape[0]
    for k in range(n):
        d = np.minimum(d, d[:, k][:, None] + d[k][None, :])
    return d


@case(random.random((5, 4)), fit=support.nearly)
def pca_cov(X):
    Xc = X - X.mean(axis=0)
    C = Xc.T.dot(Xc) / (len(X) - 1)
    d = np.sqrt(np.diag(C))
    return C / d[:, None] / d[None, :], np.abs(C).max(), C.trace()


@case(random.random((3, 3)), fit=support.nearly)
def det3(m):
    (a, b, c), (d, e, f), (g, h, i) = m
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


@case(random.random((4, 4)), fit=support.nearly)
def lu(A):
    n, _ = A.shape
    L = np.eye(n)
    U = A.copy()
    for k in range(n):
        L[k+1:, k] = U[k+1:, k] / U[k, k]
        U[k+1:, :] -= np.outer(L[k+1:, k], U[k, :])
    return L, np.triu(U)


@case(random.random((6, 5)))
def local_maxima(z):
    c = z[1:-1, 1:-1]
    m = (c > z[:-2, 1:-1]) & (c > z[2:, 1:-1]) & (c > z[1:-1, :-2]) & (c > z[1:-1, 2:])
    rows, cols = np.nonzero(m)
    return rows + 1, cols + 1, z[rows + 1, cols + 1]


@case(random.random((3, 4, 5)))
def volumes(v):
    proj = v.max(axis=0)
    prof = v.mean(axis=(1, 2))
    v[v < 0.1] = 0
    s = v[1, :, ::2]
    return proj, prof, s.copy(), v.shape[-1], np.argmax(v)


@case(random.random((3, 10)), fit=support.nearly)
def softmax2(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


@case(random.random((6, 2)), fit=support.nearly)
def polygon_area(p):
    x = p[:, 0]
    y = p[:, 1]
    return 0.5 * np.abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))


@case(random.random((20, 2)), fit=support.nearly)
def closest_pair(p):
    best = np.inf
    bi, bj = 0, 0
    for i in range(len(p)):
        for j in range(i + 1, len(p)):
            dx, dy = p[i] - p[j]
            d = np.sqrt(dx * dx + dy * dy)
            if d < best:
                best, bi, bj = d, i, j
    return best, (bi, bj)


@case(random.random(8) + 1j * random.random(8), fit=support.nearly)
def cplx(z):
    w = np.exp(-2j * np.pi * np.arange(8) / 8)
    return (z * w).sum(), np.abs(z), z.real.copy(), np.conj(z)


class Fields(support.Comparisons):
    def test_all(self):
        case.compare(self)


if __name__ == "__main__":
    support.main()
