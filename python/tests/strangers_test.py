#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions as people write them who have not read a page about this package."""

import numpy as np
import support

from dhpvm import prange

TABLE = (0.1, 0.2, 0.7)
CORNERS = ((0, 0), (1, 0), (0, 1))


def sieve(n):
    is_prime = np.ones(n + 1, dtype=np.bool_)
    is_prime[:2] = False
    for i in range(2, int(n ** 0.5) + 1):
        if is_prime[i]:
            is_prime[i * i::i] = False
    return np.sum(is_prime)


def every(x, y, step):
    part = x[2:40:step]
    back = x[::-step]
    y[::step] = x[::step] * 2
    return part.sum(), back.copy(), part[::2].copy(), np.diff(x[::step]), last(x[1::step])


def last(x):
    return x[-1]


def trace(m):
    t = 0.0
    for i in range(min(m.shape)):
        t += m[i, i]
    return t, max(m.shape), sum(m.shape), len(m.shape)


def sobel(image):
    h, w = image.shape
    out = np.zeros((h, w))
    kernel = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
    for i in prange(1, h - 1):
        for j in range(1, w - 1):
            g = 0.0
            for di in range(3):
                for dj in range(3):
                    g += kernel[di, dj] * image[i + di - 1, j + dj - 1]
            out[i, j] = g
    return out, np.array([[[1, 2.5], [3, 4]]]), np.array([[True], [False]]), np.array(CORNERS[1], dtype=np.float32)


def rotated(points, angle):
    c, s = np.cos(angle), np.sin(angle)
    return points @ np.array([[c, -s], [s, c]]).T


def of_table(x):
    s = 0.0
    for w in TABLE:
        s += w * x
    for k in range(len(TABLE)):
        s += TABLE[k] * x ** k
    for i, j in CORNERS:
        s += (i - x) ** 2 + j
    for i, (j, (k, l)) in enumerate(zip(TABLE, CORNERS)):
        s += i * j + k - l
    place = (x, 2 * x, 3)
    for each in place:
        s -= each
    return s, place[-1], place[1] * CORNERS[2][1]


def game_of_life(grid):
    n, m = grid.shape
    new = np.zeros_like(grid)
    for i in prange(n):
        for j in range(m):
            alive = 0
            for di in (-1, 0, 1):
                for dj in (1, -1, 0):
                    if di == 0 and dj == 0:
                        continue
                    alive += grid[(i + di) % n, (j + dj) % m]
            if alive == 3 or (alive == 2 and grid[i, j]):
                new[i, j] = 1
    return new


class Strangers(support.Comparisons):
    def test_steps_that_are_computed(self):
        for n in (2, 9, 100):
            self.compare(sieve, n)
        for step in (1, 2, 7):
            self.compare(every, np.arange(50.0), np.zeros(50), step)

    def test_lists_and_tuples(self):
        self.compare(trace, np.arange(12.0).reshape(3, 4))
        self.compare(sobel, np.arange(42.0).reshape(6, 7) ** 2)
        self.compare(rotated, np.arange(8.0).reshape(4, 2), 0.5)
        self.compare(of_table, 0.3)
        self.compare(game_of_life, np.random.default_rng(1).integers(0, 2, (9, 8)).astype(np.uint8))


if __name__ == "__main__":
    support.main()
