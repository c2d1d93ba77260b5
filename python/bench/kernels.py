# SPDX-License-Identifier: Apache-2.0
"""Kernels of bench/programs/kernels as they are written in Python, for DHPVM and for Numba."""

import math


def kernels(jit, prange, np):
    """The functions with their arguments, by name, where what they write comes last. `jit` compiles."""
    @jit
    def saxpy(a, x, y):
        for i in prange(len(x)):
            y[i] = a * x[i] + y[i]

    @jit
    def dot(x, y):
        s = 0.0
        for i in prange(len(x)):
            s += x[i] * y[i]
        return s

    @jit
    def gemm(a, b, c):
        for i in prange(c.shape[0]):
            for j in range(c.shape[1]):
                s = 0.0
                for k in range(a.shape[1]):
                    s += a[i, k] * b[k, j]
                c[i, j] = s

    @jit
    def jacobi(a, b):
        for i in prange(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                b[i, j] = 0.25 * (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1])

    @jit
    def mandelbrot(out):
        h, w = out.shape
        for y in prange(h):
            for x in range(w):
                cr = 3.0 * x / w - 2.0
                ci = 2.0 * y / h - 1.0
                zr = 0.0
                zi = 0.0
                n = 0
                while n < 200 and zr * zr + zi * zi < 4.0:
                    t = zr * zr - zi * zi + cr
                    zi = 2.0 * zr * zi + ci
                    zr = t
                    n += 1
                out[y, x] = n

    @jit
    def black_scholes(s, k, t, call):
        for i in prange(len(s)):
            root = math.sqrt(t[i])
            d1 = (math.log(s[i] / k[i]) + (0.02 + 0.5 * 0.3 * 0.3) * t[i]) / (0.3 * root)
            d2 = d1 - 0.3 * root
            n1 = 0.5 * (1.0 + math.erf(d1 * 0.7071067811865476))
            n2 = 0.5 * (1.0 + math.erf(d2 * 0.7071067811865476))
            call[i] = s[i] * n1 - k[i] * math.exp(-0.02 * t[i]) * n2

    @jit
    def nbody(x, y, z, m, ax, ay, az):
        for i in prange(len(x)):
            fx = 0.0
            fy = 0.0
            fz = 0.0
            for j in range(len(x)):
                dx = x[j] - x[i]
                dy = y[j] - y[i]
                dz = z[j] - z[i]
                r = dx * dx + dy * dy + dz * dz + 1e-9
                f = m[j] / (r * math.sqrt(r))
                fx += f * dx
                fy += f * dy
                fz += f * dz
            ax[i] = fx
            ay[i] = fy
            az[i] = fz

    @jit
    def stencil3d(a, b):
        n, m, p = a.shape
        for i in prange(1, n - 1):
            for j in range(1, m - 1):
                for k in range(1, p - 1):
                    b[i, j, k] = a[i, j, k] * 0.4 + 0.1 * (a[i - 1, j, k] + a[i + 1, j, k] + a[i, j - 1, k] +
                                                           a[i, j + 1, k] + a[i, j, k - 1] + a[i, j, k + 1])

    @jit
    def spmv(begin, column, value, x, y):
        for i in prange(len(y)):
            s = 0.0
            for k in range(begin[i], begin[i + 1]):
                s += value[k] * x[column[k]]
            y[i] = s

    @jit
    def gemv(a, x, y):
        for i in prange(a.shape[0]):
            s = 0.0
            for j in range(a.shape[1]):
                s += a[i, j] * x[j]
            y[i] = s

    @jit
    def row_sums(a, y):
        for i in prange(a.shape[0]):
            y[i] = a[i].sum()

    @jit
    def transpose(a, b):
        for i in prange(a.shape[0]):
            for j in range(a.shape[1]):
                b[j, i] = a[i, j]

    @jit
    def blur(a, b):
        for i in prange(2, a.shape[0] - 2):
            for j in range(2, a.shape[1] - 2):
                s = np.float32(0)
                for k in range(-2, 3):
                    for l in range(-2, 3):
                        s += a[i + k, j + l]
                b[i, j] = s / np.float32(25)

    @jit
    def dft(x, real, imaginary):
        n = len(x)
        for k in prange(n):
            re = 0.0
            im = 0.0
            for i in range(n):
                angle = 2.0 * math.pi * k * i / n
                re += x[i] * math.cos(angle)
                im -= x[i] * math.sin(angle)
            real[k] = re
            imaginary[k] = im

    @jit
    def softmax(a, b):
        for i in prange(a.shape[0]):
            top = a[i, 0]
            for j in range(a.shape[1]):
                top = max(top, a[i, j])
            s = 0.0
            for j in range(a.shape[1]):
                e = math.exp(a[i, j] - top)
                b[i, j] = e
                s += e
            for j in range(a.shape[1]):
                b[i, j] /= s

    @jit
    def layer_norm(a, b):
        for i in prange(a.shape[0]):
            mean = a[i].mean()
            v = 0.0
            for j in range(a.shape[1]):
                v += (a[i, j] - mean) ** 2
            scale = 1.0 / math.sqrt(v / a.shape[1] + 1e-5)
            for j in range(a.shape[1]):
                b[i, j] = (a[i, j] - mean) * scale

    @jit
    def kmeans(points, centres, nearest):
        for i in prange(points.shape[0]):
            best = 0
            least = math.inf
            for c in range(centres.shape[0]):
                d = 0.0
                for k in range(points.shape[1]):
                    d += (points[i, k] - centres[c, k]) ** 2
                if d < least:
                    least = d
                    best = c
            nearest[i] = best

    @jit
    def add_image(a, b, c):
        for i in prange(a.shape[0]):
            for j in range(a.shape[1]):
                c[i, j] = min(np.int32(a[i, j]) + np.int32(b[i, j]), 255)

    @jit
    def distances(points, d):
        for i in prange(points.shape[0]):
            for j in range(points.shape[0]):
                step = points[i] - points[j]
                d[i, j] = np.sqrt((step * step).sum())

    random = np.random.default_rng(1)
    n = 200_000
    return {
        "saxpy": (saxpy, np.float32(2), random.random(4_000_000, np.float32), random.random(4_000_000, np.float32)),
        "dot": (dot, random.random(4_000_000), random.random(4_000_000)),
        "gemm": (gemm, random.random((400, 400)), random.random((400, 400)), np.zeros((400, 400))),
        "jacobi": (jacobi, random.random((1500, 1500)), np.zeros((1500, 1500))),
        "mandelbrot": (mandelbrot, np.zeros((400, 600), np.int32)),
        "black_scholes": (black_scholes, *(random.random(500_000) * 9 + 1 for _ in range(3)), np.zeros(500_000)),
        "nbody": (nbody, *(random.random(3000) for _ in range(4)), *(np.zeros(3000) for _ in range(3))),
        "stencil3d": (stencil3d, random.random((150, 150, 150)), np.zeros((150, 150, 150))),
        "spmv": (spmv, np.arange(0, (n + 1) * 20, 20), random.integers(0, n, n * 20), random.random(n * 20),
                 random.random(n), np.zeros(n)),
        "gemv": (gemv, random.random((2000, 2000)), random.random(2000), np.zeros(2000)),
        "row_sums": (row_sums, random.random((2000, 2000)), np.zeros(2000)),
        "transpose": (transpose, random.random((2000, 2000)), np.zeros((2000, 2000))),
        "blur": (blur, random.random((1000, 1000), np.float32), np.zeros((1000, 1000), np.float32)),
        "dft": (dft, random.random(1000), np.zeros(1000), np.zeros(1000)),
        "softmax": (softmax, random.random((2000, 500)), np.zeros((2000, 500))),
        "layer_norm": (layer_norm, random.random((2000, 500)), np.zeros((2000, 500))),
        "kmeans": (kmeans, random.random((100_000, 4)), random.random((16, 4)), np.zeros(100_000, np.int64)),
        "add_image": (add_image, *(random.integers(0, 256, (2000, 2000)).astype(np.uint8) for _ in range(2)),
                      np.zeros((2000, 2000), np.uint8)),
        "distances": (distances, random.random((1000, 8)), np.zeros((1000, 1000))),
    }
