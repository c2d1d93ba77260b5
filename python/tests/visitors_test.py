#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions as people bring them from Numba, scikit-image, finance and physics: the same results and types compiled."""

import math
from math import exp, pi, sqrt

import numpy as np
import support

import dhpvm
from dhpvm import prange

R = np.random.default_rng(7)
X, Y, A = R.random(40), R.random(40), R.random((7, 9))
F = R.random(40).astype(np.float32)
IMAGE = R.integers(0, 256, (11, 13)).astype(np.uint8)
RGB = R.integers(0, 256, (5, 6, 3)).astype(np.uint8)
MASK, OTHER = R.random(40) > 0.4, R.random(40) > 0.6
MASKS = R.random((4, 6)) > 0.5
K = R.integers(-9, 10, 40)
Z = R.random(20) + 1j * R.random(20)
TEXT = np.frombuffer(b"12.5,-3,4e2\n7,,0.25\n", np.uint8)
BODIES = np.zeros(6, [("x", "f8"), ("v", "f8"), ("m", "f4"), ("cell", "i4")])
BODIES["x"], BODIES["v"], BODIES["m"] = R.random(6), R.random(6), R.random(6) + 1
SIZES = (3, 5, 8)
WEIGHTS = np.array([0.25, 0.5, 0.25])
PRIMES = (2, 3, 5, 7, 11, 13)
RATE, STEPS = 0.05, 12
case = support.Cases()


# ---- From Numba's pages.

@case(A)
def sum2d(arr):
    m, n = arr.shape
    result = 0.0
    for i in range(m):
        for j in range(n):
            result += arr[i, j]
    return result


@case(X, fit=support.nearly)
def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i])
    return a + trace


@case(1.5, 2)
@case(np.float32(1.5), 2)
@case(3, 4.5)
def hypotenuse(x, y):
    return math.sqrt(x * x + y * y)


@case(X, X[::-1].copy(), 0.3)
def logistic_step(x, w, rate=0.1):
    def sigmoid(t):
        return 1.0 / (1.0 + t * t)

    g = 0.0
    for i in range(len(x)):
        g += (sigmoid(x[i] * w[i]) - 1.0) * x[i]
    w -= rate * g
    return g, w


@case(-2.0, 1.0, -1.0, 1.0, IMAGE[:6, :6].astype(np.uint8), 30)
def create_fractal(min_x, max_x, min_y, max_y, image, iters):
    def mandel(x, y, max_iters):
        c = complex(x, y)
        z = 0.0j
        for i in range(max_iters):
            z = z * z + c
            if (z.real * z.real + z.imag * z.imag) >= 4:
                return i
        return max_iters

    height = image.shape[0]
    width = image.shape[1]
    pixel_size_x = (max_x - min_x) / width
    pixel_size_y = (max_y - min_y) / height
    for x in prange(width):
        real = min_x + x * pixel_size_x
        for y in range(height):
            imag = min_y + y * pixel_size_y
            image[y, x] = mandel(real, imag, iters)
    return image


@case(np.arange(10))
def two_d_array_reduction_prod(n):
    result = np.ones((3, 4), np.int64)
    for i in range(len(n)):
        result *= 2
    return result, result.sum(axis=0), result[:, ::-2].copy()


@case(K)
def prange_extremes(a):
    low, high, total, odd = a[0], a[0], 0, 0
    for i in prange(len(a)):
        low = min(low, a[i])
        high = max(high, a[i])
        total += a[i] % 7
        if a[i] % 2 == 1:
            odd += 1
    return low, high, total, odd


@case(X[:7], 3)
def ordered_list(a, n=10):
    found = []
    for x in a:
        if len(found) < n:
            found.append(x)
    return np.array(found), len(found), found[-1]


@case(20)
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


@case(10, 3)
def ackermann_like(m, n):
    if m == 0:
        return n + 1
    if n <= 0:
        return m
    return ackermann_like(m - 1, n - 1) + 1


# ---- Bools.

@case(MASK, OTHER)
def bool_products(p, q):
    return p @ q, np.dot(p, ~p), np.inner(p, q), np.vdot(p, q), p * q, p + q, p & q, p ^ q


@case(MASKS, MASKS.T.copy(), MASKS[0])
def bool_matrices(a, b, row):
    return a @ b, np.dot(a, row), row @ b, np.matmul(a, b), np.outer(row, row)


@case(MASK, OTHER[:7])
def bool_convolutions(p, w):
    return np.convolve(p, w), np.convolve(p, w, "same"), np.convolve(w, p, mode="valid"), np.correlate(p, w, "full")


@case(MASK, X, fit=support.nearly)
def bools_with_numbers(p, x):
    return p @ x, p * 2, p + 1.5, p * x, np.dot(x, p), (p + OTHER).sum(), np.convolve(p, x[:3])


