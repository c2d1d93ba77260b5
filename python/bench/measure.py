#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures one side for bench/run_python.py: seconds by name, and results, as JSON.

usage: measure.py SIDE [first]

SIDE is dhpvm or numba. With `first`, only the first call of saxpy in this process is measured, and the import.
"""

import json
import math
import os
import sys
import time

import numpy as np

import kernels


def least(call, times, turns=1):
    best = math.inf
    for _ in range(times):
        begin = time.perf_counter()
        for _ in range(turns):
            call()
        best = min(best, (time.perf_counter() - begin) / turns)
    return best


def calls(jit, found):
    @jit
    def three(x, y, z):
        pass

    @jit
    def six(x, y, z, u, v, w):
        pass

    @jit
    def first_of(x):
        return x[0]

    arrays = [np.zeros(10) for _ in range(6)]
    three(*arrays[:3])
    six(*arrays)
    found["call with 3 arrays"] = least(lambda: three(*arrays[:3]), 7, 20_000)
    found["call with 6 arrays"] = least(lambda: six(*arrays), 7, 20_000)
    first_of(arrays[0])
    large = np.zeros(1 << 27)
    found["call with 1 GB"] = least(lambda: first_of(large), 7, 1000)


def measure(side, is_first_alone):
    begin = time.perf_counter()
    if side == "numba":
        import numba

        numba.set_num_threads(os.cpu_count())
        jit, call_jit, prange = numba.njit(parallel=True, cache=is_first_alone), numba.njit, numba.prange
    else:
        import dhpvm

        jit, call_jit, prange = dhpvm.jit, dhpvm.jit, dhpvm.prange
    found, results = {"import": time.perf_counter() - begin}, {}
    for name, (function, *arguments) in kernels.kernels(jit, prange, np).items():
        first = least(lambda: function(*arguments), 1)
        found.setdefault("first call of saxpy", first)
        if is_first_alone:
            return found, results
        result = function(*arguments)
        results[name] = float(np.sum(arguments[-1], dtype=np.float64)) if result is None else result
        least(lambda: function(*arguments), 3)
        time.sleep(0.3)  # while it is compiled in the background
        found[name] = least(lambda: function(*arguments), 12)
    calls(call_jit, found)
    return found, results


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], "first" in sys.argv[2:])))
