#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions as scientists write them for Numba: simulations, images, sequences, statistics. Each runs as Python, and
compiled."""

import contextlib
import io
import math

import numpy as np
import support

import dhpvm
from dhpvm import prange

R = np.random.default_rng(19)
X, Y, M, S = R.random(40), R.random(40), R.random((9, 7)), R.random((6, 6))
COL, ROW = R.random((9, 1)), R.random((1, 7))
CUBE = R.random((4, 5, 6))
I = R.integers(0, 12, 50)
SPINS = R.choice(np.array([-1, 1]), (8, 8))
POINTS, CENTRES = R.random((30, 2)), R.random((3, 2))
SEQUENCE, OTHER = R.integers(0, 4, 20), R.integers(0, 4, 15)
BODIES, SPEEDS, MASSES = R.random((5, 3)), np.zeros((5, 3)), R.random(5) + 0.5
GRAPH = np.where(R.random((7, 7)) < 0.4, R.random((7, 7)) * 10, np.inf)
Z = R.random(16) + 1j * R.random(16)
CELLS = (R.random((8, 9)) < 0.4).astype(np.int8)
PARTICLES = np.zeros(6, dtype=[("x", "f8"), ("y", "f8"), ("charge", "i4")])
PARTICLES["x"], PARTICLES["y"], PARTICLES["charge"] = R.random(6), R.random(6), [1, -1, 1, 1, -1, 0]
G = 6.674e-2
OFFSETS = ((-1, 0, 1.0), (1, 0, 1.0), (0, -1, 0.5), (0, 1, 0.5))
case = support.Cases()
close = support.nearly


# ---- Simulations.

@case(BODIES, SPEEDS, MASSES, 0.01, 3)
def n_body(position, velocity, mass, dt, steps=10):
    n = position.shape[0]
    for _ in range(steps):
        for i in range(n):
            ax = ay = az = 0.0
            for j in range(n):
                if i == j:
                    continue
                dx = position[j, 0] - position[i, 0]
                dy = position[j, 1] - position[i, 1]
                dz = position[j, 2] - position[i, 2]
                d2 = dx * dx + dy * dy + dz * dz + 1e-3
                inv = G * mass[j] / (d2 * math.sqrt(d2))
                ax += dx * inv
                ay += dy * inv
                az += dz * inv
            velocity[i, 0] += dt * ax
            velocity[i, 1] += dt * ay
            velocity[i, 2] += dt * az
        position += dt * velocity


@case(BODIES, MASSES, fit=close)
def potential_by_broadcasting(position, mass):
    difference = position[:, None, :] - position[None, :, :]
    distance = np.sqrt((difference ** 2).sum(axis=-1)) + np.eye(len(mass))
    pairs = mass[:, np.newaxis] * mass / distance
    return -G * np.triu(pairs, 1).sum()


@case(SPINS, 0.4, X)
def ising_sweep(spins, beta, draws):
    n, m = spins.shape
    accepted = 0
    for k in range(len(draws)):
        i, j = (k * 7) % n, (k * 5) % m
        total = spins[i - 1, j] + spins[(i + 1) % n, j] + spins[i, j - 1] + spins[i, (j + 1) % m]
        change = 2 * spins[i, j] * total
        if change <= 0 or draws[k] < np.exp(-beta * change):
            spins[i, j] *= -1
            accepted += 1
    return accepted


@case(SPINS)
def ising_energy(spins):
    energy = 0
    for i in range(spins.shape[0]):
        for j in range(spins.shape[1]):
            energy -= spins[i, j] * (spins[i - 1, j] + spins[i, j - 1])
    return energy


@case(SPINS)
def ising_energy_in_parallel(spins):
    energy = 0
    for i in prange(spins.shape[0]):
        left = i - 1
        for j in range(spins.shape[1]):
            energy -= spins[i, j] * (spins[left, j] + spins[i, j - 1])
    return energy


@case(CELLS, 3)
def game_of_life(cells, generations):
    h, w = cells.shape
    board = cells.copy()
    for _ in range(generations):
        following = np.zeros_like(board)
        for y in range(h):
            for x in range(w):
                alive = 0
                for dy in (-1, 0, 1):
                    for dx in (-1, 0, 1):
                        if dy == 0 and dx == 0:
                            continue
                        alive += board[(y + dy) % h, (x + dx) % w]
                following[y, x] = 1 if alive == 3 or (board[y, x] and alive == 2) else 0
        board = following
    return board


@case(S, 0.1, 5, fit=close)
def heat_with_offsets(plate, alpha, steps):
    u = plate.copy()
    for _ in range(steps):
        new = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                total = 0.0
                for di, dj, weight in OFFSETS:
                    total += weight * (u[i + di, j + dj] - u[i, j])
                new[i, j] = u[i, j] + alpha * total
        u = new
    return u


@case(X, 0.2)
def periodic_advection(u, c):
    n = len(u)
    new = np.empty_like(u)
    for i in range(n):
        new[i] = u[i] - c * (u[i] - u[i - 1])
    return new


@case(1.0, 0.0, 0.1, 20)
def runge_kutta(y, v, h, steps):
    def acceleration(position, speed):
        return -4.0 * position - 0.1 * speed

    path = np.zeros((steps + 1, 2))
    path[0] = y, v
    for k in range(steps):
        k1y, k1v = v, acceleration(y, v)
        k2y, k2v = v + h / 2 * k1v, acceleration(y + h / 2 * k1y, v + h / 2 * k1v)
        k3y, k3v = v + h / 2 * k2v, acceleration(y + h / 2 * k2y, v + h / 2 * k2v)
        k4y, k4v = v + h * k3v, acceleration(y + h * k3y, v + h * k3v)
        y += h / 6 * (k1y + 2 * k2y + 2 * k3y + k4y)
        v += h / 6 * (k1v + 2 * k2v + 2 * k3v + k4v)
        path[k + 1, 0], path[k + 1, 1] = y, v
    return path


@case(PARTICLES, fit=close)
def coulomb(particles):
    energy = 0.0
    for i, p in enumerate(particles):
        for j in range(i + 1, len(particles)):
            q = particles[j]
            if p["charge"] == 0 or q["charge"] == 0:
                continue
            energy += p["charge"] * q["charge"] / math.hypot(p["x"] - q["x"], p["y"] - q["y"])
    return energy


# ---- Fractals, transforms, filters.

@case(12, 9, 30)
def mandelbrot(width, height, limit=50):
    image = np.zeros((height, width), dtype=np.int32)
    for row in prange(height):
        for column in range(width):
            c = complex(-2.0 + 3.0 * column / width, -1.0 + 2.0 * row / height)
            z = 0j
            n = 0
            while abs(z) <= 2.0 and n < limit:
                z = z * z + c
                n += 1
            image[row, column] = n
    return image


@case(Z, fit=close)
def fft_by_hand(signal):
    n = len(signal)
    out = signal.copy()
    j = 0
    for i in range(1, n):
        bit = n >> 1
        while j & bit:
            j ^= bit
            bit >>= 1
        j |= bit
        if i < j:
            out[i], out[j] = out[j], out[i]
    length = 2
    while length <= n:
        w = np.exp(-2j * np.pi / length)
        for start in range(0, n, length):
            factor = 1 + 0j
            for k in range(length // 2):
                a = out[start + k]
                b = out[start + k + length // 2] * factor
                out[start + k] = a + b
                out[start + k + length // 2] = a - b
                factor *= w
        length *= 2
    return out


@case(X, fit=close)
def dft(x):
    n = len(x)
    k = np.arange(n).reshape((n, 1))
    t = np.arange(n)
    return np.exp(-2j * np.pi * k * t / n) @ x.astype(np.complex128)


@case(M, S[:3, :3].copy(), fit=close)
def convolve_2d(image, kernel):
    m, n = image.shape
    kh, kw = kernel.shape
    out = np.zeros_like(image)
    for i in range(m):
        for j in range(n):
            total = 0.
            for a in range(kh):
                for b in range(kw):
                    y, x = i + a - kh // 2, j + b - kw // 2
                    if 0 <= y < m and 0 <= x < n:
                        total += image[y, x] * kernel[-a - 1, -b - 1]
            out[i, j] = total
    return out


@case(X, 5, fit=close)
def moving_average(values, window):
    result = np.full(values.shape, np.nan)
    running = 0.0
    for i in range(len(values)):
        running += values[i]
        if i >= window:
            running -= values[i - window]
        if i >= window - 1:
            result[i] = running / window
    return result


@case(X, 0.3)
def exponential_smoothing(x, alpha):
    s = np.empty_like(x)
    s[0] = x[0]
    for t in range(1, x.size):
        s[t] = alpha * x[t] + (1 - alpha) * s[t - 1]
    return s, s[-1], s[-2:]


@case(M, 3)
def median_filter(image, size):
    half = size // 2
    out = image.copy()
    for i in range(half, image.shape[0] - half):
        for j in range(half, image.shape[1] - half):
            window = image[i - half:i + half + 1, j - half:j + half + 1]
            out[i, j] = np.median(window)
    return out


@case(M)
def integral_image(a):
    out = np.zeros((a.shape[0] + 1, a.shape[1] + 1))
    for i in range(1, out.shape[0]):
        for j in range(1, out.shape[1]):
            out[i, j] = a[i - 1, j - 1] + out[i - 1, j] + out[i, j - 1] - out[i - 1, j - 1]
    return out[1:, 1:].copy()


# ---- Sequences and graphs.

@case(SEQUENCE, OTHER, 2, -1, 1)
def smith_waterman(a, b, match=3, mismatch=-3, gap=2):
    h = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    best, where = 0, (0, 0)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            diagonal = h[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch)
            h[i, j] = max(0, diagonal, h[i - 1, j] - gap, h[i, j - 1] - gap)
            if h[i, j] > best:
                best = h[i, j]
                where = (i, j)
    i, j = where
    path = []
    while h[i, j] > 0:
        path.append((i - 1, j - 1))
        score = h[i, j]
        if score == h[i - 1, j - 1] + (match if a[i - 1] == b[j - 1] else mismatch):
            i, j = i - 1, j - 1
        elif score == h[i - 1, j] - gap:
            i -= 1
        else:
            j -= 1
    return best, path[::-1]


@case(SEQUENCE, OTHER)
def edit_distance(a, b):
    previous = np.arange(len(b) + 1)
    for i, x in enumerate(a):
        current = np.empty_like(previous)
        current[0] = i + 1
        for j, y in enumerate(b):
            current[j + 1] = min(previous[j + 1] + 1, current[j] + 1, previous[j] + (x != y))
        previous = current
    return previous[-1]


@case(GRAPH)
def floyd_warshall(weights):
    d = weights.copy()
    np.fill_diagonal(d, 0.0)
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


@case(GRAPH)
def floyd_warshall_by_rows(weights):
    d = weights.copy()
    for k in range(len(d)):
        d = np.minimum(d, d[:, k:k + 1] + d[k:k + 1, :])
    return d


@case(GRAPH, 0)
def dijkstra(weights, source):
    n = weights.shape[0]
    distance = np.full(n, np.inf)
    done = np.zeros(n, dtype=np.bool_)
    before = -np.ones(n, dtype=np.int64)
    distance[source] = 0.
    while True:
        u = -1
        for v in range(n):
            if not done[v] and (u == -1 or distance[v] < distance[u]):
                u = v
        if u == -1 or not np.isfinite(distance[u]):
            break
        done[u] = True
        for v in range(n):
            other = distance[u] + weights[u, v]
            if other < distance[v]:
                distance[v], before[v] = other, u
    return distance, before


@case(200)
def sieve(limit):
    is_prime = np.ones(limit + 1, dtype=bool)
    is_prime[:2] = False
    for p in range(2, int(limit ** 0.5) + 1):
        if is_prime[p]:
            is_prime[p * p::p] = False
    return np.nonzero(is_prime)[0]


@case(I)
def word_count(values):
    counts = {}
    for v in values:
        if v in counts:
            counts[v] += 1
        else:
            counts[v] = 1
    best, most = -1, 0
    for key, count in counts.items():
        if count > most or (count == most and key < best):
            best, most = key, count
    return best, most


@case(I)
def count_inversions(a):
    total = 0
    for i in range(len(a) - 1, -1, -1):
        for j in range(i - 1, -1, -1):
            if a[j] > a[i]:
                total += 1
    return total


# ---- Statistics.

@case(X, 8)
def histogram(data, bins=10):
    low, high = data.min(), data.max()
    counts = np.zeros(bins, np.int64)
    width = (high - low) / bins
    for x in data:
        index = int((x - low) / width)
        counts[min(index, bins - 1)] += 1
    return counts, low + np.arange(bins + 1) * width


@case(POINTS, CENTRES, 4, fit=close)
def k_means(points, start, rounds):
    centres = start.copy()
    labels = np.zeros(len(points), dtype=np.int64)
    for _ in range(rounds):
        for i in range(len(points)):
            nearest = np.inf
            for c in range(len(centres)):
                d = np.sum((points[i] - centres[c]) ** 2)
                if d < nearest:
                    nearest, labels[i] = d, c
        for c in range(len(centres)):
            members = points[labels == c]
            if len(members) > 0:
                centres[c] = members.mean(axis=0)
    return centres, labels


@case(POINTS, CENTRES, fit=close)
def nearest_by_broadcasting(points, centres):
    d2 = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return np.argmin(d2, axis=1), np.sqrt(d2.min(axis=1))


@case(M, fit=close)
def standardise(data):
    mean = data.mean(axis=0)
    deviation = data.std(axis=0)
    return (data - mean) / np.where(deviation > 0, deviation, 1.0)


@case(M, fit=close)
def softmax_rows(x):
    e = np.exp(x - np.max(x, axis=1).reshape(-1, 1))
    return e / e.sum(axis=1).reshape(-1, 1)


@case(M, fit=close)
def softmax_keepdims(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


@case(X, Y, fit=close)
def linear_regression(x, y):
    n = len(x)
    a = np.ones((n, 2))
    a[:, 1] = x
    return np.linalg.solve(a.T @ a, a.T @ y)


@case(X, Y)
def rank_correlation(x, y):
    n = len(x)
    rx, ry = np.empty(n), np.empty(n)
    rx[np.argsort(x)] = np.arange(n)
    ry[np.argsort(y)] = np.arange(n)
    d = rx - ry
    return 1 - 6 * (d ** 2).sum() / (n * (n * n - 1))


@case(X, 0.5)
def masked_statistics(x, threshold=0.25):
    mask = (x > threshold) & (x < 2 * threshold + 0.3)
    y = x.copy()
    y[~mask] = 0
    y[mask] *= 2
    return y, mask.sum(), np.count_nonzero(mask), y[::2], x[::-1][:3].copy()


@case(X)
def prefix_sums(x):
    total = np.zeros(len(x) + 1)
    for i, v in enumerate(x, 1):
        total[i] = total[i - 1] + v
    return total[5:20:3] - total[:5]


@case(X, Y, 3, fit=close)
def lagged_products(x, y, lag):
    total = 0.0
    for a, b in zip(x[lag:], y[:-lag]):
        total += a * b
    for k in range(10, 0, -2):
        total -= x[k] * y[k - 1]
    return total / (len(x) - lag)


@case(X, 1e-10, fit=close)
def newton(coefficients, tolerance):
    x = 1.5
    for step in range(50):
        value = derivative = 0.0
        for c in coefficients[::-1]:
            derivative = derivative * x + value
            value = value * x + c
        if derivative == 0:
            return x, -1
        new = x - value / derivative
        if abs(new - x) < tolerance:
            return new, step
        x = new
    return x, 50


@case(4.5, fit=close)
@case(0.3, fit=close)
@case(-2.5, fit=close)
@case(25, fit=close)
def gamma_functions(x):
    return math.gamma(x), math.lgamma(x), math.erf(x), math.erfc(x)


@case(100.0, 105.0, 1.0, 0.02, 0.3, fit=close)
def black_scholes(spot, strike, t, rate, sigma):
    d1 = (np.log(spot / strike) + (rate + 0.5 * sigma ** 2) * t) / (sigma * np.sqrt(t))
    d2 = d1 - sigma * np.sqrt(t)

    def normal(d):
        return 0.5 * math.erfc(-d / math.sqrt(2))

    return spot * normal(d1) - strike * np.exp(-rate * t) * normal(d2)


# ---- Shapes that stretch.

@case(M, COL, ROW)
@case(M, M, M)
@case(M, ROW, COL)
def stretched(a, b, c):
    return a + b, a * b - c, b * c, np.maximum(a, b), np.where(a > b, a, c)


@case(M, COL)
@case(M, ROW)
def stretched_in_place(a, b):
    a += b
    a[1:] *= b[:1]
    a[:, :] = a - b
    return a.sum() > 0


@case(COL, ROW, fit=close)
def stretched_sums(a, b):
    return np.sum(a * b), (a + b).max(), (a - b).mean(axis=1), (a * b > 0.25).any(), np.argmax(a + b)


@case(CUBE, CUBE[:, :1].copy())
@case(CUBE, CUBE[:1, :, :1].copy())
@case(CUBE, CUBE[0, :, :1].copy())
def stretched_cubes(a, b):
    return a * b, b - a


@case(X.reshape(-1, 1), Y[:5].copy())
def column_against_row(x, y):
    return np.abs(x - y), (x == y).sum(), x.T * y.reshape(-1, 1)


# ---- Places counted from the end.

@case(X)
def from_the_end(x):
    n = len(x)
    back = np.empty(n)
    for i in range(n):
        back[i] = x[-i - 1] + x[-1] * x[n - 1 - i]
    for i in range(1, 4):
        back[-i] += x[-i]
    k = -3
    return back, x[k], x[k + 1], x[-n]


@case(X, -2)
@case(X, 3)
def place_as_argument(x, i):
    return x[i], x[i - 1]


@case(X)
def ends_wrap_in_parallel(x):
    r = np.empty_like(x)
    n = x.shape[0]
    for i in prange(n):
        r[i] = 0.5 * (x[i - 1] + x[i - 2]) if i % 2 else x[i] - x[i - 1]
    return r


@case(M)
def shifted_rows(m):
    out = np.zeros_like(m)
    for i in range(m.shape[0]):
        out[i] = m[i] - m[i - 1]
        out[i, 0] += m[i - 2, -1]
    return out


# ---- Errors.

@case(7, 0)
@case(7, 2)
def divided(a, b):
    try:
        return a // b
    except ZeroDivisionError:
        return -1


@case(X, 3)
@case(X, 100)
@case(X, -100)
def looked_up(x, i):
    found = 0.0
    try:
        found = x[i]
    except IndexError:
        found = -1.0
    return found


def checked_root(x):
    if x < 0:
        raise ValueError("negative")
    return math.sqrt(x)


@case(X - 0.5)
def roots(values):
    total, failed = 0.0, 0
    for v in values:
        try:
            total += checked_root(v)
        except ValueError:
            failed += 1
            continue
        total += 1
    return total, failed


@case(3)
@case(-3)
@case(0)
def several_handlers(n):
    steps = 0
    try:
        steps += 1
        if n < 0:
            raise ValueError(f"n is {n}")
        steps += 10 // n
    except (ZeroDivisionError, OverflowError):
        steps = 100
    except ValueError as error:
        steps = 200
    else:
        steps += 1000
    finally:
        steps += 5
    return steps


@case(1.0, 0.0)
@case(1.0, 4.0)
@case(1, 0)
def quotients(a, b):
    try:
        return a / b, a % b, math.log(b) / 2
    except ArithmeticError:
        return 0.0, 0.0, 0.0


@case(-1.0)
@case(4.0)
def safe_root(x):
    try:
        return math.sqrt(x)
    except ValueError:
        return math.sqrt(-x)


@case(6, fit=close)
def tried_keys(n):
    ages = {1: 2.5, 4: 3.5}
    total = 0.0
    for k in range(n):
        try:
            total += ages[k]
        except KeyError:
            total += 100
        finally:
            total += 0.25
    return total


@case(X)
def stops_at_first(x):
    i = 0
    while True:
        try:
            if x[i] > 0.8:
                break
            i += 1
        except Exception:
            return -1
    return i


# ---- Tuples of several types.

@case(X, 1)
@case(X, 0)
def rules(x, which):
    table = ((0.5, 1, True), (0.25, 2, False))
    weight, power, is_negative = table[which]
    total = 0.0
    for w, p, negative in table:
        total += w * x[p] * (-1 if negative else 1)
    for name, value in (("a", 1), ("b", 2.5)):
        if name == "b":
            total += value
    return total + weight * x[0] ** power, is_negative, (1.5, 2)[which] * 1.0, (x[0] > 3, 1, 0.5)


@case(X)
def states(x):
    state = (0, 0.0, False)
    for v in x:
        count, total, seen = state
        state = (count + 1, total + v, seen or v > 0.9)
    return state


# ---- Lists of arrays.

@case(X, 8)
def chunks(x, size):
    parts = []
    for begin in range(0, len(x), size):
        parts.append(x[begin:begin + size])
    total = 0.0
    for part in parts:
        total += part[0] * len(part)
    parts[0] = parts[-1] * 2
    return total, len(parts), parts[0][1], parts[1].sum() > 0


@case(M)
def list_of_rows(m):
    rows = [m[i] * i for i in range(len(m))]
    best = rows[0]
    for row in rows:
        if row.sum() > best.sum():
            best = row
    return best


@case(X, 8)
def returned_chunks(x, size):
    parts = []
    for begin in range(0, len(x), size):
        parts.append(x[begin:begin + size].copy())
    return parts


@case(M)
def returned_tables(m):
    return [m[:2].copy(), m * 2]


@case(M)
def stacked(m):
    rows = []
    for i in range(3):
        rows.append(m[i] + i)
    return np.array(rows), np.concatenate(rows), np.vstack(rows), np.stack(rows), np.column_stack(rows)


@case(X)
def shared_in_list(x):
    a = np.zeros(3)
    found = [a, x[:3].copy()]
    a[0] = 7
    found[1][2] = 9
    found[0][1] += 5
    last = found.pop()
    found.append(last)
    total = 0.0
    for i, each in enumerate(found):
        total += each[0] * i
        each += 1
    return a, last, total, len(found)


def total_of(parts):
    total = 0.0
    for part in parts:
        total += part.sum()
    return total


@case(X, fit=close)
def list_for_function(x):
    parts = [x[:3] * 1, x[3:9] * 2]
    return total_of(parts) + total_of([x, x * 2])


@case([X, Y, X[:5]])
def over_list(arrays):
    total = 0.0
    for a in arrays:
        for v in a:
            total += v
    return total + arrays[1][2] + len(arrays)


@case([X.copy(), Y.copy()], 2.0)
def scaled_list(arrays, factor):
    for i in range(len(arrays)):
        arrays[i] *= factor
        arrays[i][0] = -1


@case([np.eye(2), np.ones((3, 2))], True)
@case([np.float32([1, 2]), np.float32([3])], False)
def returned_list(arrays, both):
    return arrays if both else [arrays[0] + 1, arrays[-1]]


@case([M, S], fit=close)
def layers(weights):
    x = np.ones(7)
    for w in weights[:1]:
        x = np.tanh(w @ x)
    return x, weights[1].shape[0]


@case([5, 3, 8], 2)
def sorted_copy(values, more):
    found = list(values)
    found.append(more)
    found.sort()
    return found, values[0]


@case([np.float32(1), np.float32(2)])
@case([1.5, 2.5, 4.0])
@case([1, 2, 4])
def list_of_numbers(values):
    total = 0
    for v in values:
        total += v
    return total / len(values), values[-1], max(values)


# ---- Where new things meet.

@case(M)
def stretched_over_itself(m):
    m += m[:1]
    m -= m[:, :1]
    m[1:] *= m[:1]
    m[:, :] = m[-1:] + m[:, -1:]
    return m.sum() > 0


@case(M, M[:1, :1].copy())
@case(M, COL)
def stretched_masks(m, o):
    chosen = np.where(m > o, m, o)
    both = (m > o) & (o > 0.1)
    c = m.copy()
    c[m > o] = 0
    return chosen, both, c, np.clip(m, o, 1.0), np.minimum(o, m) ** 2, -o + m, (m - o).argmax()


@case(np.zeros((0, 3)), np.ones((1, 3)))
@case(np.zeros((0, 3)), np.ones((1, 1)))
def stretched_and_empty(a, b):
    return a + b, (a * b).sum()


@case(X)
def stores_from_the_end(x):
    n = len(x)
    r = np.zeros(n)
    for i in range(n):
        r[i - 1] += x[i]
        r[i - 2] = r[i - 2] * 0.5 + x[i - 3]
        r[-i] -= 1
    return r


@case(M)
def views_from_the_end(m):
    r = m.copy()
    for i in range(m.shape[0]):
        row = r[i - 1]
        row[0] += 1
        r[i - 2, 1:] -= m[i - 1, :-1]
        r[:, -1 - i % 3] *= 2
    return r, r[-2] - r[-3], r[-1][-1]


@case(X)
def lists_from_the_end(x):
    found = [1, 2, 3, 4]
    for i in range(4):
        found[i - 1] += i
    total = 0
    for k in range(1, 5):
        total += found[-k] * k
    return found, total


@case(X)
def tries_in_loops(x):
    total, bad = 0.0, []
    for i in range(-45, 45, 7):
        try:
            if i % 2 == 0:
                raise KeyError("even")
            total += x[i] if i >= 0 else x[len(x) + i]
            if i > 30:
                break
        except IndexError:
            bad.append(i)
        except KeyError:
            continue
        total *= 0.5
    return total, bad


@case(X)
def tries_with_arrays(x):
    y = np.zeros(3)
    try:
        z = x[:5] * 2
        y[0] = z[1]
        y[7] = 1
        y[1] = 5
    except (IndexError, ValueError):
        y[2] = 9
    else:
        y[:] = 0
    return y


@case(0)
@case(3)
def tries_in_each_other(n):
    out = 0
    try:
        try:
            out += 10 // n
        except ValueError:
            out = -1
        else:
            out += 1
    except ZeroDivisionError:
        out = -2
    return out


@case(X)
def left_in_a_handler(x):
    i, total, seen = 0, 0.0, [0]
    while True:
        try:
            total += x[i]
        except IndexError:
            break
        except Exception:
            total = -1.0
        i += 1
    for k in seen:
        try:
            total += x[k * 50]
        except ValueError:
            pass
        except IndexError:
            total += sum([v for v in x if v > 0.5])
        if k < 2:
            seen.append(k + 1)
    return total, i


@case(X)
def grown_in_a_handler(x):
    found, total = [3], 0
    for k in found:
        total += k
        try:
            total += int(x[k * 30] * 0)
        except IndexError:
            if k > 0:
                found.append(k - 1)
    return total, found


def one_of(x, i):
    return x[i] + 1.0 / (i + 5.0)


@case(X)
def tries_calls(x):
    total = 0.0
    for i in range(-45, 45, 4):
        try:
            total += one_of(x, i)
        except (IndexError, ZeroDivisionError):
            total -= 1
    return total


@case(X)
def shapes_that_do_not_fit(x):
    try:
        y = x[:3] + x[:4]
        return y.sum()
    except ValueError:
        return 0.0


@case(X)
def left_by_an_exception(x):
    i = 0
    try:
        while True:
            i += 1
            if x[i] > 2:
                return -5
    except IndexError:
        pass
    return i


@case([3.5, 1.5, 2.5], [1, 2, 3])
def lists_of_numbers(a, b):
    total = 0.0
    for x, y in zip(a, b):
        total += x * y
    both = np.array(a) * np.array(b)
    return total, both, sorted(a), 2.5 in a, a.index(1.5), [x * 2 for x in b], sum(b), min(a)


@case(5)
def lists_of_new_arrays(n):
    layers = [np.zeros(k + 1) for k in range(n)]
    for k in range(n):
        layers[k][:] = k
        layers[k][0] -= 1
    grids = [np.ones((2, 3))] * 2
    grids[0][1, 1] = 7
    total = 0.0
    for g in grids:
        total += g.sum()
    return total, layers[-1], len(layers), layers


@case(X)
def swapped_arrays(x):
    pair = [x[:3] * 1.0, x[3:6] * 1.0]
    pair[0], pair[1] = pair[1], pair[0]
    a, b = pair[0], pair[1]
    a[0] = 0
    return a, b


@case(I)
def mode(a):
    counts = dict()
    best = None
    for v in a:
        counts[v] = counts.get(v, 0) + 1
        if best is None or counts[v] > counts[best]:
            best = v
    return best


@case(20, fit=close)
def sum_of_local_function(n):
    f = lambda t: math.sin(t) * math.exp(-t)  # noqa: E731: as it is written
    h = 2 * math.pi / n
    return h * (0.5 * (f(0.0) + f(2 * math.pi)) + sum(f(i * h) for i in range(1, n)))


@case((R.random((8, 8)) < 0.5).astype(np.int64))
def label_components(img):
    h, w = img.shape
    labels = np.zeros((h, w), dtype=np.int32)
    current = 0
    for sy in range(h):
        for sx in range(w):
            if img[sy, sx] == 0 or labels[sy, sx]:
                continue
            current += 1
            stack = [(sy, sx)]
            while len(stack) > 0:
                y, x = stack.pop()
                if y < 0 or y >= h or x < 0 or x >= w:
                    continue
                if img[y, x] == 0 or labels[y, x] != 0:
                    continue
                labels[y, x] = current
                for dy, dx in ((-1, 0), (1, 0), (0, -1), (0, 1)):
                    stack.append((y + dy, x + dx))
    return labels, current


@case(M, np.array([1, 1, 2, 0, 0, 1, 2, 2, 1]))
def group_means(m, labels):
    k = labels.max() + 1
    out = np.zeros((k, m.shape[1]))
    n = np.zeros(k, int)
    for i, label in enumerate(labels):
        out[label] += m[i]
        n[label] += 1
    return out / n[:, None]


@case(np.array([1 + 2j, 3 - 1j, 0.5j]), fit=close)
def polynomial_roots(c):
    r = np.array([(0.4 + 0.9j) ** k for k in range(3)])
    for _ in range(100):
        for i in range(3):
            p = d = 1 + 0j
            for q in c:
                p = p * r[i] + q
            for j in range(3):
                if i != j:
                    d *= r[i] - r[j]
            r[i] -= p / d
    return r


@case(7)
def pascal(n):
    rows = [[1]]
    for i in range(1, n):
        prev = rows[-1]
        rows.append([1] + [prev[k] + prev[k + 1] for k in range(len(prev) - 1)] + [1])
    return rows


def raised_again(x):
    try:
        return 1 // x
    except ZeroDivisionError as error:
        if x == 0:
            raise ValueError("no inverse") from error
        raise


def passes_on(x, i):
    steps = np.zeros(1)
    try:
        try:
            return x[i]
        except ValueError:
            steps[0] = -1.0
    except IndexError:
        raise
    return steps[0]


class Scientists(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_exceptions_that_are_raised_again(self):
        with self.assertRaisesRegex(ValueError, "no inverse"):
            dhpvm.jit(raised_again)(0)
        self.assertEqual(dhpvm.jit(raised_again)(1), 1)
        passed = dhpvm.jit(passes_on)
        self.assertEqual(passed(X, 1), X[1])
        with self.assertRaisesRegex(IndexError, "out of range"):
            passed(X, 1000)

    def test_exceptions_in_parallel(self):
        def logarithms(x):
            for i in prange(len(x)):
                assert x[i] < 100
                if x[i] <= 0:
                    raise ValueError("no logarithm")
                x[i] = math.log(x[i])

        compiled = dhpvm.jit(logarithms)
        compiled(X.copy())
        with self.assertRaisesRegex(ValueError, "no logarithm, in iteration 2 "):
            compiled(np.array([1.0, 2.0, 0.0, 3.0]))
        with self.assertRaisesRegex(AssertionError, "assert x.i. < 100, in iteration 1 "):
            compiled(np.array([1.0, 200.0, 3.0]))

    def test_views_in_lists_are_copies(self):
        def written(x):
            parts = [x[1:3], x[3:]]
            parts[0][0] = 5.0
            return parts[1][0]

        with self.assertRaisesRegex(dhpvm.TranslationError, "may be the memory of 'x' in NumPy"):
            dhpvm.jit(written)(X)

    def test_lists_that_python_passes(self):
        def first(values):
            return values[0]

        def shape(arrays):
            return arrays[0].shape[0] + 10 * len(arrays)

        of_list = dhpvm.jit(first)
        given = [[1, 2], [1.5], (3, 4), np.array([5, 6]), [1], [True, False], [2, 2.5]]
        for values in given + given:
            self.assertEqual(repr(of_list(values)), repr(np.array(values)[0].item()), values)
        of_arrays = dhpvm.jit(shape)
        for arrays in ([X], [X, Y], [X, Y, X], [M, S]):
            self.assertEqual(of_arrays(arrays), arrays[0].shape[0] + 10 * len(arrays))

        def append(values):
            values.append(1.0)

        def add(values):
            values[0] += 1.0

        def through(values):
            other = values
            append(other)

        for function in (append, add, through):
            with self.subTest(function.__name__), self.assertRaisesRegex(
                    dhpvm.TranslationError, "the caller would not see that 'values' changes"):
                dhpvm.jit(function)([1.0, 2.0])
        for values, message in (([], "an empty list has no type"), ([1, X], "numbers, or arrays of one type"),
                                ([X, M], "numbers, or arrays of one type"), (["a"], "numbers, or arrays of one type"),
                                ([[1], [2]], "numbers, or arrays of one type"), ([X] * 25, "up to 24"),
                                ([1j], "numbers, or arrays of one type")):
            with self.subTest(message), self.assertRaisesRegex(dhpvm.TranslationError, message):
                dhpvm.jit(first)(values)

    def test_exceptions_that_are_printed(self):
        def reported(x):
            try:
                if x < 0:
                    raise ValueError(f"x: {x}")
                return 10 // x
            except ZeroDivisionError as error:
                raise ValueError(f"no inverse ({error})") from error
            except ValueError as error:
                print("failed:", error)
                return 0

        compiled, out = dhpvm.jit(reported), io.StringIO()
        with contextlib.redirect_stdout(out):
            self.assertEqual((compiled(-3), compiled(5)), (0, 2))
        self.assertEqual(out.getvalue(), "failed: x: -3\n")
        with self.assertRaisesRegex(ValueError, r"no inverse \(division by zero\)"):
            compiled(0)

    def test_types_that_are_refused_by_raising(self):
        def checked(x):
            if not isinstance(x, float):
                raise TypeError("a float is expected")
            return x

        compiled = dhpvm.jit(checked)
        self.assertEqual(compiled(2.0), 2.0)
        with self.assertRaisesRegex(TypeError, "a float is expected"):
            compiled(2)

    def test_indices_below_0(self):
        """What is not seen to be below 0 is an error, also with debug=True; what is seen is right there, too."""
        def gathered(x, places):
            total = 0.0
            for k in range(len(places)):
                total += x[places[k]]
            return total

        for debug in (False, True):
            compiled = dhpvm.jit(gathered, debug=debug)
            self.assertEqual(compiled(X, np.array([3, 0])), X[3] + X[0])
            with self.assertRaisesRegex(IndexError, "does not count from the end: write a.i % len.a"):
                compiled(X, np.array([3, -1]))

        def divided(x, k):
            total = 0.0
            for i in range(k):
                try:
                    total += 1 / x[i - k]
                except ZeroDivisionError:
                    total += 1.0
            return total

        with self.assertRaisesRegex(IndexError, "does not count from the end: write a.i % len.a"):
            dhpvm.jit(divided)(X, 2)
        in_parallel = dhpvm.jit(ends_wrap_in_parallel, debug=True)
        self.assertTrue((in_parallel(X) == ends_wrap_in_parallel(X)).all())

    def test_dates_are_no_arrays_of_bytes(self):
        """Their buffer has one dimension, and no strides."""
        def doubled(x):
            return x * 2

        compiled = dhpvm.jit(doubled)
        self.assertEqual(compiled(np.arange(3, dtype=np.uint8)).tolist(), [0, 2, 4])
        with self.assertRaisesRegex(dhpvm.TranslationError, "which programs do not have"):
            compiled(np.datetime64("2020-01-01"))

    def test_lists_in_prange_loops(self):
        def doubled(values, x):
            for i in dhpvm.prange(len(x)):
                x[i] = 2.0 * values[i]

        for values, message in (([1.0, 2.0], "make an array before it"), ([X, Y], "make a row of it, or an array")):
            with self.assertRaisesRegex(dhpvm.TranslationError, f"a prange loop reads no list: {message}"):
                dhpvm.jit(doubled)(values, np.zeros(2))

    def test_integers_beyond_64_bits_in_lists(self):
        def first(values):
            return values[0]

        compiled = dhpvm.jit(first)
        self.assertEqual(compiled([1, 2]), 1)
        for values in ([2**63, 2**63], [2**63, 1], [2**70]):  # unsigned, floats and objects for NumPy
            with self.assertRaisesRegex(OverflowError, "do not fit into 64 bits"):
                compiled(values)
        self.assertEqual(compiled([1.5, 2**63]), 1.5)
        for values, message in (([[1], [1, 2]], "a list of list of int"), ((1, [2]), "is a list in a tuple")):
            with self.assertRaisesRegex(dhpvm.TranslationError, message):
                compiled(values)

    def test_what_python_raises_is_caught(self):
        """Results that are nan or inf elsewhere."""
        def of(expression):
            return support.define(f"""def f(x, y):
    try:
        return float({expression})
    except (ValueError, ArithmeticError):
        return -77.0