@case(MASKS, R.integers(0, 5, 6).astype(np.int8))
def bool_matrix_with_bytes(a, v):
    return a @ v, v @ a.T, a.sum(), a.sum(axis=1), a.mean(axis=0), a.any(axis=1), a.all(axis=0), a * v


# ---- Tuples.

@case(3)
@case(2.5)
def one_item(x):
    return (x * 2,)


@case(X)
def one_array(x):
    return (x + 1,)


@case(X)
def one_of_one(x):
    return ((x.sum() > 1,),)


@case(X)
def places_of(x):
    return np.nonzero(x > 0.5)


@case(RGB)
def shape_parts(image):
    h, w = image.shape[:2]
    grey = np.zeros(image.shape[:2], np.uint8)
    both = np.zeros((2,) + image.shape[1:])
    last = image.shape[-1:]
    for i in range(h):
        for j in range(w):
            grey[i, j] = image[i, j, 0] // 3 + image[i, j, 1] // 3 + image[i, j, 2] // 3
    return grey, both.shape, last, image.shape[::-1], (0,) * 3 + (h,)


@case(30)
def factors(n):
    found = []
    for p in range(2, n):
        if p in PRIMES and n % p == 0:
            found.append(p)
    k = (1, n)
    return found, n in PRIMES, n in k, 4 not in SIZES


@case((1, 2.5), (X, 3))
def tuple_parameters(pair, more):
    a, b = pair
    x, k = more
    return a + b, x[k] * pair[1], (pair[0], (a, b))


@case(5, True)
@case(5, False)
def chosen_pair(n, flag):
    a, b = (n, 0.5) if flag else (n + 1, 1.5)
    t = (n, 2 * n) if flag else (-n, n)
    return (a, b, t[0]) if flag else (a * 2, b * 2, t[1])


# ---- Images, as scikit-image and OpenCV users write them.

@case(IMAGE)
def box_blur_wraps(img):
    h, w = img.shape
    out = np.zeros_like(img)
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            s = np.uint8(0)
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    s += img[y + dy, x + dx]
            out[y, x] = s // 9
    return out


@case(IMAGE)
def wrap_around(img):
    return img + 100, img - img[::-1], img * 2, ~img, img >> 1, img // 7, img % 10, 255 - img, -img, img ** 2


@case(IMAGE, 100)
def threshold(img, t):
    out = np.where(img > t, 255, 0).astype(np.uint8)
    count = 0
    for v in out.ravel():
        if v:
            count += 1
    return out, count, (img > t).sum(), np.count_nonzero(img > t)


