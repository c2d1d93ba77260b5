# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy written in Python: what combines neighbours, and statistics of several samples.

They are compiled with the functions that call them. A branch on `ndim`, None or text is decided by the types of the
arguments: only one is compiled.
"""

from __future__ import annotations

import builtins
import math

import numpy as np

from ..parallel import prange
from .array_functions import ravel


# ---- Neighbours.

def convolve(a, v, mode="full"):
    if a.dtype == bool and v.dtype == bool:
        return convolve_numbers(a.astype(np.int64), v.astype(np.int64), mode) != 0
    else:
        return convolve_numbers(a, v, mode)


def convolve_numbers(a, v, mode):
    n, m = len(a), len(v)
    assert n > 0 and m > 0, "an array without elements cannot be convolved"
    r = np.zeros(n + m - 1, (a[:0] * v[:0]).dtype)
    if n < m:
        convolve_into(r, v, a)
    else:
        convolve_into(r, a, v)
    if mode == "full":
        return r
    if mode == "same":
        first = (min(n, m) - 1) // 2
        return r[first:first + max(n, m)].copy()
    if mode == "valid":
        return r[min(n, m) - 1:max(n, m)].copy()


def convolve_into(r, a, v):
    """Where `v` lies within `a` as a whole, all iterations take the same turns, so that lanes can share them."""
    n, m = len(a), len(v)
    for i in prange(m - 1, n):
        s = r[i]
        for k in range(m):
            s += a[i - k] * v[k]
        r[i] = s
    for i in prange(m - 1):
        head, tail = r[i], r[n + i]
        for k in range(i + 1):
            head += a[i - k] * v[k]
        for k in range(i + 1, m):
            tail += a[n + i - k] * v[k]
        r[i], r[n + i] = head, tail


def correlate(a, v, mode="valid"):
    assert len(a) >= len(v), "the first array of a correlation is the longer one here"
    return convolve(a, v[::-1], mode)


def gradient(f, h=1.0):
    n = len(f)
    assert n > 1, "a gradient is for arrays of two elements or more"
    r = np.empty(n, (f[:0] / 1).dtype)
    for i in prange(1, n - 1):
        r[i] = (f[i + 1] / 1 - f[i - 1] / 1) / (2.0 * h)
    r[0] = (f[1] / 1 - f[0] / 1) / h
    r[n - 1] = (f[n - 1] / 1 - f[n - 2] / 1) / h
    return r


def pad_place(i, n, mode):
    """The element of n that stands at a place beyond them."""
    if mode == "edge":
        return min(max(i, 0), n - 1)
    if mode == "wrap":
        return i % n
    if mode == "reflect":
        k = i % max(2 * n - 2, 1)
        return k if k < n else 2 * n - 2 - k
    if mode == "symmetric":
        k = i % (2 * n)
        return k if k < n else 2 * n - 1 - k
    if mode == "constant":
        return i if i < n else -1


def pad(array, pad_width, mode="constant", constant_values=0):
    if isinstance(pad_width, int):
        return pad_sides(array, pad_width, pad_width, pad_width, pad_width, mode, constant_values)
    elif isinstance(pad_width[0], int):
        return pad_sides(array, pad_width[0], pad_width[1], pad_width[0], pad_width[1], mode, constant_values)
    else:
        assert array.ndim == 2, "pairs of widths are for each dimension of an array"
        top, left = pad_width
        return pad_sides(array, top[0], top[1], left[0], left[1], mode, constant_values)


def pad_sides(a, top, bottom, left, right, mode, value):
    assert min(top, bottom, left, right) >= 0, "an array is padded by no fewer than 0 elements"
    assert mode == "constant" or a.size > 0, "an array without elements can be padded by a constant alone"
    if a.ndim == 1:
        r = np.empty(len(a) + top + bottom, a.dtype)
        for i in prange(len(r)):
            k = pad_place(i - top, len(a), mode)
            if k >= 0:
                r[i] = a[k]
            else:
                r[i] = value
        return r
    if a.ndim == 2:
        m = np.empty((a.shape[0] + top + bottom, a.shape[1] + left + right), a.dtype)
        for i in prange(m.shape[0]):
            k = pad_place(i - top, a.shape[0], mode)
            for j in range(m.shape[1]):
                l = pad_place(j - left, a.shape[1], mode)
                if k >= 0 and l >= 0:
                    m[i, j] = a[k, l]
                else:
                    m[i, j] = value
        return m


# ---- Samples.

def histogram(a, bins=10, range=None, weights=None):
    # NumPy's way: the quotient is only near the bin, whose edges decide.
    if range is None:
        first, last = 0.0, 1.0
        if a.size > 0:
            first, last = float(a.min()), float(a.max())
    else:
        first, last = float(range[0]), float(range[1])
    assert math.isfinite(first) and math.isfinite(last) and first <= last and bins > 0, \
        "a histogram has bins, and a range that is finite"
    if first == last:
        first, last = first - 0.5, last + 0.5
    elements = ravel(a)
    edges = np.linspace(first, last, bins + 1).astype((elements[:0] / 1).dtype)
    counts = new_counts(bins, weights)
    scale = last - first
    for i in builtins.range(len(elements)):
        x = elements[i]
        if x >= first and x <= last:
            k = min(int((x - first) / scale * bins), bins - 1)
            if x < edges[k]:
                k -= 1
            elif k < bins - 1 and x >= edges[k + 1]:
                k += 1
            counts[k] += weight(weights, i)
    return counts, edges


def histogram_density(a, bins=10, range=None, weights=None):
    if isinstance(bins, np.ndarray):
        counts, edges = histogram_of_edges(a, bins, range, weights)
    else:
        counts, edges = histogram(a, bins, range, weights)
    return counts / counts.sum() / (edges[1:] - edges[:-1]), edges


def new_counts(bins, weights):
    if weights is None:
        return np.zeros(bins, np.int64)
    else:
        return np.zeros(bins, weights.dtype)


def weight(weights, i):
    if weights is None:
        return 1
    else:
        return weights[i]


def histogram_of_edges(a, bins, range=None, weights=None):
    last = len(bins) - 1
    counts = new_counts(last, weights)
    elements = ravel(a)
    for i in builtins.range(last):
        assert bins[i] <= bins[i + 1], "the edges of a histogram ascend"
    for i in builtins.range(len(elements)):
        x = elements[i]
        if x >= bins[0] and x <= bins[last]:
            low, high = 0, last
            while high - low > 1:
                middle = (low + high) // 2
                if x >= bins[middle]:
                    low = middle
                else:
                    high = middle
            counts[low] += weight(weights, i)
    return counts, bins.copy()


def histogram2d(x, y, bins=10, range=None, weights=None):
    assert x.ndim == 1 and y.ndim == 1 and len(x) == len(y), "histogram2d takes two arrays of one size"
    if isinstance(bins, int):
        return histogram2d_of_sizes(x, y, bins, bins, range, weights)
    elif isinstance(bins, np.ndarray):
        return histogram2d_of_edges(x, y, bins.astype(np.float64), bins.astype(np.float64), weights)
    elif isinstance(bins[0], int):
        return histogram2d_of_sizes(x, y, bins[0], bins[1], range, weights)
    else:
        return histogram2d_of_edges(x, y, bins[0].astype(np.float64), bins[1].astype(np.float64), weights)


def histogram2d_of_sizes(x, y, rows, columns, range, weights):
    if range is None:
        return histogram2d_of_edges(x, y, edges_of(x, rows), edges_of(y, columns), weights)
    else:
        a = edges_between(float(range[0][0]), float(range[0][1]), rows)
        b = edges_between(float(range[1][0]), float(range[1][1]), columns)
        return histogram2d_of_edges(x, y, a, b, weights)


def edges_of(x, bins):
    first, last = 0.0, 1.0
    if len(x) > 0:
        first, last = float(x.min()), float(x.max())
    return edges_between(first, last, bins)


def edges_between(first, last, bins):
    assert math.isfinite(first) and math.isfinite(last) and first <= last and bins > 0, \
        "a histogram has bins, and a range that is finite"
    if first == last:
        first, last = first - 0.5, last + 0.5
    return np.linspace(first, last, bins + 1)


def histogram2d_of_edges(x, y, rows, columns, weights):
    counts = np.zeros((len(rows) - 1, len(columns) - 1))
    for i in builtins.range(len(x)):
        r, c = bin_of(x[i], rows), bin_of(y[i], columns)
        if r >= 0 and c >= 0:
            counts[r, c] += weight(weights, i)
    return counts, rows.copy(), columns.copy()


def bin_of(x, edges):
    """The number of the bin; -1 outside of them. The last edge belongs to the last bin."""
    last = len(edges) - 1
    if not (x >= edges[0] and x <= edges[last]):
        return -1
    low, high = 0, last
    while high - low > 1:
        middle = (low + high) // 2
        if x >= edges[middle]:
            low = middle
        else:
            high = middle
    return low


def cov(m, y=None, rowvar=True, bias=False, ddof=None):
    less = 0 if bias else 1
    if ddof is not None:
        less = ddof
    if y is not None:
        assert (
            m.ndim == 1 and y.ndim == 1 and len(m) == len(y)
        ), "two samples are arrays of one dimension and one size here"
        c = np.empty((2, 2))
        p, q = m.astype(np.float64), y.astype(np.float64)
        dx, dy = p - p.mean(), q - q.mean()
        c[0, 0] = (dx * dx).sum() / max(len(m) - less, 0)
        c[1, 1] = (dy * dy).sum() / max(len(m) - less, 0)
        c[0, 1] = c[1, 0] = (dx * dy).sum() / max(len(m) - less, 0)
        return c
    elif m.ndim == 2:
        rows = np.empty((m.shape[0] if rowvar else m.shape[1], m.shape[1] if rowvar else m.shape[0]))
        if rowvar:
            rows[:] = m
        else:
            rows[:] = m.T
        d = rows - rows.mean(axis=1)[:, None]
        e = d / max(rows.shape[1] - less, 0)
        return d @ e.T
    else:
        sample = m.astype(np.float64)
        return ((sample - sample.mean()) ** 2).sum() / max(len(m) - less, 0)


def corrcoef(x, y=None, rowvar=True):
    c = cov(x, y, rowvar)
    r = np.empty(c.shape)
    for i in prange(r.shape[0]):
        for j in range(r.shape[1]):
            r[i, j] = min(max(c[i, j] / math.sqrt(c[i, i]) / math.sqrt(c[j, j]), -1.0), 1.0)
    return r


def polyval(p, x):
    if isinstance(x, np.ndarray):
        r = np.zeros(len(x), (p[:0] * x[:0]).dtype)
        for i in prange(len(x)):
            s = r[i]
            for k in range(len(p)):
                s = s * x[i] + p[k]
            r[i] = s
        return r
    else:
        # As an array without dimensions: not one of Python's own numbers any more.
        y = np.int64(x) if isinstance(x, builtins.int) else np.float64(x) if isinstance(x, float) else x
        t = 0 * y + p[0]
        for k in range(1, len(p)):
            t = t * y + p[k]
        return t


def cross(a, b):
    if a.ndim == 1:
        assert len(a) == 3 and len(b) == 3, "a cross product is of three elements here"
        return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])
    if a.ndim == 2:
        assert a.shape[0] == b.shape[0] and a.shape[1] == 3 and b.shape[1] == 3, \
            "a cross product is of rows of three elements here"
        r = np.empty(a.shape, (a[0, :0] * b[0, :0]).dtype)
        for i in prange(len(a)):
            r[i, 0] = a[i, 1] * b[i, 2] - a[i, 2] * b[i, 1]
            r[i, 1] = a[i, 2] * b[i, 0] - a[i, 0] * b[i, 2]
            r[i, 2] = a[i, 0] * b[i, 1] - a[i, 1] * b[i, 0]
        return r


def logspace(start, stop, num=50):
    return 10.0 ** np.linspace(start, stop, num)


def insert(a, at, value):
    place = at if at >= 0 else at + len(a)
    assert 0 <= place and place <= len(a), "an element is inserted within the array or at its end"
    r = np.empty(len(a) + 1, a.dtype)
    r[:place] = a[:place]
    r[place] = value
    r[place + 1:] = a[place:]
    return r


def delete(a, at):
    place = at if at >= 0 else at + len(a)
    assert 0 <= place and place < len(a), "an element that is deleted is one of the array"
    r = np.empty(len(a) - 1, a.dtype)
    r[:place] = a[:place]
    r[place:] = a[place + 1:]
    return r


def add_at(a, index, value):
    if isinstance(value, np.ndarray):
        assert len(index) == len(value), "as many values as indices are needed"
    for i in range(len(index)):
        k = int(index[i])
        if isinstance(value, np.ndarray):
            a[k if k >= 0 else k + len(a)] += value[i]
        else:
            a[k if k >= 0 else k + len(a)] += value


def without_nan(a):
    flat = ravel(a)
    return flat[flat == flat]


def nanmedian(a):
    return np.median(without_nan(a))


def nanpercentile(a, q):
    return np.percentile(without_nan(a), q)


def isin(a, values):
    """By looking each up in the sorted values."""
    s = np.sort(ravel(values))
    flat = ravel(a)
    r = np.zeros(len(flat), np.bool_)
    for i in prange(len(flat)):
        low, high = 0, len(s)
        while low < high:
            middle = (low + high) // 2
            if s[middle] < flat[i]:
                low = middle + 1
            else:
                high = middle
        r[i] = low < len(s) and s[low] == flat[i]
    if a.ndim == 1:
        return r
    else:
        return r.reshape(a.shape)


def hanning(n):
    return 0.5 + 0.5 * np.cos(math.pi * np.arange(1 - n, n, 2) / max(n - 1, 1))


def hamming(n):
    return 0.54 + 0.46 * np.cos(math.pi * np.arange(1 - n, n, 2) / max(n - 1, 1))


# ---- Elements.

def nan_to_num(x, nan=0.0):
    if isinstance(x, (builtins.int, np.integer)):
        return x
    else:
        if isinstance(x, np.float32):
            largest = np.float32(3.4028235e38)
        else:
            largest = 1.7976931348623157e308
        if x != x:
            return nan
        return min(max(x, -largest), largest)


def sinc(x):
    y = math.pi * (1.0e-20 if x == 0 else x)
    return np.sin(y) / y


def round_to(x, decimals=0):
    if isinstance(x, (builtins.int, np.integer)):
        # To the nearest multiple of a power of ten, and from the middle to the even one.
        r = x
        if decimals < 0:
            unit = 1
            for _ in range(min(-decimals, 18)):
                unit *= 10
            below = x % unit
            r = x - below
            if below > unit - below or (below == unit - below and r // unit % 2 == 1):
                r += unit
        return r
    else:
        scale = 1.0  # exact up to 10 ** 22
        for _ in range(abs(decimals)):
            scale *= 10.0
        return np.rint(x * scale) / scale if decimals >= 0 else np.rint(x / scale) * scale
