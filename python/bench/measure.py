#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What compiled functions cost: kernels, calls, the first call, the import; beside Numba if it is installed.

usage: measure.py [--rounds N] [--numba PYTHON]

Both sides run in processes of their own, in turns, N times (default 3), each in a Python that has it: PYTHON for Numba,
this one for DHPVM. The least times count. Numba is given as many threads as there are cores, as DHPVM has.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time


def kernels(jit, prange, np):
    """The functions with their arguments, by name. `jit` compiles."""
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
    }


def least(call, times, turns=1):
    best = math.inf
    for _ in range(times):
        begin = time.perf_counter()
        for _ in range(turns):
            call()
        best = min(best, (time.perf_counter() - begin) / turns)
    return best


def measure(side):
    """Seconds, by name, of one side in this process."""
    import numpy as np

    begin = time.perf_counter()
    if side == "numba":
        import numba

        numba.set_num_threads(os.cpu_count())
        jit, call_jit, prange = numba.njit(parallel=True), numba.njit, numba.prange
    else:
        import dhpvm

        jit, call_jit, prange = dhpvm.jit, dhpvm.jit, dhpvm.prange
    found = {"import": time.perf_counter() - begin}
    for name, (function, *arguments) in kernels(jit, prange, np).items():
        first = least(lambda: function(*arguments), 1)
        found.setdefault("first call of saxpy", first)
        least(lambda: function(*arguments), 4)
        time.sleep(0.3)  # while it is compiled in the background
        found[name] = least(lambda: function(*arguments), 12)

    @call_jit
    def three(x, y, z):
        pass

    @call_jit
    def six(x, y, z, u, v, w):
        pass

    arrays = [np.zeros(10) for _ in range(6)]
    three(*arrays[:3])
    six(*arrays)
    found["call with 3 arrays"] = least(lambda: three(*arrays[:3]), 7, 20_000)
    found["call with 6 arrays"] = least(lambda: six(*arrays), 7, 20_000)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--numba", default="", metavar="PYTHON")
    parser.add_argument("--side", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        print(json.dumps(measure(arguments.side)))
        return
    pythons = {"dhpvm": sys.executable} | ({"numba": arguments.numba} if arguments.numba else {})
    best = {side: {} for side in pythons}
    for _ in range(arguments.rounds):
        for side, python in pythons.items():
            output = subprocess.run([python, __file__, "--side", side], check=True, capture_output=True, text=True)
            for name, seconds in json.loads(output.stdout.splitlines()[-1]).items():
                best[side][name] = min(seconds, best[side].get(name, math.inf))
    ratios = []
    for name, seconds in best["dhpvm"].items():
        line = f"{name:22} {seconds * 1e6:12.1f} us"
        if "numba" in best:
            ratio = best["numba"][name] / seconds
            line += f"   numba {best['numba'][name] * 1e6:12.1f} us   {ratio:6.2f} times as fast"
            if " " not in name and name != "import":
                ratios.append(ratio)
        print(line)
    if ratios:
        print(f"kernels: {math.prod(ratios) ** (1 / len(ratios)):.2f} times as fast (geometric mean)")


if __name__ == "__main__":
    main()