@case(IMAGE)
def equalize(img):
    hist = np.zeros(256, dtype=int)
    for v in img.flat:
        hist[v] += 1
    cdf = np.cumsum(hist)
    lut = (cdf * 255 // cdf[-1]).astype("uint8")
    return lut[img], hist


@case(RGB)
def to_hsv_value(rgb):
    out = np.empty(rgb.shape, dtype=np.float32)
    for i, j in np.ndindex(rgb.shape[0], rgb.shape[1]):
        r, g, b = rgb[i, j]
        high = max(r, g, b)
        low = min(r, g, b)
        out[i, j, 0] = high
        out[i, j, 1] = 0 if high == 0 else (high - low) / high
        out[i, j, 2] = low
    return out


@case(IMAGE > 100)
def erode(b):
    h, w = b.shape
    out = np.zeros((h, w), dtype=np.bool_)
    for i in range(h):
        for j in range(w):
            keep = True
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    y, x = i + di, j + dj
                    if y < 0 or x < 0 or y >= h or x >= w or not b[y, x]:
                        keep = False
                        break
                if not keep:
                    break
            out[i, j] = keep
    return out


@case(IMAGE.astype(float), 3.3, 4.75)
@case(IMAGE.astype(np.float32), 3.3, 4.75)
def bilinear(im, y, x):
    y0 = int(math.floor(y))
    x0 = int(math.floor(x))
    fy, fx = y - y0, x - x0
    top = im[y0, x0] * (1 - fx) + im[y0, x0 + 1] * fx
    bottom = im[y0 + 1, x0] * (1 - fx) + im[y0 + 1, x0 + 1] * fx
    return top * (1 - fy) + bottom * fy


@case(IMAGE)
def local_binary_pattern(img):
    rows, cols = img.shape
    out = np.zeros((rows - 2, cols - 2), np.uint8)
    offsets = ((-1, -1), (-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1))
    for r in prange(1, rows - 1):
        for c in range(1, cols - 1):
            code = 0
            for bit, (dr, dc) in enumerate(offsets):
                if img[r + dr, c + dc] >= img[r, c]:
                    code |= 1 << bit
            out[r - 1, c - 1] = code
    return out


@case(IMAGE.astype(np.int16))
def differences(img):
    gx = np.zeros(img.shape, np.int16)
    gx[:, 1:-1] = img[:, 2:] - img[:, :-2]
    gy = img[2:] - img[:-2]
    return gx, np.abs(gy).max(), np.abs(gx) > 40


@case(IMAGE)
def floyd_steinberg(image):
    img = image.astype(np.float64)
    for y in range(img.shape[0]):
        for x in range(img.shape[1]):
            old = img[y, x]
            new = 255.0 if old > 127 else 0.0
            img[y, x] = new
            err = old - new
            if x + 1 < img.shape[1]:
                img[y, x + 1] += err * 7 / 16
            if y + 1 < img.shape[0]:
                if x > 0:
                    img[y + 1, x - 1] += err * 3 / 16
                img[y + 1, x] += err * 5 / 16
                if x + 1 < img.shape[1]:
                    img[y + 1, x + 1] += err / 16
    return img.astype(np.uint8)


# ---- Finance, with random numbers of one's own.

@case(12345, 50)
def lcg_walk(seed, n):
    state = seed
    path = np.zeros(n)
    position = 0.0
    for i in range(n):
        state = (1103515245 * state + 12345) % 2147483648
        position += state / 2147483648 - 0.5
        path[i] = position
    return path, state


@case(np.uint64(88172645463325252), 9)
def xorshift(state, n):
    out = np.empty(n, np.uint64)
    for i in range(n):
        state ^= state << np.uint64(13)
        state ^= state >> np.uint64(7)
        state ^= state << np.uint64(17)
        out[i] = state
    return out, out >> np.uint64(11), (out >> np.uint64(11)) * 2.0 ** -53


@case(np.uint32(7), 5)
def hash32(h, n):
    for k in range(n):
        h = h ^ np.uint32(k)
        h = h * np.uint32(16777619)
        h = (h << np.uint32(5)) | (h >> np.uint32(27))
    return h


@case(1000.0, 0.07, 30, fit=support.nearly)
def annuity(principal, rate, years, per_year=12, *, early=False):
    months = years * per_year
    r = rate / per_year
    payment = principal * r / (1 - (1 + r) ** -months)
    balance = principal
    interest = 0.0
    for month in range(1, months + 1):
        i = balance * r
        interest += i
        balance -= payment - i
        if early and balance < principal / 2:
            return payment, interest, month
    return payment, interest, months


@case(np.array([-100.0, 30, 40, 60]), fit=support.nearly)
def irr(flows):
    low, high = -0.99, 10.0
    while True:
        mid = (low + high) / 2
        value = 0.0
        for t, c in enumerate(flows):
            value += c / (1 + mid) ** t
        if abs(value) < 1e-9 or high - low < 1e-13:
            break
        if value > 0:
            low = mid
        else:
            high = mid
    return mid


@case(100 + np.cumsum(R.normal(size=30)), 0.2, fit=support.nearly)
def ewma(prices, alpha=0.5):
    out = np.empty_like(prices)
    out[0] = prices[0]
    for i in range(1, prices.size):
        out[i] = alpha * prices[i] + (1 - alpha) * out[i - 1]
    returns = np.diff(np.log(prices))
    vol = returns.std(ddof=1) * sqrt(252)
    return out, vol, exp(-RATE * STEPS), out[-1] > prices[-1]


@case(K.astype(np.float64))
def drawdown_runs(returns):
    longest = current = 0
    for r in returns:
        current = current + 1 if r < 0 else 0
        longest = max(longest, current)
    wins = sum(1 for r in returns if r > 0)
    return longest, wins, wins / len(returns), max(abs(r) for r in returns)


# ---- Physics.

@case(R.random((5, 3)), R.random((5, 3)), 0.01)
def leapfrog(pos, vel, dt):
    n, d = pos.shape
    acc = np.zeros((n, d))
    for i in range(n):
        for j in range(n):
            if i != j:
                r = pos[j] - pos[i]
                dist = np.sqrt(r[0] ** 2 + r[1] ** 2 + r[2] ** 2 + 1e-3)
                for k in range(d):
                    acc[i, k] += r[k] / dist ** 3
    vel += acc * dt
    pos += vel * dt
    return acc


@case(R.random((9, 2)), fit=support.nearly)
def pairwise(points):
    n = len(points)
    d = np.zeros((n, n), np.float32)
    for i in prange(n):
        for j in range(i + 1, n):
            delta = points[i] - points[j]
            d[i, j] = d[j, i] = math.sqrt(delta @ delta)
    return d, d.max(), np.unravel_index(np.argmax(d), d.shape)


@case(R.random((8, 8)) > 0.5, 3)
def ising_energy(up, steps):
    s = np.where(up, 1, -1)
    n, m = s.shape
    energy = 0
    for i in range(n):
        for j in range(m):
            energy -= s[i, j] * (s[(i + 1) % n, j] + s[i, (j + 1) % m])
    rolled = -(s * (np.roll(s, -1, axis=0) + np.roll(s, -1, 1))).sum()
    return energy, rolled, s.mean()


@case(R.random((6, 7)), 4)
def heat(u, steps):
    new = u.copy()
    for _ in range(steps):
        new[1:-1, 1:-1] = u[1:-1, 1:-1] + 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])
        u, new = new, u
    return u.copy()


