#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of strangers: images, finance, physics, signals, and tables of records."""

import math

import numpy as np
import support

import dhpvm

random = np.random.default_rng(23)
case = support.Cases()


# ---- What chooses and repeats elements.

@case(np.array([True, False, True, True, False]))
@case(np.zeros(4, bool))
@case(np.zeros(0, bool))
@case(np.array([0.0, np.nan, -0.0, 2.0]))
@case(np.arange(5) % 2)
def places(b):
    return np.where(b)[0], np.nonzero(b)[0], np.flatnonzero(b), np.argwhere(b)


@case(random.random((4, 5)) > 0.5)
@case(np.zeros((3, 2), bool))
@case(np.zeros((0, 2), bool))
def places_in_two(b):
    rows, columns = np.nonzero(b)
    return rows, columns, np.argwhere(b)


@case(np.arange(5.0), 3)
@case(np.arange(3), 7)
@case(np.array([True, False]), 1)
@case(np.arange(4.0), 0)
@case(np.zeros(0), 2)
def repeated(a, n):
    return np.repeat(a, n), np.tile(a, n)


def convolved(a, v):
    return np.convolve(a, v), np.convolve(a, v, "same"), np.convolve(a, v, "valid")


for n, m in ((1, 1), (1, 4), (5, 1), (9, 3), (3, 9), (6, 6), (100, 17)):
    case(random.random(n), random.random(m), fit=support.nearly)(convolved)
case(np.arange(7), np.array([1, -2, 3]))(convolved)
case(np.arange(7), np.array([0.5, 0.25]))(convolved)


# ---- Images.

@case(random.random((12, 9)), 1.2, fit=support.nearly)
def gaussian_blur(image, sigma):
    radius = int(3 * sigma + 0.5)
    x = np.arange(-radius, radius + 1)
    kernel = np.exp(-0.5 * (x / sigma) ** 2)
    kernel /= kernel.sum()
    padded = np.pad(image, radius, mode="edge")
    rows = np.zeros((padded.shape[0], image.shape[1]))
    for k in range(len(kernel)):
        rows += kernel[k] * padded[:, k:k + image.shape[1]]
    out = np.zeros_like(image)
    for k in range(len(kernel)):
        out += kernel[k] * rows[k:k + image.shape[0], :]
    return out


@case((random.random((8, 8)) * 256).astype(np.uint8))
def otsu(image):
    histogram = np.zeros(256)
    for value in image.ravel():
        histogram[value] += 1
    total = image.size
    weighted = np.dot(np.arange(256), histogram)
    best, threshold, below, seen = -1.0, 0, 0.0, 0.0
    for t in range(256):
        seen += histogram[t]
        if seen == 0 or seen == total:
            continue
        below += t * histogram[t]
        m0, m1 = below / seen, (weighted - below) / (total - seen)
        between = seen * (total - seen) * (m0 - m1) ** 2
        if between > best:
            best, threshold = between, t
    return threshold, image > threshold


@case((random.random((7, 9)) > 0.45).astype(np.int64))
def label(mask):
    labels = np.zeros(mask.shape, dtype=np.int32)
    current = 0
    for i in range(mask.shape[0]):
        for j in range(mask.shape[1]):
            if mask[i, j] and not labels[i, j]:
                current += 1
                stack = [(i, j)]
                while stack:
                    y, x = stack.pop()
                    if not (0 <= y < mask.shape[0] and 0 <= x < mask.shape[1]):
                        continue
                    if not mask[y, x] or labels[y, x]:
                        continue
                    labels[y, x] = current
                    stack.extend([(y + 1, x), (y - 1, x), (y, x + 1), (y, x - 1)])
    return labels, current


# ---- Finance.

@case(100.0, 105.0, 0.03, 0.2, 1.0, fit=support.nearly)
def black_scholes(spot, strike, rate, vol, years):
    def cdf(x):
        return 0.5 * (1 + math.erf(x / math.sqrt(2)))
    d1 = (math.log(spot / strike) + (rate + vol ** 2 / 2) * years) / (vol * math.sqrt(years))
    d2 = d1 - vol * math.sqrt(years)
    call = spot * cdf(d1) - strike * math.exp(-rate * years) * cdf(d2)
    return {"call": call, "put": call - spot + strike * math.exp(-rate * years), "delta": cdf(d1)}


@case(np.array([-1000.0, 200, 300, 400, 500]), fit=support.nearly)
def irr(flows, guess=0.1, tolerance=1e-10):
    rate = guess
    for step in range(100):
        years = np.arange(len(flows))
        value = np.sum(flows / (1 + rate) ** years)
        slope = -np.sum(years * flows / (1 + rate) ** (years + 1))
        change = value / slope
        rate -= change
        if abs(change) < tolerance:
            break
    else:
        raise ValueError("no convergence")
    return rate, step


@case(100 + np.cumsum(random.normal(size=40)), fit=support.nearly)
def indicators(close, period=5):
    returns = np.diff(np.log(close))
    ema = np.empty_like(close)
    alpha = 2 / (period + 1)
    ema[0] = close[0]
    for i in range(1, len(close)):
        ema[i] = alpha * close[i] + (1 - alpha) * ema[i - 1]
    peak = np.maximum.accumulate(close)
    drawdown = (close - peak) / peak
    gains, losses = np.where(returns > 0, returns, 0), np.where(returns < 0, -returns, 0)
    rsi = 100 - 100 / (1 + gains[-period:].mean() / losses[-period:].mean())
    sharpe = returns.mean() / returns.std(ddof=1) * np.sqrt(252)
    return ema, drawdown.min(), rsi, sharpe, int(np.argmin(drawdown))