""", f"<{expression}>")

        values = (0.0, -0.0, 1.0, -1.0, 0.5, -1.5, -3.0, 172.0, 1e200, -1e200, math.inf, -math.inf, math.nan)
        unary = [f"math.{name}(x)" for name in (
            "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh acosh atanh asinh "
            "gamma lgamma fabs").split() if hasattr(math, name)]
        for text in (*unary, "int(x) * 0", "math.floor(x) * 0", "round(x) * 0", "x ** 2", "x / 0.0", "x % 0"):
            function = of(text)
            for x in values:
                self.compare(function, x, 1.0, fit=support.nearly)
        for text in ("math.pow(x, y)", "math.fmod(x, y)", "x / y", "x // y", "x % y"):
            function = of(text)
            for x in values:
                for y in values:
                    self.compare(function, x, y, fit=support.nearly)
        power = of("x ** y")
        for x, y in ((0.0, -1.0), (-0.0, -2.0), (10.0, 400.0), (2.0, -1.0), (math.inf, 2.0), (0.0, math.nan)):
            self.compare(power, x, y)

    def test_classes_of_exceptions_of_the_program(self):
        class OutOfDomain(ValueError):
            pass

        def fail(x):
            if x < 0:
                raise OutOfDomain("below 0")
            return x

        def caught(x):
            try:
                return fail(x)
            except LookupError:
                return -1.0
            except ValueError:
                return -2.0

        def caught_by_name(x):
            try:
                return fail(x)
            except OutOfDomain:
                return -3.0

        for function in (caught, caught_by_name):
            for x in (-1.0, 2.0):
                self.compare(function, x)

    def test_indices_of_remainders_in_try(self):
        def gathered(x, n, k):
            total = 0.0
            for i in range(7):
                try:
                    total += x[i % k] + 10 * x[i % -3] + 100 * x[i // -n]
                except IndexError:
                    total += 1000.0
            return total

        for n, k in ((4, 3), (2, -2), (1, 9)):
            self.compare(gathered, X, n, k)

    def test_finally_runs_before_the_exception_goes_on(self):
        def finished(x, i, done):
            try:
                x[i] = 1.0
            finally:
                done[0] += 1

        done = np.zeros(1)
        compiled = dhpvm.jit(finished)
        compiled(np.zeros(3), 1, done)
        with self.assertRaises(IndexError):
            compiled(np.zeros(3), 3, done)
        self.assertEqual(done[0], 2)


if __name__ == "__main__":
    support.main()