@case(R.random((4, 5, 6)))
def laplacian_3d(u):
    out = np.zeros_like(u)
    for i in prange(1, u.shape[0] - 1):
        for j in prange(1, u.shape[1] - 1):
            for k in prange(1, u.shape[2] - 1):
                out[i, j, k] = (u[i - 1, j, k] + u[i + 1, j, k] + u[i, j - 1, k] + u[i, j + 1, k] +
                                u[i, j, k - 1] + u[i, j, k + 1] - 6 * u[i, j, k])
    return out, out[::2, ::-1, 1].copy()


@case(BODIES, 0.1)
def drift(p, dt):
    for b in p:
        b["x"] += b["v"] * dt
        b["cell"] = int(b["x"] * 4)
    momentum = (p["m"] * p["v"]).sum()
    heavy = 0
    for i in range(len(p)):
        if p[i]["m"] > 1.5:
            heavy += 1
    return heavy, p["x"].max(), momentum > 0, p["m"].dtype == np.float32


@case(F, np.float32(0.5))
def single_precision(x, c):
    y = x * c + 1
    s = np.float32(0)
    for v in y:
        s += v * 2.0
    t = 0.0
    for v in y:
        t += v
    return y, s, t, np.float32(1) * 2.5, x[0] / 3, np.sqrt(x), x ** 2, x.mean() > 0, np.float64(c) * x[1]


@case(Z)
def complex_sums(z):
    w = z * (1 + 2j) - z.conj()
    total = 0j
    for v in w:
        total += v / 2
    return w, total, w.real, abs(w[0]) > 1, z[::-1].copy(), (z == z).all(), np.real(w).max(), 1j * z.imag


# ---- Algorithms.

@case(np.array([1, 1, 1, 0, 0, 2, 2, 2, 2, 5]))
def run_lengths(a):
    values = np.empty(len(a), a.dtype)
    counts = np.zeros(len(a), np.int32)
    n = -1
    for i, v in enumerate(a):
        if i == 0 or v != a[i - 1]:
            n += 1
            values[n] = v
        counts[n] += 1
    return values[:n + 1].copy(), counts[:n + 1].copy()


@case(TEXT)
def parse_numbers(text):
    out = np.full((8,), np.nan)
    n, i = 0, 0
    while i < len(text):
        sign, value, scale, seen, exponent = 1, 0.0, 0, False, 0
        while i < len(text) and text[i] != ord(",") and text[i] != 10:
            c = text[i]
            if c == 45:
                sign = -1
            elif c == 46:
                scale = 1
            elif c == 101:
                i += 1
                exponent = int(text[i]) - 48
            else:
                value = value * 10 + (int(c) - 48)
                scale *= 10
                seen = True
            i += 1
        if seen:
            out[n] = sign * value / max(scale, 1) * 10.0 ** exponent
        n += 1
        i += 1
    return out[:n].copy(), n


@case(X, Y, 4, 3)
def histogram2d(x, y, nx, ny):
    h = np.zeros((nx, ny), dtype=np.int64)
    for a, b in zip(x, y):
        i = min(int(a * nx), nx - 1)
        j = min(int(b * ny), ny - 1)
        h[i, j] += 1
    return h, h.sum(axis=0), h.argmax(), h.T.copy()


@case(np.sort(X), Y, np.array([-0.1, 0.2, 0.55, 1.1]))
def linear_interpolation(xs, ys, at):
    out = np.zeros(at.shape)
    for k in range(at.size):
        t = at[k]
        if t <= xs[0]:
            out[k] = ys[0]
            continue
        if t >= xs[-1]:
            out[k] = ys[-1]
            continue
        lo, hi = 0, len(xs) - 1
        while hi - lo > 1:
            mid = (lo + hi) >> 1
            if xs[mid] > t:
                hi = mid
            else:
                lo = mid
        out[k] = ys[lo] + (ys[hi] - ys[lo]) * (t - xs[lo]) / (xs[hi] - xs[lo])
    return out


@case(X, 5, fit=support.nearly)
def sliding(x, w):
    n = x.size - w + 1
    means, lows = np.empty(n), np.empty(n)
    for i in range(n):
        window = x[i:i + w]
        means[i] = window.mean()
        lows[i] = np.min(window)
    return means, lows, np.array([x[i:i + w].max() for i in range(0, n, 3)])


