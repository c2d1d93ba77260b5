# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy written in Python: what chooses, joins and turns elements of arrays.

They are compiled with the functions that call them. A branch on `ndim` or None is decided by the types of the
arguments: only one is compiled.
"""

from __future__ import annotations

import numpy as np

from ..parallel import prange


# ---- Elements that are chosen.

def take(a, index):
    if a.ndim == 1:
        r = np.empty(len(index), a.dtype)
        for i in prange(len(index)):
            k = int(index[i])
            r[i] = a[k if k >= 0 else k + len(a)]
        return r
    if a.ndim == 2:
        m = np.empty((len(index), a.shape[1]), a.dtype)
        for i in prange(len(index)):
            k = int(index[i])
            row = k if k >= 0 else k + len(a)
            for j in range(a.shape[1]):
                m[i, j] = a[row, j]
        return m


def take_2(a, index):
    r = np.empty(index.shape, a.dtype)
    for i in prange(index.shape[0]):
        for j in range(index.shape[1]):
            k = int(index[i, j])
            r[i, j] = a[k if k >= 0 else k + len(a)]
    return r


def take_pairs(a, rows, columns):
    assert len(rows) == len(columns), "as many rows as columns are needed"
    r = np.empty(len(rows), a.dtype)
    for i in prange(len(rows)):
        j, k = int(rows[i]), int(columns[i])
        r[i] = a[j if j >= 0 else j + a.shape[0], k if k >= 0 else k + a.shape[1]]
    return r


def take_along(a, index, axis=None):
    if a.ndim == 1:
        return take(a, index)
    elif axis is None:
        return take(ravel(a), index)
    elif axis == 0 or axis == -2:
        return take(a, index)
    else:
        assert axis == 1 or axis == -1, "the array has two dimensions"
        r = take(a.T, index)
        return r.T.copy()


def select(a, mask):
    assert a.shape[0] == len(mask), "a condition and the array that it selects from have different sizes"
    count = 0
    for i in prange(len(mask)):
        count += mask[i]
    k = 0
    if a.ndim == 1:
        r = np.empty(count, a.dtype)
        for i in range(len(mask)):
            if mask[i]:
                r[k] = a[i]
                k += 1
        return r
    if a.ndim == 2:
        m = np.empty((count, a.shape[1]), a.dtype)
        for i in range(len(mask)):
            if mask[i]:
                for j in range(a.shape[1]):
                    m[k, j] = a[i, j]
                k += 1
        return m


def select_2(a, mask):
    assert a.shape[0] == mask.shape[0] and a.shape[1] == mask.shape[1], \
        "a condition and the array that it selects from have different sizes"
    r = np.empty(mask.sum(), a.dtype)
    k = 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if mask[i, j]:
                r[k] = a[i, j]
                k += 1
    return r


def put(a, index, values):
    if isinstance(values, np.ndarray) and values.ndim == a.ndim:
        assert len(index) == len(values), "as many values as indices are needed"
    for i in range(len(index)):
        k = int(index[i])
        row = k if k >= 0 else k + a.shape[0]
        if isinstance(values, np.ndarray) and values.ndim == a.ndim:
            a[row] = values[i]
        else:
            a[row] = values


def put_columns(a, index, values):
    if isinstance(values, np.ndarray):
        assert len(index) == values.shape[values.ndim - 1], "as many values as indices are needed"
    for i in range(len(index)):
        k = int(index[i])
        column = k if k >= 0 else k + a.shape[1]
        if isinstance(values, np.ndarray):
            a[:, column] = values[..., i]
        else:
            a[:, column] = values


def put_pairs(a, rows, columns, values):
    assert len(rows) == len(columns), "as many rows as columns are needed"
    if isinstance(values, np.ndarray):
        assert len(rows) == len(values), "as many values as indices are needed"
    for i in range(len(rows)):
        j, k = int(rows[i]), int(columns[i])
        if isinstance(values, np.ndarray):
            a[j if j >= 0 else j + a.shape[0], k if k >= 0 else k + a.shape[1]] = values[i]
        else:
            a[j if j >= 0 else j + a.shape[0], k if k >= 0 else k + a.shape[1]] = values


def place(a, mask, values):
    assert len(a) == len(mask), "a condition and the array that it selects from have different sizes"
    assert mask.sum() == len(values), "as many values as elements that the condition selects are needed"
    k = 0
    for i in range(len(a)):
        if mask[i]:
            a[i] = values[k]
            k += 1


def place_2(a, mask, values):
    assert a.shape[0] == mask.shape[0] and a.shape[1] == mask.shape[1], \
        "a condition and the array that it selects from have different sizes"
    assert mask.sum() == len(values), "as many values as elements that the condition selects are needed"
    k = 0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if mask[i, j]:
                a[i, j] = values[k]
                k += 1


def nonzero_along(a, axis):
    """The indices in the first or second dimension."""
    count = count_nonzero(a)
    r = np.empty(count, np.int64)
    n = 0
    # A position stored where a[i, j] is 0 is overwritten: a branch would be foreseen half of the time.
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if n < count:
                r[n] = i if axis == 0 else j
            n += a[i, j] != 0
    return r


def flatnonzero(a):
    count = 0
    for i in prange(len(a)):
        count += a[i] != 0
    r = np.empty(count, np.int64)
    i, k = 0, 0
    # A position stored where a[i] is 0 is overwritten: a branch would be foreseen half of the time.
    while k < count:
        r[k] = i
        k += a[i] != 0
        i += 1
    return r


def count_nonzero(a, axis=None):
    return sum_along(a != 0, axis)


def sum_along(a, axis):
    if axis is None or a.ndim == 1:
        return a.sum()
    else:
        assert -a.ndim <= axis and axis < a.ndim, "the array has fewer dimensions"
        if axis % a.ndim == 0:
            return a.sum(axis=0)
        if a.ndim == 2 or axis % a.ndim == 1:
            return a.sum(axis=1)
        return a.sum(axis=a.ndim - 1)


# ---- Shapes.

def ravel(a):
    if a.ndim == 1:
        return a.copy()
    if a.ndim == 2:
        columns = a.shape[1]
        r = np.empty(a.size, a.dtype)
        for i in prange(a.shape[0]):
            for j in range(columns):
                r[i * columns + j] = a[i, j]
        return r
    rows = a.shape[1] * a.shape[2]
    s = np.empty(a.size, a.dtype)
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            for k in range(a.shape[2]):
                s[i * rows + j * a.shape[2] + k] = a[i, j, k]
    return s


def reshape(a, n, m=None, k=None):
    flat = ravel(a)
    known = 1
    if n >= 0:
        known *= n
    if m is None:
        assert n == flat.size or n == -1, "an array cannot be reshaped to another size"
        return flat
    if m >= 0:
        known *= m
    if k is None:
        rows = n if n >= 0 else flat.size // known
        columns = m if m >= 0 else flat.size // known
        assert rows * columns == flat.size, "an array cannot be reshaped to another size"
        r = np.empty((rows, columns), a.dtype)
        for i in prange(rows):
            for j in range(columns):
                r[i, j] = flat[i * columns + j]
        return r
    if k is not None:
        if k >= 0:
            known *= k
        p = n if n >= 0 else flat.size // known
        q = m if m >= 0 else flat.size // known
        o = k if k >= 0 else flat.size // known
        assert p * q * o == flat.size, "an array cannot be reshaped to another size"
        s = np.empty((p, q, o), a.dtype)
        for i in prange(p):
            for j in range(q):
                for l in range(o):
                    s[i, j, l] = flat[(i * q + j) * o + l]
        return s


def concatenate(a, b):
    n = len(a)
    if a.ndim == 1:
        r = np.empty(n + len(b), np.where(True, a[:0], b[:0]).dtype)
        r[:n] = a
        r[n:] = b
        return r
    if a.ndim == 2:
        assert a.shape[1] == b.shape[1], "arrays of different widths cannot be joined"
        m = np.empty((n + len(b), a.shape[1]), np.where(True, a[0, :0], b[0, :0]).dtype)
        m[:n] = a
        m[n:] = b
        return m


def ediff1d(a):
    return diff(ravel(a), 1, 0)


def roll(a, shift, axis=None):
    r = np.empty_like(a)
    if a.ndim == 1:
        n = len(a)
        for i in prange(n):
            r[(i + shift) % n] = a[i]
    elif axis is None:
        columns = a.shape[1]
        for i in prange(a.shape[0]):
            for j in range(columns):
                k = (i * columns + j - shift) % a.size
                r[i, j] = a[k // columns, k % columns]
    else:
        assert -2 <= axis and axis < 2, "the array has two dimensions"
        down = shift if axis % 2 == 0 else 0
        right = shift - down
        for i in prange(a.shape[0]):
            for j in range(a.shape[1]):
                r[i, j] = a[(i - down) % a.shape[0], (j - right) % a.shape[1]]
    return r


def diff(a, n=1, axis=-1, prepend=None, append=None):
    if prepend is not None:
        return diff(concatenate(as_array(prepend), a), n, axis, None, append)
    if append is not None:
        return diff(concatenate(a, as_array(append)), n, axis)
    assert n > 0, "differences of order 1 and higher can be compiled"
    assert -a.ndim <= axis and axis < a.ndim, "the array has fewer dimensions"
    r = diff_once(a, axis % a.ndim)
    for _ in range(n - 1):
        r = diff_once(r, axis % a.ndim)
    return r


def as_array(x):
    if isinstance(x, np.ndarray):
        return x.copy()
    else:
        return np.array([x])


def diff_once(a, axis):
    if a.ndim == 1:
        return difference(a[1:], a[:-1])
    if a.ndim == 2:
        if axis == 0:
            return difference(a[1:], a[:-1])
        return difference(a[:, 1:], a[:, :-1])
    if a.ndim == 3:
        if axis == 0:
            return difference(a[1:], a[:-1])
        if axis == 1:
            return difference(a[:, 1:], a[:, :-1])
        return difference(a[:, :, 1:], a[:, :, :-1])


def difference(a, b):
    if a.dtype == bool:
        return a != b
    else:
        return a - b


def meshgrid_x(x, y):
    m = np.empty((len(y), len(x)), x.dtype)
    m[:, :] = x
    return m


def meshgrid_y(x, y):
    m = np.empty((len(y), len(x)), y.dtype)
    m[:, :] = y[:, None]
    return m


def outer(a, b):
    return a[:, None] * b


def eye(n, m=None, k=0):
    if m is None:
        columns = n
    else:
        columns = m
    r = np.zeros((n, columns))
    for i in prange(n):
        if 0 <= i + k and i + k < columns:
            r[i, i + k] = 1
    return r


def argwhere(a):
    if a.ndim == 1:
        places = flatnonzero(a)
        m = np.empty((len(places), 1), np.int64)
        for i in prange(len(places)):
            m[i, 0] = places[i]
        return m
    if a.ndim == 2:
        rows, columns = nonzero_along(a, 0), nonzero_along(a, 1)
        r = np.empty((len(rows), 2), np.int64)
        r[:, 0] = rows
        r[:, 1] = columns
        return r


def triangle(n, k, m, is_upper, axis):
    """The rows or columns of the elements above or below a diagonal."""
    count = 0
    for i in range(n):
        count += max(m - max(i + k, 0), 0) if is_upper else min(max(i + k + 1, 0), m)
    r = np.empty(count, np.int64)
    at = 0
    for i in range(n):
        first = min(max(i + k, 0), m) if is_upper else 0
        last = m if is_upper else min(max(i + k + 1, 0), m)
        for j in range(first, last):
            r[at] = i if axis == 0 else j
            at += 1
    return r


def tril(m, k=0):
    r = m.copy()
    for i in prange(r.shape[0]):
        for j in range(max(i + k + 1, 0), r.shape[1]):
            r[i, j] = 0
    return r


def triu(m, k=0):
    r = m.copy()
    for i in prange(r.shape[0]):
        for j in range(min(max(i + k, 0), r.shape[1])):
            r[i, j] = 0
    return r


def trace(a):
    s = a[:0, 0].sum()
    for i in range(min(a.shape[0], a.shape[1])):
        s += a[i, i]
    return s


def diag(a):
    if a.ndim == 2:
        r = np.empty(min(a.shape[0], a.shape[1]), a.dtype)
        for i in prange(len(r)):
            r[i] = a[i, i]
        return r
    if a.ndim == 1:
        m = np.zeros((len(a), len(a)), a.dtype)
        for i in prange(len(a)):
            m[i, i] = a[i]
        return m


def fill_diagonal(a, value):
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = value


def diagflat(v):
    if v.ndim == 1:
        return diag(v)
    else:
        return diag(ravel(v))
