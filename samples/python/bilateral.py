#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bilateral filter, which smooths an image and keeps its edges: as NumPy, as a loop, compiled, on other machines.

usage: bilateral.py [SIZE] [WORKER..]

docs/python-ten-minutes.md goes through it. It needs the Python package and NumPy. A WORKER is the address of a
`dhpvm-run --worker`; the key that it has is taken from the file that DHPVM_KEY names.
"""

import math
import os
import sys
import time

import dhpvm
import numpy as np

REACH = 3
# The weight of a neighbour by its distance, whatever its brightness.
NEARNESS = np.exp(-np.add.outer(np.arange(-REACH, REACH + 1) ** 2, np.arange(-REACH, REACH + 1) ** 2) / 8.0)


def smooth_numpy(image, contrast):
    rows, columns = image.shape[0] - 2 * REACH, image.shape[1] - 2 * REACH
    middle = image[REACH:-REACH, REACH:-REACH]
    total, weights = np.zeros((rows, columns)), np.zeros((rows, columns))
    for k in range(2 * REACH + 1):
        for l in range(2 * REACH + 1):
            other = image[k:k + rows, l:l + columns]
            weight = NEARNESS[k, l] * np.exp(-((other - middle) / contrast) ** 2)
            total += weight * other
            weights += weight
    return total / weights


def smooth_loop(image, contrast):
    result = np.zeros((image.shape[0] - 2 * REACH, image.shape[1] - 2 * REACH))
    for i in dhpvm.prange(result.shape[0]):
        for j in range(result.shape[1]):
            middle = image[i + REACH, j + REACH]
            total = weights = 0.0
            for k in range(2 * REACH + 1):
                for l in range(2 * REACH + 1):
                    other = image[i + k, j + l]
                    weight = NEARNESS[k, l] * math.exp(-((other - middle) / contrast) ** 2)
                    total += weight * other
                    weights += weight
            result[i, j] = total / weights
    return result


smooth = dhpvm.jit(smooth_loop)


def timed(name, function, *arguments):
    begin = time.perf_counter()
    result = function(*arguments)
    print(f"  {name:22} {time.perf_counter() - begin:8.3f} s", file=sys.stderr)
    return result


def main():
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    image = np.add.outer(np.arange(size), np.zeros(size)) / size + np.random.default_rng(1).random((size, size)) / 5

    part = image[:60, :60].copy()
    python = timed("Python, 54 x 54 cells", smooth_loop, part, 0.3)
    print("the loop is NumPy's:", bool(np.allclose(python, smooth_numpy(part, 0.3))))
    whole = timed("NumPy", smooth_numpy, image, 0.3)
    here = timed("compiled, first call", smooth, image, 0.3)
    here = timed("compiled", smooth, image, 0.3)
    print("compiled, too:", bool(np.allclose(here, whole)))

    if len(sys.argv) > 2:
        with dhpvm.workers(*sys.argv[2:], key=os.environ.get("DHPVM_KEY"), always=True) as engine:
            there = timed("workers, first call", smooth, image, 0.3)
            there = timed("workers", smooth, image, 0.3)
            print("the same on workers:", bool(np.allclose(here, there, rtol=1e-14)))
            for use in engine.workers():
                print(f"  {use.name}: {use.jobs} jobs, {use.state}")


if __name__ == "__main__":
    main()