@case(np.array([5, 2, 9, 1, 5, 6]))
def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key


@case(R.integers(0, 99, 20))
def quicksort(a):
    partition_sort(a, 0, len(a) - 1)
    return (a[1:] >= a[:-1]).all()


def partition_sort(a, lo, hi):
    if lo < hi:
        p = a[hi]
        i = lo - 1
        for j in range(lo, hi):
            if a[j] <= p:
                i += 1
                a[i], a[j] = a[j], a[i]
        a[i + 1], a[hi] = a[hi], a[i + 1]
        partition_sort(a, lo, i)
        partition_sort(a, i + 2, hi)


@case(7)
@case(-7)
def integer_division(n):
    return n // 2, n // -2, n % 3, n % -3, divmod(n, 4), divmod(n, -4), n // 2.0, n % -2.5, -n // 3, int(n / 2), n >> 1


@case(K, 3)
@case(K.astype(np.int8), np.int8(-3))
@case(K.astype(np.int32), -3)
def array_division(k, d):
    return k // d, k % d, np.floor_divide(k, d), np.mod(k, d), k / d, k & 7, k * d, abs(k), np.sign(k)


@case(30)
def sieve_with_steps(n):
    prime = np.ones(n, dtype=bool)
    prime[:2] = False
    for i in range(2, int(n ** 0.5) + 1):
        if prime[i]:
            prime[i * i::i] = False
    return np.nonzero(prime)[0], np.where(prime)[0][-1], np.flatnonzero(prime)[::-1].copy()


@case(np.array([3, 1, 2]), 10)
def countdown(a, n):
    total = 0
    for i in range(n, 0, -3):
        total += i
    for i in range(len(a) - 1, -1, -1):
        total = total * 10 + a[i]
    for i in reversed(range(0, n, 4)):
        total += i
    for x in reversed(a):
        total -= x
    return total, a[::-1].copy(), a[-1], a[-2:].copy(), a[:-1][::-1].copy()


@case(A)
def slices_in_place(a):
    a[0, :] += 1
    a[:, 0] *= 2
    a[1:3, 1:3] -= a[3:5, 3:5]
    a[-1] = 0
    a[::2, ::3] = -1
    a[2, ::-1] = a[2].copy()
    a[a > 1.5] = 1.5
    a[:, -1] /= 4
    a[3:] **= 2
    return a.T.copy(), a[-1, -1]


@case(R.random((4, 1)), X[:5])
def column_with_row(column, row):
    c = column[:, 0]
    return c[:, None] + row, c[:, np.newaxis] * row[None, :], np.outer(c, row) > 0.2, row - c.mean()


@case(X, A)
def by_axis(x, a):
    return (a.sum(axis=0).max(), a.max(axis=1), a.argmax(axis=0), a.cumsum(axis=1), np.sort(x)[::-1].copy(),
            np.argsort(x)[:3].copy(), a.min(axis=-1), np.any(a > 0.9, axis=1), np.all(a > 0.01, axis=0), x.argmin(),
            np.isnan(a).any(), a.shape == (7, 9), a.size)


@case(A)
def masks_of_two_dimensions(a):
    b = a.copy()
    b[a > 0.5] = a[a > 0.5] * 2
    b[a < 0.1] = 0
    double = 3
    up = lambda t: t + 1
    down = lambda t: t - 1
    return b, np.amax(a, axis=0), np.amin(a), up(a[0, 0]) * down(a[0, 1]), np.arange(3, dtype=np.float32) * double


@case(A)
@case(IMAGE)
def sorted_lines(a):
    return (np.sort(a), np.sort(a, axis=0), np.argsort(a, axis=-1), np.argsort(a, 0), np.sort(a[0], axis=0),
            a.argsort(axis=1)[:, ::-1].copy(), np.cumsum(a), a.T.cumsum()[-1] > 0)


@case(A.copy())
def lines_in_place(a):
    a[:3].sort()
    a[:, 1].sort()
    a.sort(axis=0)


@case(A, np.array([1, 0, 0, 1, 0, 1, 0], np.bool_))
def rows_by_condition(a, rows):
    b = a.copy()
    b[rows] = 0
    b[~rows] += 1
    b[b[:, 0] > 1.5] = a[b[:, 0] > 1.5] * 2
    return b, a[rows].sum() > 1, a[rows].max(axis=1), b[rows].any()


@case(6)
def new_arrays(n):
    a = np.arange(n)
    b = np.linspace(0, 1, n)
    c = np.full((2, 3), 7)
    d = np.full(3, 0.5, dtype=np.float32)
    e = np.eye(3)
    x, y = np.meshgrid(np.arange(3), np.arange(2))
    return a, b, c, d, e, x, y, np.zeros_like(a), np.ones(2, "int32"), np.diag(e), np.arange(5, 0, -2), \
        np.arange(0.0, 1.0, 0.3), np.empty(0), np.zeros((0, 3)), np.zeros(2, dtype="f4"), np.zeros(2, "i2")


