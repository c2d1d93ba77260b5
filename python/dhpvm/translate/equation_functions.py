# SPDX-License-Identifier: Apache-2.0
"""Systems of equations, as Python: all of them are compiled with the functions that call them."""

import numpy as np

from ..parallel import prange


def eliminate(m, b):
    """Solves m x = b in place, with partial pivoting. Returns the determinant."""
    n = len(m)
    assert m.shape[1] == n and len(b) == n, "a system of equations has a square matrix"
    determinant = 1.0
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(m[i, k]) > abs(m[pivot, k]):
                pivot = i
        if m[pivot, k] == 0:
            return 0.0
        if pivot != k:
            determinant = -determinant
            for j in range(n):
                m[k, j], m[pivot, j] = m[pivot, j], m[k, j]
            for j in range(b.shape[1]):
                b[k, j], b[pivot, j] = b[pivot, j], b[k, j]
        determinant *= m[k, k]
        for i in prange(k + 1, n):
            factor = m[i, k] / m[k, k]
            for j in range(k + 1, n):
                m[i, j] -= factor * m[k, j]
            for j in range(b.shape[1]):
                b[i, j] -= factor * b[k, j]
    for j in prange(b.shape[1]):
        for i in range(n - 1, -1, -1):
            s = b[i, j]
            for k in range(i + 1, n):
                s -= m[i, k] * b[k, j]
            b[i, j] = s / m[i, i]
    return determinant


def check_pivots(m):
    # The determinant of a matrix of small numbers may be 0 as well.
    for k in range(len(m)):
        if m[k, k] == 0:
            raise ValueError("the matrix is singular")


def solve(a, b):
    m = np.empty(a.shape, (1.0 * a.ravel()[:0] * b.ravel()[:0]).dtype)
    m[:] = a
    if b.ndim == 1:
        x = np.empty((len(b), 1), m.dtype)
        x[:, 0] = b
        if eliminate(m, x) == 0.0:
            check_pivots(m)
        return x[:, 0].copy()
    if b.ndim == 2:
        y = np.empty(b.shape, m.dtype)
        y[:] = b
        if eliminate(m, y) == 0.0:
            check_pivots(m)
        return y


def inv(a):
    m = a * 1.0
    return solve(m, np.eye(len(a)).astype(m.dtype))


def det(a):
    m = a * 1.0
    none = np.zeros((len(a), 0))
    return eliminate(m, none)


def cholesky(a):
    lower = np.zeros_like(a * 1.0)
    if a.shape[0] != a.shape[1]:
        raise ValueError("the matrix is not square")
    for j in range(len(a)):
        left = a[j, j] * 1.0
        for k in range(j):
            left -= lower[j, k] * lower[j, k]
        if not left > 0.0:
            raise ValueError("the matrix is not positive definite")
        lower[j, j] = np.sqrt(left)
        for i in range(j + 1, len(a)):
            part = a[i, j] * 1.0
            for k in range(j):
                part -= lower[i, k] * lower[j, k]
            lower[i, j] = part / lower[j, j]
    return lower
