#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Heat in a plate: a loop over NumPy arrays, compiled, and then on other machines.

usage: heat.py [SIZE] [STEPS] [WORKER..]

It needs the Python package (docs/python.md) and NumPy. A WORKER is the address of a `dhpvm-run --worker`, such as
gpubox:7471; the key that it has is taken from the file that DHPVM_KEY names.
"""

import os
import sys
import time

import dhpvm
import numpy as np


@dhpvm.jit
def spread(old, new):
    rows, columns = old.shape
    hottest = 0.0
    for i in dhpvm.prange(1, rows - 1):
        for j in dhpvm.prange(1, columns - 1):
            t = (old[i - 1, j] + old[i + 1, j] + old[i, j - 1] + old[i, j + 1]) / 4
            new[i, j] = t
            hottest = max(hottest, t)
    return hottest


@dhpvm.jit
def simulate(plate, steps):
    other = plate.copy()
    hottest = 0.0
    for _ in range(steps // 2):
        spread(plate, other)
        hottest = spread(other, plate)
    return hottest


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    plate = np.zeros((size, size))
    plate[0, :] = 100.0

    python = plate[:20, :20].copy()
    compiled = python.copy()
    simulate.__wrapped__(python, 4)  # the function as Python runs it
    simulate(compiled, 4)
    print("the same bits as Python:", bool((python == compiled).all()))

    begin = time.perf_counter()
    here = plate.copy()
    hottest = simulate(here, steps)
    print(f"{steps} steps of {size} x {size} cells: inner cells up to {hottest:.6f}")
    print(f"  {time.perf_counter() - begin:.3f} s", file=sys.stderr)

    if len(sys.argv) > 3:
        with dhpvm.workers(*sys.argv[3:], key=os.environ.get("DHPVM_KEY"), always=True) as engine:
            there = plate.copy()
            simulate(there, steps)
            print("the same bits on workers:", bool((here == there).all()))
            for use in engine.workers():
                print(f"  {use.name}: {use.jobs} jobs, {use.state}")


if __name__ == "__main__":
    main()