@case(X, A)
def copies(x, a):
    b = np.copy(x)
    c = np.array(a)
    d = np.array(x, dtype=np.float32)
    e = np.asarray(x, dtype=np.float64) + 1
    f = np.asarray(x, np.float32)
    b[0] = c[0, 0] = 5
    return b, c, d, e, f, np.shape(a), np.size(a), np.ndim(a), x.astype(np.int64, copy=True), a.astype(dtype="float32")


@case(X)
def as_array_is_the_same(x):
    y = np.asarray(x)
    y[0] = 7
    return y[:3] * 2


def written_in_a_tuple(x):
    t = (x, (2, x[1:]))
    t[0][0] = 5
    t[1][1][0] = 6
    y = t[0]
    y[2] = 7
    p, q = t
    p[3] = 8
    return q[0]


def written_by_another(x):
    set_items((x[1:], (3, x)))
    t = (x, 1)
    set_first(t[0])
    set_first(x if x.ndim == 1 else x[0])
    return t[1]


def set_items(t):
    t[0][0] = 5
    t[1][1][2] = 6


def set_first(x):
    x[0] += 1


def written_by_two_names(x):
    y = x.T
    y[0] = 3
    a = b = np.asarray(y)
    b[1] = 4
    return a[:2] * 1


def returned_tuple(x):
    t = (x, 1)
    return t


def given_tuple(t):
    return t


def returned_item(x):
    t = (x, 1)
    return t[0]


@case(X)
def of_given_array(x):
    y = np.ascontiguousarray(x)
    return y * 2


@case(F, K, MASK)
def sums_with_dtype(f, k, m):
    return f.astype(np.float64).sum(), k.sum(dtype=np.int64), np.sum(m, dtype=np.int32), k.mean(), np.prod(k[:5]), \
        np.sum(k, axis=0), k.astype("int8").sum(), np.cumsum(m), np.cumsum(k.astype(np.int8))


@case(X, K)
def where_and_clip(x, k):
    return np.where(x > 0.5, x, -x), np.where(k > 0, k, 0), np.clip(k, -2, 5), np.clip(x, 0.2, None), \
        x.clip(0.1, 0.3), np.maximum(k, 0), np.minimum(x, 0.5), np.where(k > 0, 1, -1), np.where(x > 0.5, 1.5, k), \
        np.fmax(x, 0.5), np.fmin(k, 3), np.invert(k), np.invert(k > 0), np.clip(k, 0, 255).astype(np.uint8)


@case(K)
def sets_of(k):
    u = np.unique(k)
    v, c = np.unique(k, return_counts=True)
    return u, v, c, np.isin(k, np.array([1, 2, 3])), np.bincount(k + 9), len(u), k.max() - k.min(), np.argmax(k == 3)


@case(np.array([1.0, np.nan, 3.0, np.inf]))
def not_numbers(x):
    n = 0
    for v in x:
        if np.isnan(v) or math.isinf(v):
            continue
        n += 1
    return n, np.isnan(x), np.isfinite(x).sum(), np.nanmax(x), x[~np.isnan(x)], np.isnan(x).any(), x != x, float("nan")


@case(X, K, MASK)
def selections(x, k, m):
    y = x.copy()
    y[m] = 0
    y[~m] += 1
    z = k.copy()
    z[k < 0] = -z[k < 0]
    z[np.array([0, 2])] = 99
    return x[m], k[(k > 0) & (x > 0.5)], y, z, x[k > 100], x[m].sum(), x[[0, 5, -1]], k[np.argsort(x)], (k[m] > 0).sum()


