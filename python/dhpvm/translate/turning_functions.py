# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy written in Python: arrays turned round, and repeated.

They are compiled with the functions that call them. A branch on `ndim` or None is decided by the types of the
arguments: only one is compiled.
"""

from __future__ import annotations

import numpy as np

from ..parallel import prange
from .array_functions import ravel


# ---- Turned round.

def flip(m, axis=None):
    if axis is not None:
        return flip_along(m, axis)
    elif m.ndim == 1:
        return m[::-1].copy()
    elif m.ndim == 2:
        return m[::-1, ::-1].copy()
    else:
        return m[::-1, ::-1, ::-1].copy()


def flip_along(a, axis):
    assert -a.ndim <= axis and axis < a.ndim, "the array has fewer dimensions"
    if a.ndim == 1:
        return a[::-1].copy()
    if axis % a.ndim == 0:
        return a[::-1].copy()
    if a.ndim == 2 or axis % a.ndim == 1:
        return a[:, ::-1].copy()
    if a.ndim == 3:
        return a[:, :, ::-1].copy()


def flipud(m):
    return m[::-1].copy()


def fliplr(m):
    return m[:, ::-1].copy()


def rot90(m, k=1):
    turns = k % 4
    if turns == 1:
        return m.T[::-1].copy()
    if turns == 2:
        return m[::-1, ::-1].copy()
    if turns == 3:
        return m[::-1].T.copy()
    return m.copy()


# ---- Repeated.

def tile_line(a, n):
    m = len(a)
    r = np.empty(m * n, a.dtype)
    if n < m:
        for i in prange(m):
            for k in range(n):
                r[k * m + i] = a[i]
    else:
        for k in prange(n):
            for i in range(m):
                r[k * m + i] = a[i]
    return r


def repeat_elements(a, n):
    r = np.empty(len(a) * n, a.dtype)
    for i in prange(len(a)):
        x = a[i]
        for k in range(n):
            r[i * n + k] = x
    return r


def repeat(a, repeats, axis=None):
    if a.ndim == 1:
        return repeat_elements(a, repeats)
    elif axis is None:
        return repeat_elements(ravel(a), repeats)
    else:
        assert -2 <= axis and axis < 2, "the array has two dimensions"
        down = repeats if axis % 2 == 0 else 1
        right = repeats if axis % 2 == 1 else 1
        r = np.empty((a.shape[0] * down, a.shape[1] * right), a.dtype)
        for i in prange(r.shape[0]):
            for j in range(r.shape[1]):
                r[i, j] = a[i // down, j // right]
        return r


def tile(A, reps):
    if A.ndim == 2:
        if isinstance(reps, int):
            return tile_rows(A, 1, reps)
        else:
            down, right = reps  # which refuses others
            return tile_rows(A, down, right)
    elif isinstance(reps, int):
        return tile_line(A, reps)
    else:
        down, right = reps
        return tile_rows(A[None, :], down, right)


def tile_rows(a, down, right):
    rows, columns = a.shape
    r = np.empty((rows * down, columns * right), a.dtype)
    for i in prange(r.shape[0]):
        for j in range(r.shape[1]):
            r[i, j] = a[i % rows, j % columns]
    return r


def kron(a, b):
    if a.ndim == 1:
        r = np.empty(len(a) * len(b), (a[:0] * b[:0]).dtype)
        for i in prange(len(a)):
            for j in range(len(b)):
                r[i * len(b) + j] = a[i] * b[j]
        return r
    if a.ndim == 2:
        rows, columns = b.shape
        m = np.empty((a.shape[0] * rows, a.shape[1] * columns), (a[0, :0] * b[0, :0]).dtype)
        for i in prange(m.shape[0]):
            for j in range(m.shape[1]):
                m[i, j] = a[i // rows, j // columns] * b[i % rows, j % columns]
        return m


# ---- Chosen.

def extract(condition, arr):
    return ravel(arr)[ravel(condition) != 0]


def nancumsum(a):
    return np.cumsum(np.where(np.isnan(a), 0, a))


def nanargmin(a):
    assert not np.isnan(a).all(), "all elements are NaN"
    return np.argmin(np.where(np.isnan(a), np.inf, a))


def nanargmax(a):
    assert not np.isnan(a).all(), "all elements are NaN"
    return np.argmax(np.where(np.isnan(a), -np.inf, a))


def sliding_window_view(x, window_shape):
    n = x.shape[0] - window_shape + 1
    assert window_shape > 0 and n > 0, "a window has an element at least, and no more than the array"
    r = np.empty((n, window_shape), x.dtype)
    for i in prange(n):
        for k in range(window_shape):
            r[i, k] = x[i + k]
    return r