# ---- Physics.

@case(np.array([0.0, 1.0, 1.05]), 0.01, 50, fit=support.nearly)
def lorenz_rk4(state, dt, steps):
    def f(s):
        x, y, z = s
        return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z])
    path = np.empty((steps + 1, 3))
    path[0] = state
    for n in range(steps):
        s = path[n]
        k1 = f(s)
        k2 = f(s + dt / 2 * k1)
        k3 = f(s + dt / 2 * k2)
        k4 = f(s + dt * k3)
        path[n + 1] = s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return path


@case(random.random((6, 3)), random.random(6), fit=support.nearly)
def gravity(positions, masses, softening=1e-2):
    n = positions.shape[0]
    forces = np.zeros_like(positions)
    energy = 0.0
    for i in dhpvm.prange(n):
        for j in range(n):
            if i == j:
                continue
            d = positions[j] - positions[i]
            r2 = np.dot(d, d) + softening ** 2
            forces[i] += masses[i] * masses[j] * d / r2 ** 1.5
            energy -= 0.5 * masses[i] * masses[j] / np.sqrt(r2)
    return forces, energy


@case(np.sign(random.random((6, 6)) - 0.5).astype(np.int8), 0.4)
def ising_energy(spins, coupling):
    right, down = np.roll(spins, -1, axis=1), np.roll(spins, -1, axis=0)
    energy = -coupling * np.sum(spins * (right + down))
    return energy, spins.sum(), abs(spins.mean())


# ---- As SciPy has it.

@case(np.array([4.0, -1.0, 0.5]), fit=support.nearly)
def newton_roots(c):
    def p(x):
        return c[0] + x * (c[1] + x * c[2])
    lo, hi = -10.0, 1.0
    if p(lo) * p(hi) > 0:
        return math.nan
    while hi - lo > 1e-9:
        mid = (lo + hi) / 2
        lo, hi = (mid, hi) if p(lo) * p(mid) > 0 else (lo, mid)
    return (lo + hi) / 2


@case(np.sort(random.random(12)), random.random(12), random.random(5), fit=support.nearly)
def cubic_spline(x, y, at):
    n = len(x)
    h = np.diff(x)
    a = np.zeros((n, n))
    rhs = np.zeros(n)
    a[0, 0] = a[-1, -1] = 1.0
    for i in range(1, n - 1):
        a[i, i - 1:i + 2] = h[i - 1], 2 * (h[i - 1] + h[i]), h[i]
        rhs[i] = 3 * ((y[i + 1] - y[i]) / h[i] - (y[i] - y[i - 1]) / h[i - 1])
    for k in range(n - 1):
        f = a[k + 1, k] / a[k, k]
        a[k + 1] -= f * a[k]
        rhs[k + 1] -= f * rhs[k]
    c = np.zeros(n)
    for k in reversed(range(n)):
        c[k] = (rhs[k] - np.dot(a[k, k + 1:], c[k + 1:])) / a[k, k]
    out = np.empty(len(at))
    for k, t in enumerate(at):
        i = min(max(int(np.searchsorted(x, t)) - 1, 0), n - 2)
        b = (y[i + 1] - y[i]) / h[i] - h[i] * (2 * c[i] + c[i + 1]) / 3
        d = (c[i + 1] - c[i]) / (3 * h[i])
        s = t - x[i]
        out[k] = y[i] + s * (b + s * (c[i] + s * d))
    return out


@case(np.sin(np.arange(64) * 0.7) + 0.3 * random.random(64), 3, fit=support.nearly)
def peaks(signal, distance):
    found = []
    for i in range(1, len(signal) - 1):
        if signal[i - 1] < signal[i] >= signal[i + 1]:
            if found and i - found[-1] < distance:
                if signal[i] > signal[found[-1]]:
                    found[-1] = i
            else:
                found.append(i)
    return np.array(found), signal[np.array(found)].mean()


# ---- Tables of records.

trades = np.zeros(8, dtype=[("price", "f8"), ("size", "i4"), ("side", "i1")])
trades["price"] = 100 + np.arange(8) * 0.5
trades["size"] = [10, 20, 5, 8, 40, 12, 7, 1]
trades["side"] = [1, -1, 1, 1, -1, -1, 1, -1]


@case(trades, fit=support.nearly)
def vwap(t):
    bought = t["side"] > 0
    total = np.sum(t["price"] * t["size"]) / t["size"].sum()
    return total, np.average(t["price"][bought], weights=t["size"][bought]), (t["size"] * t["side"]).cumsum()


@case(np.array([2, 1, 2, 3, 1, 2]), np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), fit=support.nearly)
def group_mean(keys, values):
    unique, inverse = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(unique))
    counts = np.zeros(len(unique))
    np.add.at(sums, inverse, values)
    np.add.at(counts, inverse, 1)
    return unique, sums / counts


@case(trades)
def largest(t, n=3):
    order = np.argsort(t["size"])[::-1][:n]
    best = t[order[0]]
    return order, t["price"][order], best["size"], best["price"]


class Tables(support.Comparisons):
    def test_functions(self):
        case.compare(self)

    def test_quantile_of_bools(self):
        def quantile(b):
            return np.quantile(b, 0.5)

        for function in (quantile, dhpvm.jit(quantile)):
            with self.assertRaisesRegex((TypeError, dhpvm.TranslationError), "bool"):
                function(np.array([True, False]))


if __name__ == "__main__":
    support.main()