@case(8)
def triangle_numbers(n):
    rows = [[1]]
    for i in range(1, n):
        last = rows[-1]
        row = [1]
        for j in range(1, i):
            row.append(last[j - 1] + last[j])
        row.append(1)
        rows.append(row)
    return rows[-1], len(rows), sum(rows[n // 2])


@case(X)
@case(F)
def kahan(x):
    s = x[0] - x[0]
    c = s
    for v in x:
        y = v - c
        t = s + y
        c = (t - s) - y
        s = t
    return s


@case(0.5)
def newton(x0, tol=1e-12, maxiter=50):
    x = x0
    for it in range(maxiter):
        fx = x ** 3 - 2 * x - 5
        dfx = 3 * x ** 2 - 2
        step = fx / dfx
        x -= step
        if abs(step) < tol:
            return x, it, True
    return x, maxiter, False


@case(np.array([0, 2, 3, 5]), np.array([0, 1, 2, 0, 2]), np.array([1.0, 2, 3, 4, 5]), np.array([1.0, 1, 2]))
def csr_matvec(indptr, indices, data, x):
    n = len(indptr) - 1
    y = np.zeros(n)
    for i in prange(n):
        s = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            s += data[k] * x[indices[k]]
        y[i] = s
    return y


@case(R.integers(0, 3, (6, 6)))
def flood(grid):
    h, w = grid.shape
    seen = np.zeros((h, w), dtype=np.int8)
    stack = [(0, 0)]
    seen[0, 0] = 1
    size = 0
    while len(stack) > 0:
        i, j = stack.pop()
        size += 1
        for di, dj in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            a, b = i + di, j + dj
            if 0 <= a < h and 0 <= b < w and seen[a, b] == 0 and grid[a, b] == grid[0, 0]:
                seen[a, b] = 1
                stack.append((a, b))
    return size, seen


@case(np.array([0.1, 0.5, 0.4]), 0.7)
def choose(p, u):
    total = 0.0
    for i in range(p.size):
        total += p[i]
        if u < total:
            return i
    return p.size - 1


@case(A, X[:9], fit=support.nearly)
def linear_algebra(a, v):
    g = a.T @ a
    w = v / np.linalg.norm(v)
    for _ in range(5):
        w = g @ w
        w /= np.sqrt((w * w).sum())
    return w, w @ g @ w, np.dot(a, v), np.trace(g), g[np.arange(9), np.arange(9)].copy(), a.dot(v).sum()


@case(X)
def smoothed(x):
    out = np.zeros_like(x)
    half = len(WEIGHTS) // 2
    for i in range(len(x)):
        for k in range(-half, half + 1):
            out[i] += WEIGHTS[k + half] * x[(i + k) % len(x)]
    return out, sum(SIZES), max(SIZES), SIZES[-1] * pi


@case(X, "linear")
@case(X, "square")
@case(X)
def by_kind(x, kind="none", scale=None):
    if scale is None:
        scale = 2.0
    if kind == "linear":
        return x * scale
    elif kind == "square":
        return x * x * scale
    return x.copy()


@case(X, 0.5)
@case(X, 2.0)
def first_above(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            return i
    return -1


@case(10, 5)
def nested_functions(n, k):
    offset = k * 2

    def inner(x, scale=3):
        return x * scale + offset

    square = lambda t: t * t
    total = 0
    for i in range(n):
        total += inner(i) if i % 2 else square(i)
    return total, inner(1, scale=2)


@case(MASK)
def loops_with_else(m):
    for i in range(len(m) - 2):
        if m[i] and m[i + 1] and m[i + 2]:
            start = i
            break
    else:
        start = -1
    count = 0
    while count < 10:
        count += 3
    else:
        count = -count
    return start, count


@case(np.arange(12).reshape(3, 4))
def reshaped(a):
    flat = a.ravel() * 1
    b = flat.reshape(4, 3) + 0
    c = np.concatenate((a, a * 2))
    d = np.vstack((flat[:3], flat[3:6]))
    return b, c, d, a.T.copy(), np.hstack((flat, flat)), np.flip(a), np.stack((flat, flat)), a.flatten(), b.shape[0]


@case(5.0)
@case(-5.0)
def float_operators(x):
    return x // 2, x % 3, x % -3, -x % 3, x ** 2, x ** 0.5 if x > 0 else 0.0, abs(x), round(x / 2), int(x / 2), \
        divmod(x, 2), x // -0.7, math.floor(x / 2), math.ceil(x / 2), math.fmod(x, 3), math.copysign(1, x), bool(x)


@case(np.int64(2**62), 2**62)
def overflows(a, b):
    return a + a, a * 4, np.int32(2**31 - 1) + np.int32(1), np.int8(127) + np.int8(1), np.uint8(0) - np.uint8(1)


@case(X)
def types_of_variables(x):
    n = 0
    for v in x:
        n += v > 0.5
    m = (x > 0.5).sum()
    flag = n == m
    mean = x.sum() / n if n else 0.0
    k = 3
    k = k / 2
    return n, m, flag, mean, k, not flag, flag and n > 2, n or 7


@case(X, A)
def more_words_of_numpy(x, a):
    i, j = np.meshgrid(x[:3], x[3:5], indexing="ij")
    return (i, j, np.clip(x, a_min=0.2, a_max=0.6), x.clip(min=0.3), np.clip(x, 0.1, a_max=x[::-1]), np.gcd(K, 6),
            a.swapaxes(0, 1).copy(), K.nonzero()[0], math.comb(10, 3), math.lcm(4, 6), np.lcm(K, 4), 3 in K,
            100 not in K)


@case(X, fit=support.nearly)
@case(F, fit=support.nearly)
def hyperbolas(x):
    return np.arcsinh(x), np.arccosh(x + 1), np.arctanh(x), np.arcsinh(-1e-9 * x)


@case(0.75, fit=support.nearly)
def hyperbolas_of_math(x):
    return math.asinh(x), math.acosh(x + 1), math.atanh(-x), math.asinh(-1e200), math.acosh(1e200), math.asinh(1e-12)


@case(A, X)
@case(IMAGE, K.astype(np.float32))
def turned_and_repeated(a, x):
    return (np.flip(a, axis=0), np.flip(a, 1), np.flip(x, 0), np.flip(a), np.rot90(a), np.rot90(a, 3), np.rot90(a, k=2),
            np.repeat(a, 2, axis=0), np.repeat(a, 3, 1), np.repeat(a, 2), np.tile(a, 2), np.tile(a, (2, 3)),
            np.tile(x[:3], (2, 2)), np.kron(x[:3], x[3:5]), np.kron(a[:2, :3], a[3:5, :2]), np.extract(a > 0.5, a),
            np.nancumsum(x), np.nanargmax(x), np.nanargmin(a))


@case(A)
def marked(a):
    mark_even(a, 0)
    return a[:4].copy()


def mark_even(a, i):
    if i < len(a):
        a[i] = 0
        mark_odd(a, i + 1)


def mark_odd(a, i):
    if i < len(a):
        a[i, 0] = 1
        mark_even(a, i + 1)


# ---- What a condition chooses, and results of two types.

@case(X, Y, True)
@case(X, Y, False)
def chosen_arrays(x, y, flag):
    a = x * 2 if flag else y + 1
    b = x[1:5] if flag else y[3:7]
    c = x if flag else y
    p, q = (x[:2], 1) if flag else (y, 2)
    return a, b[0], b * 2, c[0], p * q


@case(X, None)
@case(X, Y)
def chosen_by_type(x, out=None):
    out = np.zeros(len(x)) if out is None else out
    out[:] = x * 2
    np.multiply(out, x, out)
    return out[1:3].copy()


@case(X)
def the_argument_itself(x):
    return x if x.ndim == 1 else x * 2


@case(X, True)
@case(X, False)
def chosen_result(x, flag):
    return x + 1 if flag else x[::2] * 3


@case(4)
@case(0)
@case(-1)
def int_or_float(n):
    if n == 0:
        return 0
    if n < 0:
        return np.float32(-0.5)
    return 1 / n


@case(X, True)
@case(X, False)
def int_or_float_in_tuples(x, flag):
    return (1, 2.5, x[0]) if flag else (0.5, 2, -1)


@case(X, 0.5)
@case(X, 5.0)
def int_or_float_or_none(x, limit):
    if limit > 3:
        return None
    for v in x:
        if v > limit:
            return v
    return -1


@case(X, True)
@case(X, False)
def int_or_float_by_name(x, flag):
    if flag:
        return {"mean": 0, "n": 0}
    return {"mean": x.sum() / 4, "n": len(x)}


@case(3, True)
@case(3, False)
def chosen_number(n, flag):
    return n if flag else n / 2


@case(X)
@case(np.zeros(0))
def none_if_empty(x):
    first = x[0] if len(x) else None
    last = None if first is None else x[-1]
    return x.max() if last is not None else None


@case(X, Y, F)
def loops_over_arrays(x, y, f):
    total, longest = 0.0, 0
    for a in (x, y[1:], f):
        longest = max(longest, len(a))
        total += a[0]
    for a, w in ((x, 1), (y, 0.5)):
        for i in range(len(a)):
            total += a[i] * w
        if w < 1:
            a[0] = -w
    parts = (x[:3], y[::2])
    for part in parts:
        for v in part:
            total -= v
            if v > 0.5:
                break
    for k in (1, 2):
        total += k
    return total, longest, y[0]


def tiled_in_three_dimensions(a):
    return np.tile(a, (2, 1, 3))


@case(A)
def joined_shapes(a):
    return a.shape[2:] + (4,), a[:, 0].shape[1:] + a.shape


class Visitors(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_arrays_that_are_the_argument(self):
        frozen = X.copy()
        frozen.flags.writeable = False
        for function in (as_array_is_the_same, written_in_a_tuple, written_by_another, written_by_two_names):
            with self.subTest(function.__name__):
                self.compare(function, X)
                self.assertRaisesRegex(ValueError, "read-only", dhpvm.jit(function), frozen)
        for function, argument in ((returned_tuple, X), (returned_item, X), (given_tuple, (X, 1))):
            self.assertRaisesRegex(dhpvm.TranslationError, r"the caller has '[xt]' already: .* t\[0\]\.copy\(\)",
                                   dhpvm.jit(function), argument)

    def test_results_of_more_dimensions_are_refused(self):
        for argument in (X, X.reshape(1, -1)):
            self.assertRaises(dhpvm.TranslationError, dhpvm.jit(tiled_in_three_dimensions), argument)


if __name__ == "__main__":
    support.main()
