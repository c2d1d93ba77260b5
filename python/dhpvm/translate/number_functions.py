# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy written in Python: numbers of arrays, and their order.

They are compiled with the functions that call them. A branch on `ndim` or None is decided by the types of the
arguments: only one is compiled.
"""

from __future__ import annotations

import numpy as np

from ..parallel import prange
from .array_functions import ravel, sum_along


# ---- Numbers of an array, and arrays of running values.

def var(a, axis=None, ddof=0):
    if axis is None:
        mean = a.mean()
        return ((a - mean) ** 2).sum() / max(a.size - ddof, 0)
    assert -a.ndim <= axis and axis < a.ndim, "the array has fewer dimensions"
    if a.ndim == 3:
        return var_3(a, axis % 3, ddof)
    if axis == 0 or axis == -2:
        r = a.mean(axis=0)
        for j in prange(len(r)):
            s = r[j] - r[j]
            for i in range(a.shape[0]):
                s += (a[i, j] - r[j]) ** 2
            r[j] = s / max(a.shape[0] - ddof, 0)
        return r
    q = a.mean(axis=1)
    for i in prange(len(q)):
        s = q[i] - q[i]
        for j in range(a.shape[1]):
            s += (a[i, j] - q[i]) ** 2
        q[i] = s / max(a.shape[1] - ddof, 0)
    return q


def var_3(a, axis, ddof):
    n = a.shape[axis]
    if axis == 0:
        return ((a - a.mean(axis=0)) ** 2).sum(axis=0) / max(n - ddof, 0)
    if axis == 1:
        return ((a - a.mean(axis=1)[:, None]) ** 2).sum(axis=1) / (n - ddof)
    return ((a - a.mean(axis=2)[:, :, None]) ** 2).sum(axis=2) / max(n - ddof, 0)


def average(a, axis=None, weights=None):
    if weights is None and axis is None:
        return a.mean()
    elif weights is None:
        return sum_along(a / 1, axis) / a.shape[axis % a.ndim]
    elif a.ndim == weights.ndim:
        if a.shape != weights.shape:
            raise TypeError("Axis must be specified when shapes of a and weights differ.")
        return sum_along(a * 1.0 * weights, axis) / sum_along(weights, axis)
    elif a.ndim == 2:
        assert len(weights) == a.shape[axis % 2], "there are as many weights as elements along the axis"
        if axis % 2 == 0:
            return (a * 1.0 * weights[:, None]).sum(axis=0) / weights.sum()
        return (a * 1.0 * weights).sum(axis=1) / weights.sum()


def std(a, axis=None, ddof=0):
    return np.sqrt(var(a, axis, ddof))


def ptp(a):
    return a.max() - a.min()


def norm(x, ord=None, axis=None):
    a = x * 1.0
    if axis is not None and a.ndim > 1:
        if ord is None:
            return np.sqrt(sum_along(a * a, axis))
        else:
            assert ord == 1 or ord == 2, "norms of order 1 and 2 can be compiled along an axis"
            if ord == 1:
                return sum_along(np.abs(a), axis)
            return np.sqrt(sum_along(a * a, axis))
    elif ord is None:
        return np.sqrt((a * a).sum())
    else:
        if ord == np.inf:
            return np.abs(a).max()
        assert ord == 1 or ord == 2, "norms of order 1, 2 and inf can be compiled"
        return np.abs(a).sum() if ord == 1 else np.sqrt((a * a).sum())


def nanmin(a):
    if a.dtype != np.float64 and a.dtype != np.float32:
        return a.min()
    s = np.where(np.isnan(a), np.inf, a).min()
    return s if s != np.inf or (a == np.inf).any() else np.nan


def nanmax(a):
    if a.dtype != np.float64 and a.dtype != np.float32:
        return a.max()
    s = np.where(np.isnan(a), -np.inf, a).max()
    return s if s != -np.inf or (a == -np.inf).any() else np.nan


def nansum(a):
    return np.where(np.isnan(a), 0, a).sum()


def nanvar(a, ddof=0):
    there = ~np.isnan(a)
    n = there.sum()
    mean = nansum(a) / n
    squares = np.where(there, (a - mean) ** 2, 0).sum()
    if (a.dtype == np.float64 or a.dtype == np.float32) and n <= ddof:
        return squares * np.nan
    return squares / max(n - ddof, 0)


def nanstd(a, ddof=0):
    return np.sqrt(nanvar(a, ddof))


def nanmean(a):
    return nansum(a) / (~np.isnan(a)).sum()


def array_equal(a, b):
    if a.ndim == 1:
        return len(a) == len(b) and (a == b).all()
    if a.ndim == 2:
        return a.shape[0] == b.shape[0] and a.shape[1] == b.shape[1] and (a == b).all()


def allclose(a, b, rtol=1e-05, atol=1e-08):
    return isclose_all(a, b, rtol, atol).all()


def isclose_all(a, b, rtol, atol):
    return (np.abs(a - b * 1.0) <= atol + rtol * np.abs(b * 1.0)) & np.isfinite(b) | (a == b)


def cumprod(a):
    r = np.empty(len(a), np.cumsum(a).dtype)
    for i in range(len(a)):
        r[i] = a[i]
        if i > 0:
            r[i] *= r[i - 1]
    return r


def cumsum(a, axis):
    r = np.empty(a.shape, a.sum(axis=0).dtype)
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            r[i, j] = a[i, j]
            if axis == 0 and i > 0:
                r[i, j] += r[i - 1, j]
            if axis == 1 and j > 0:
                r[i, j] += r[i, j - 1]
    return r


def minimum_accumulate(a):
    r = a.copy()
    for i in range(1, len(a)):
        r[i] = np.minimum(r[i - 1], a[i])
    return r


def maximum_accumulate(a):
    r = a.copy()
    for i in range(1, len(a)):
        r[i] = np.maximum(r[i - 1], a[i])
    return r


def bincount(x, weights=None, minlength=0):
    size = minlength
    if len(x) > 0:
        assert x.min() >= 0, "bincount is for integers from 0 on"
        size = max(size, int(x.max()) + 1)
    if weights is None:
        r = np.zeros(size, np.int64)
        for i in range(len(x)):
            r[x[i]] += 1
        return r
    else:
        s = np.zeros(size)
        for i in range(len(x)):
            s[x[i]] += weights[i]
        return s


def is_before(a, b):
    return a < b or (b != b and a == a)


def sort(a):
    """By merging runs of 1, 2, 4, .. elements; NaN comes last."""
    n = len(a)
    r, other = a.copy(), a.copy()
    width = 1
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            i, j = begin, middle
            for k in range(begin, end):
                if j >= end or (i < middle and not is_before(r[j], r[i])):
                    other[k] = r[i]
                    i += 1
                else:
                    other[k] = r[j]
                    j += 1
        for k in range(n):
            r[k] = other[k]
        width *= 2
    return r


def sort_lines(a, axis):
    """The rows or the columns, each by itself."""
    r = a.copy()
    if axis == 1:
        for i in range(a.shape[0]):
            r[i] = sort(a[i])
    else:
        for i in range(a.shape[1]):
            r[:, i] = sort(a[:, i])
    return r


def argsort_lines(a, axis):
    r = np.empty(a.shape, np.int64)
    if axis == 1:
        for i in range(a.shape[0]):
            r[i] = argsort(a[i])
    else:
        for i in range(a.shape[1]):
            r[:, i] = argsort(a[:, i])
    return r


def sort_down(a):
    return sort(a)[::-1].copy()


def sort_in_place(a):
    a[:] = sort(a.copy())


def sort_lines_in_place(a, axis):
    a[:] = sort_lines(a.copy(), axis)


def fill(a, value):
    a[:] = value


def argsort(a):
    """As sort; equal elements stay in their order."""
    n = len(a)
    r, other = np.arange(n), np.arange(n)
    width = 1
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            i, j = begin, middle
            for k in range(begin, end):
                if j >= end or (i < middle and not is_before(a[r[j]], a[r[i]])):
                    other[k] = r[i]
                    i += 1
                else:
                    other[k] = r[j]
                    j += 1
        for k in range(n):
            r[k] = other[k]
        width *= 2
    return r


def median(a, axis=None):
    if axis is None:
        return median_of_all(a)
    else:
        assert -2 <= axis and axis < 2, "the array has two dimensions"
        is_down = axis % 2 == 0
        r = np.empty(a.shape[1] if is_down else a.shape[0], (a[0, :0] / 1).dtype)
        for j in range(len(r)):
            r[j] = median_of_all(a[:, j]) if is_down else median_of_all(a[j])
        return r


def median_of_all(a):
    s = sort(ravel(a))
    n = len(s)
    if n == 0:
        return a.mean()
    if s[n - 1] != s[n - 1]:
        return s[n - 1] / 1
    return (s[(n - 1) // 2] / 1 + s[n // 2] / 1) / 2


def quantile(a, q, axis=None):
    if axis is None:
        return quantile_of_sorted(sort(ravel(a)), q)
    else:
        r = np.empty(a.shape[1 - axis % 2], (a[0, :0] / 1).dtype)
        for i in range(len(r)):
            r[i] = quantile_of_sorted(sorted_line(a, axis, i), q)
        return r


def quantiles(a, q, axis=None):
    if axis is None:
        s = sort(ravel(a))
        r = np.empty(len(q))
        for i in range(len(q)):
            r[i] = quantile_of_sorted(s, q[i])
        return r
    else:
        m = np.empty((len(q), a.shape[1 - axis % 2]))
        for i in range(m.shape[1]):
            line = sorted_line(a, axis, i)
            for k in range(len(q)):
                m[k, i] = quantile_of_sorted(line, q[k])
        return m


def sorted_line(a, axis, i):
    assert -2 <= axis and axis < 2, "the array has two dimensions"
    if axis % 2 == 0:
        return sort(a[:, i])
    return sort(a[i])


def quantile_of_sorted(s, q):
    n = len(s)
    assert n > 0, "quantile of an array without elements"
    assert q >= 0 and q <= 1, "quantiles are in the range [0, 1]"
    if s[n - 1] != s[n - 1]:
        return s[n - 1] / 1
    place = q * (n - 1)
    low = int(place)
    high = min(low + 1, n - 1)
    part = place - low
    return between(s[low] / 1, s[high] / 1, part)


def between(low, high, part):
    return high - (high - low) * (1 - part) if part >= 0.5 else low + (high - low) * part


def percentile(a, q, axis=None):
    return quantile(a, q / 100, axis)


def percentiles(a, q, axis=None):
    return quantiles(a, q / 100, axis)


def interp_one(x, xp, fp):
    n = len(xp)
    if x != x:
        return np.float64(x)
    if x >= xp[n - 1]:
        return np.float64(fp[n - 1])
    if x < xp[0]:
        return np.float64(fp[0])
    low, high = 0, n - 1
    while high - low > 1:
        middle = (low + high) // 2
        if xp[middle] <= x:
            low = middle
        else:
            high = middle
    begin, width = np.float64(xp[low]), np.float64(xp[low + 1]) - np.float64(xp[low])
    slope = (np.float64(fp[low + 1]) - np.float64(fp[low])) / width
    return slope * (np.float64(x) - begin) + np.float64(fp[low])


def interp(x, xp, fp):
    assert len(xp) == len(fp) and len(xp) > 0, "fp and xp are not of the same length"
    r = np.empty(len(x))
    for i in prange(len(x)):
        r[i] = interp_one(x[i], xp, fp)
    return r


def unique(a):
    values, _ = unique_counts(a)
    return values


def unique_inverse(a):
    values, _ = unique_counts(a)
    n = len(values)
    inverse = np.empty(a.size, np.int64)
    flat = ravel(a)
    for i in prange(len(flat)):
        # NaN is the last value, and equals nothing.
        inverse[i] = searchsorted(values, flat[i]) if flat[i] == flat[i] else n - 1
    return values, inverse


def unique_counts(a):
    s = sort(ravel(a))
    counts = np.zeros(len(s), np.int64)
    n = 0
    for i in range(len(s)):
        if n == 0 or (s[i] != s[n - 1] and (s[i] == s[i] or s[n - 1] == s[n - 1])):
            s[n] = s[i]
            n += 1
        counts[n - 1] += 1
    return s[:n].copy(), counts[:n].copy()


def searchsorted_all(a, v, side="left"):
    r = np.empty(len(v), np.int64)
    for i in prange(len(v)):
        r[i] = searchsorted(a, v[i], side)
    return r


def digitize(x, bins, right=False):
    assert len(bins) < 2 or not is_before(bins[-1], bins[0]), "bins that decrease cannot be compiled: turn them round"
    if isinstance(x, np.ndarray):
        r = np.empty(len(x), np.int64)
        for i in prange(len(x)):
            r[i] = searchsorted(bins, x[i], "left") if right else searchsorted(bins, x[i], "right")
        return r
    else:
        return searchsorted(bins, x, "left") if right else searchsorted(bins, x, "right")


def trapezoid(y, x=None, dx=1.0):
    if x is None:
        return (dx * (y[1:] + y[:-1]) / 2.0).sum()
    else:
        return ((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2.0).sum()


def searchsorted(a, v, side="left"):
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if side == "right":
            is_behind = not is_before(v, a[middle])
        else:
            is_behind = is_before(a[middle], v)
        if is_behind:
            low = middle + 1
        else:
            high = middle
    return low


def argsort_by(key, order):
    """The order by this key, in which equal elements stay in the other one."""
    return order[argsort(key[order])]
