# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy and math written in Python, which are compiled with the functions that call them.

A branch on `ndim` or None is decided by the types of the arguments: only one is compiled.
"""

from __future__ import annotations

import ast
import math

import numpy as np

from ..errors import TranslationError
from ..parallel import prange
from . import calls, views, whole
from .types import UNKNOWN, Array, Scalar, Tuple
from .values import NOTHING, constant, tuple_of


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
    assert len(index) == len(values), "as many values as indices are needed"
    if a.ndim == 1:
        for i in range(len(index)):
            k = int(index[i])
            a[k if k >= 0 else k + len(a)] = values[i]
    if a.ndim == 2:
        assert a.shape[1] == values.shape[1], "the rows that are set have another size"
        for i in range(len(index)):
            k = int(index[i])
            for j in range(a.shape[1]):
                a[k if k >= 0 else k + len(a), j] = values[i, j]


def put_one(a, index, value):
    for i in range(len(index)):
        k = int(index[i])
        a[k if k >= 0 else k + len(a)] = value


def place(a, mask, values):
    assert len(a) == len(mask), "a condition and the array that it selects from have different sizes"
    assert mask.sum() == len(values), "as many values as elements that the condition selects are needed"
    k = 0
    for i in range(len(a)):
        if mask[i]:
            a[i] = values[k]
            k += 1


def flatnonzero(a):
    count = 0
    for i in prange(len(a)):
        count += a[i] != 0
    r = np.empty(count, np.int64)
    k = 0
    for i in range(len(a)):
        if a[i] != 0:
            r[k] = i
            k += 1
    return r


def count_nonzero(a):
    return (a != 0).sum()


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
        r = np.empty(n + len(b), (a[:0] + b[:0]).dtype)
        r[:n] = a
        r[n:] = b
        return r
    if a.ndim == 2:
        assert a.shape[1] == b.shape[1], "arrays of different widths cannot be joined"
        m = np.empty((n + len(b), a.shape[1]), (a[0, :0] + b[0, :0]).dtype)
        m[:n] = a
        m[n:] = b
        return m


def roll(a, shift):
    n = len(a)
    r = np.empty_like(a)
    for i in prange(n):
        r[(i + shift) % n] = a[i]
    return r


def diff(a):
    if a.ndim == 1:
        return a[1:] - a[:-1]
    if a.ndim == 2:
        return a[:, 1:] - a[:, :-1]


def flip(a):
    if a.ndim == 1:
        return a[::-1].copy()
    if a.ndim == 2:
        return a[::-1, ::-1].copy()
    return a[::-1, ::-1, ::-1].copy()


def flipud(a):
    return a[::-1].copy()


def fliplr(a):
    return a[:, ::-1].copy()


def tile(a, n):
    r = np.empty(len(a) * n, a.dtype)
    for i in prange(len(r)):
        r[i] = a[i % len(a)]
    return r


def repeat(a, n):
    r = np.empty(len(a) * n, a.dtype)
    for i in prange(len(r)):
        r[i] = a[i // n]
    return r


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


def eye(n):
    r = np.zeros((n, n))
    for i in prange(n):
        r[i, i] = 1
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
    s = a[0, 0] - a[0, 0]
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


# ---- Numbers of an array, and arrays of running values.

def var(a, axis=None, ddof=0):
    if axis is None:
        mean = a.mean()
        return ((a - mean) ** 2).sum() / (a.size - ddof)
    assert -2 <= axis and axis < 2, "the array has two dimensions"
    if axis == 0 or axis == -2:
        r = a.mean(axis=0)
        for j in prange(len(r)):
            s = r[j] - r[j]
            for i in range(a.shape[0]):
                s += (a[i, j] - r[j]) ** 2
            r[j] = s / (a.shape[0] - ddof)
        return r
    q = a.mean(axis=1)
    for i in prange(len(q)):
        s = q[i] - q[i]
        for j in range(a.shape[1]):
            s += (a[i, j] - q[i]) ** 2
        q[i] = s / (a.shape[1] - ddof)
    return q


def std(a, axis=None, ddof=0):
    return np.sqrt(var(a, axis, ddof))


def ptp(a):
    return a.max() - a.min()


def norm(a):
    return np.sqrt((a * a).sum())


def nanmin(a):
    s = np.where(np.isnan(a), np.inf, a).min()
    return s if s != np.inf or (a == np.inf).any() else np.nan


def nanmax(a):
    s = np.where(np.isnan(a), -np.inf, a).max()
    return s if s != -np.inf or (a == -np.inf).any() else np.nan


def nansum(a):
    return np.where(np.isnan(a), 0, a).sum()


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
    return (np.abs(a - b) <= atol + rtol * np.abs(b)) & np.isfinite(b) | (a == b)


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


def sort_in_place(a):
    a[:] = sort(a.copy())


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


def median(a):
    s = sort(ravel(a))
    n = len(s)
    assert n > 0, "median of an array without elements"
    if s[n - 1] != s[n - 1]:
        return s[n - 1] / 1
    return (s[(n - 1) // 2] + s[n // 2]) / 2


def quantile(a, q):
    s = sort(ravel(a))
    n = len(s)
    assert n > 0, "quantile of an array without elements"
    assert q >= 0 and q <= 1, "quantiles are in the range [0, 1]"
    if s[n - 1] != s[n - 1]:
        return s[n - 1] / 1
    place = q * (n - 1)
    low = int(place)
    high = min(low + 1, n - 1)
    part = place - low
    step = s[high] / 1 - s[low] / 1
    return s[high] - step * (1 - part) if part >= 0.5 else s[low] + step * part


def quantiles(a, q):
    r = np.empty(len(q))
    for i in range(len(q)):
        r[i] = quantile(a, q[i])
    return r


def percentile(a, q):
    return quantile(a, q / 100)


def percentiles(a, q):
    return quantiles(a, q / 100)


def interp_one(x, xp, fp):
    n = len(xp)
    if x != x:
        return x
    if x >= xp[n - 1]:
        return fp[n - 1] / 1
    if x < xp[0]:
        return fp[0] / 1
    low, high = 0, n - 1
    while high - low > 1:
        middle = (low + high) // 2
        if xp[middle] <= x:
            low = middle
        else:
            high = middle
    slope = (fp[low + 1] - fp[low]) / (xp[low + 1] - xp[low])
    return slope * (x - xp[low]) + fp[low]


def interp(x, xp, fp):
    assert len(xp) == len(fp) and len(xp) > 0, "fp and xp are not of the same length"
    r = np.empty(len(x))
    for i in prange(len(x)):
        r[i] = interp_one(x[i], xp, fp)
    return r


def unique(a):
    s = sort(ravel(a))
    n = min(len(s), 1)
    for i in range(1, len(s)):
        if s[i] != s[n - 1] and (s[i] == s[i] or s[n - 1] == s[n - 1]):
            s[n] = s[i]
            n += 1
    return s[:n].copy()


def searchsorted_all(a, v):
    r = np.empty(len(v), np.int64)
    for i in prange(len(v)):
        r[i] = searchsorted(a, v[i])
    return r


def digitize(x, bins):
    assert len(bins) < 2 or not is_before(bins[-1], bins[0]), "bins that decrease cannot be compiled: turn them round"
    r = np.empty(len(x), np.int64)
    for i in prange(len(x)):
        low, high = 0, len(bins)
        while low < high:
            middle = (low + high) // 2
            if is_before(x[i], bins[middle]):
                high = middle
            else:
                low = middle + 1
        r[i] = low
    return r


def trapezoid(y, x=None, dx=1.0):
    if x is None:
        return (dx * (y[1:] + y[:-1]) / 2.0).sum()
    else:
        return ((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2.0).sum()


def searchsorted(a, v):
    low, high = 0, len(a)
    while low < high:
        middle = (low + high) // 2
        if is_before(a[middle], v):
            low = middle + 1
        else:
            high = middle
    return low


# ---- Numbers.

def sign(x):
    return 1 if x > 0 else (-1 if x < 0 else (0 if x == 0 else x))


def negative(x):
    return -x


def heaviside(x, middle):
    return x * middle if x != x else 0.0 if x < 0 else 1.0 if x > 0 else middle


def logical_and(x, y):
    return bool(x) and bool(y)


def logical_or(x, y):
    return bool(x) or bool(y)


def logical_xor(x, y):
    return bool(x) != bool(y)


def logical_not(x):
    return not bool(x)


def isclose(a, b, rtol=1e-05, atol=1e-08):
    return (abs(a - b) <= atol + rtol * abs(b) and np.isfinite(b)) or a == b


def math_isclose(a, b, rel_tol=1e-09, abs_tol=0.0):
    a, b = float(a), float(b)
    return a == b or (np.isfinite(a) and np.isfinite(b) and abs(a - b) <= max(rel_tol * max(abs(a), abs(b)), abs_tol))


def radians(x):
    return x * (math.pi / 180)


def degrees(x):
    return x * (180 / math.pi)


def math_radians(x):
    return radians(float(x))


def math_degrees(x):
    return degrees(float(x))


def gcd(a, b):
    a, b = abs(a), abs(b)
    while b != 0:
        a, b = b, a % b
    return a


def isqrt(n):
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    root = int(math.sqrt(n))
    while root * root > n:
        root -= 1
    while (root + 1) * (root + 1) <= n:
        root += 1
    return root


def factorial(n):
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    product = 1
    for i in range(2, n + 1):
        product *= i
    return product


def power(x, y):
    return x ** y


def log(x, base):
    return math.log(x) / math.log(base)


# What NumPy and math call them; how many dimensions the first argument may have, 0 if it is a number.
_FUNCTIONS = {
    np.take: (take, 2), np.flatnonzero: (flatnonzero, 1), np.count_nonzero: (count_nonzero, 3), np.ravel: (ravel, 3),
    np.roll: (roll, 1), np.diff: (diff, 2), np.outer: (outer, 1), np.eye: (eye, 0), np.identity: (eye, 0),
    np.tril: (tril, 2), np.triu: (triu, 2), np.digitize: (digitize, 1), math.isclose: (math_isclose, 0),
    np.trace: (trace, 2), np.diag: (diag, 2), np.var: (var, 3), np.std: (std, 3), np.ptp: (ptp, 3),
    np.linalg.norm: (norm, 2), np.nansum: (nansum, 3), np.nanmean: (nanmean, 3), np.array_equal: (array_equal, 2),
    np.allclose: (allclose, 3), np.cumprod: (cumprod, 1), np.bincount: (bincount, 1), np.sort: (sort, 1),
    np.argsort: (argsort, 1), np.median: (median, 3), np.searchsorted: (searchsorted, 1),
    getattr(np, "trapezoid", None) or np.trapz: (trapezoid, 1),
    np.nanmin: (nanmin, 3), np.nanmax: (nanmax, 3),
    np.quantile: (quantile, 3), np.percentile: (percentile, 3), np.unique: (unique, 3), np.flip: (flip, 3),
    np.flipud: (flipud, 3), np.fliplr: (fliplr, 3), np.tile: (tile, 1), np.repeat: (repeat, 1),
    np.minimum.accumulate: (minimum_accumulate, 1), np.maximum.accumulate: (maximum_accumulate, 1),
    math.radians: (math_radians, 0), math.degrees: (math_degrees, 0), math.gcd: (gcd, 0), math.isqrt: (isqrt, 0),
    math.factorial: (factorial, 0), pow: (power, 0),
}
_METHODS = {"std": np.std, "var": np.var, "ravel": np.ravel, "flatten": np.ravel, "take": np.take, "trace": np.trace,
            "cumprod": np.cumprod, "diagonal": np.diag, "argsort": np.argsort, "repeat": np.repeat, "clip": np.clip,
            "ptp": np.ptp}
# Those that work element by element.
ELEMENTS = {np.sign: sign, np.negative: negative, np.heaviside: heaviside, np.logical_and: logical_and,
            np.logical_or: logical_or, np.logical_xor: logical_xor,
            np.logical_not: logical_not, np.isclose: isclose, np.radians: radians, np.deg2rad: radians,
            np.degrees: degrees, np.rad2deg: degrees}


def is_of_elements(function):
    """Whether it is a function that is applied to each element of arrays."""
    return callable(function) and getattr(function, "__hash__", None) is not None and function in ELEMENTS


def call(expressions, node, own, nodes, values):
    """Calls one of these functions. An error in it is one of the call."""
    try:
        return calls.of_function(expressions, node, own, nodes, values)
    except TranslationError as error:
        if getattr(error, "file", None) != __file__:
            raise
        expressions.fail(node, error.message)


def of_call(expressions, node, function):
    """The value of a call of a function that is written here; None for other functions."""
    if not callable(function) or getattr(function, "__hash__", None) is None:
        return None
    if function in ELEMENTS:
        nodes, values = calls.arguments(expressions, node, ELEMENTS[function])
        value = call(expressions, node, ELEMENTS[function], nodes, values)
        return calls.as_numpys(value)
    if function is math.log and len(node.args) == 2:
        return call(expressions, node, log, node.args, [expressions.scalar(each) for each in node.args])
    if function in (np.nonzero, np.where) and len(node.args) == 1 and not node.keywords:
        value = expressions.value(node.args[0])
        return _checked(expressions, node, "nonzero", value, 1) or tuple_of(
            [call(expressions, node, flatnonzero, node.args, [value])])
    if function is np.meshgrid and len(node.args) == 2 and not node.keywords:
        values = [expressions.value(each) for each in node.args]
        failed = [_checked(expressions, node, "meshgrid", value, 1) for value in values]
        return next(filter(None, failed), None) or tuple_of(
            call(expressions, node, own, node.args, values) for own in (meshgrid_x, meshgrid_y))
    if function is np.interp:
        nodes, values = calls.arguments(expressions, node, interp)
        own = interp if isinstance(values[0].type, Array) else interp_one
        return call(expressions, node, own, nodes, values)
    if function in (np.quantile, np.percentile):
        own = _FUNCTIONS[function][0]
        nodes, values = calls.arguments(expressions, node, own)
        if isinstance(values[1].type, Array):
            own = quantiles if own is quantile else percentiles
        return call(expressions, node, own, nodes, values)
    if function is np.searchsorted and len(node.args) == 2 and not node.keywords:
        values = [expressions.value(each) for each in node.args]
        if isinstance(values[1].type, Array):
            return _checked(expressions, node, "searchsorted", values[1], 1) or call(
                expressions, node, searchsorted_all, node.args, values)
    if function in _JOINED:
        return _joined(expressions, node, function)
    if function is np.reshape and len(node.args) == 2:
        return _reshaped(expressions, node, node.args[0], node.args[1:])
    if function not in _FUNCTIONS:
        return None
    own, rank = _FUNCTIONS[function]
    if own in (sort, argsort):  # is stable, of whatever kind
        node = ast.copy_location(ast.Call(node.func, node.args, [each for each in node.keywords
                                                                 if each.arg != "kind"]), node)
    nodes, values = calls.arguments(expressions, node, own)
    if not rank:
        return call(expressions, node, own, nodes, values)
    if own in (tril, triu, trace, fliplr) and isinstance(values[0].type, Array) and values[0].type.rank == 1:
        expressions.fail(node, f"{own.__name__} is for arrays of 2 dimensions")
    return _checked(expressions, node, own.__name__, values[0], rank) or call(expressions, node, own, nodes, values)


def running_sums(expressions, node, value, axis):
    """np.cumsum(a, axis=0)."""
    if value.type.rank > 2 or not -2 <= axis < 2:
        expressions.fail(node, "cumsum along an axis is for arrays of two dimensions here: write a loop")
    return call(expressions, node, cumsum, [node, node], [value, constant(axis % 2)])


def of_method(expressions, node):
    """The value of a.std() and its kin; None for other methods."""
    name = node.func.attr
    if name == "reshape":
        return _reshaped(expressions, node, node.func.value, node.args)
    if name not in _METHODS:
        return None
    as_call = ast.copy_location(ast.Call(node.func, [node.func.value, *node.args], node.keywords), node)
    return of_call(expressions, as_call, _METHODS[name])


def in_place(expressions, node, array):
    """a.sort() and a.fill(x)."""
    target = views.base_of(node.func.value)
    own, count = (sort_in_place, 0) if node.func.attr == "sort" else (fill, 1)
    if target is None or node.keywords or len(node.args) != count:
        expressions.fail(node, f"{node.func.attr} takes {count} arguments here")
    failed = _checked(expressions, node, node.func.attr, array, 3 if count else 1)
    values = [expressions.scalar(each) for each in node.args]
    return failed or call(expressions, node, own, [node.func.value, *node.args], [array, *values])


def _checked(expressions, node, name, value, rank):
    """Fails unless it is an array of at most so many dimensions. NOTHING if its type is not known yet."""
    if value.type == UNKNOWN:
        return NOTHING
    if not isinstance(value.type, Array):
        expressions.fail(node, f"{name} is for arrays, and this is {value.type}")
    if value.type.rank > rank:
        expressions.fail(node, f"{name} is for arrays of {rank} dimension{'s' * (rank > 1)} here, and this is an "
                               f"{value.type}: write a loop")
    return None


# How many dimensions arrays have that are joined, and where one-dimensional ones get another.
_JOINED = {np.concatenate: ((1, 2), None), np.append: ((1, 1), None), np.hstack: ((1, 2), None), np.vstack: ((1, 2), 0),
           np.stack: ((1, 1), 0), np.column_stack: ((1, 2), 1)}


def _joined(expressions, node, function):
    """np.concatenate((a, b)) and its kin: along the second axis it joins what is transposed."""
    name, (ranks, new_axis) = function.__name__, _JOINED[function]
    given = node.args if function is np.append else node.args[0].elts if len(node.args) == 1 and isinstance(
        node.args[0], (ast.Tuple, ast.List)) else []
    axes = [each.value.value for each in node.keywords if each.arg == "axis" and isinstance(each.value, ast.Constant)]
    if not given or len(axes) < len(node.keywords) or axes not in ([], [0], [1]):
        expressions.fail(node, f"np.{name} takes a tuple of arrays here, np.{name}((a, b)), and axis=0 or 1")
    values = [expressions.value(each) for each in given]
    if UNKNOWN in [value.type for value in values]:
        return NOTHING
    for position, value in enumerate(values):
        if not isinstance(value.type, Array) or not ranks[0] <= value.type.rank <= ranks[1]:
            expressions.fail(node, f"np.{name} of {value.type} cannot be compiled here: make the array with np.empty, "
                                   "and assign its parts")
        if value.type.rank == 1 and new_axis is not None:
            at = axes[0] if function is np.stack and axes else new_axis
            values[position] = views.with_new_axis(expressions.named(node, value), at)
    rank = values[0].type.rank
    axis = axes[0] if axes else 1 if function is np.column_stack or (function is np.hstack and rank == 2) else 0
    if any(value.type.rank != rank for value in values) or axis >= rank:
        expressions.fail(node, f"np.{name} joins arrays of equal dimensions along one that they have: it cannot join "
                               f"{' and '.join(f'an {value.type}' for value in values[:2])}")
    if axis:
        values = [views.transposed(expressions.named(node, value)) for value in values]
    result = values[0]
    for value, argument in zip(values[1:], given[1:]):
        result = call(expressions, node, concatenate, [node, argument], [result, value])
    return whole.new_array(expressions, node, views.transposed(result) if axis else result)


def _reshaped(expressions, node, array, given):
    """a.reshape(n, m), a.reshape((n, m)): elements in their order, as a new array."""
    sizes = given[0].elts if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)) else given
    if not 1 <= len(sizes) <= 3 or node.keywords:
        expressions.fail(node, "reshape takes one to three sizes by position here")
    values = [expressions.value(each) for each in [array, *sizes]]
    if UNKNOWN in [value.type for value in values]:
        return NOTHING
    if len(sizes) == 1 and isinstance(values[1].type, Tuple) and values[1].items:
        values[1:] = values[1].items
        sizes = [sizes[0]] * len(values[1:])
    if _checked(expressions, node, "reshape", values[0], 3) is None:
        for size, value in zip(sizes, values[1:]):
            if not isinstance(value.type, Scalar) or not value.type.is_integer:
                expressions.fail(size, f"a size is an integer, and this is {value.type}")
    missing = [constant(None)] * (3 - len(sizes))
    return call(expressions, node, reshape, [array, *sizes, *missing], values + missing)


# ---- Arrays as indices.

def chosen(expressions, node, array, index):
    """a[order] or a[a > 2], as a new array."""
    own = {("bool", 1): select, ("bool", 2): select_2}.get((index.type.element, index.type.rank))
    if index.type.element != "bool" and not Scalar(index.type.element).is_float and index.type.rank == 1:
        own = take
    if own is None or array.type.rank > 2 or (own is select_2 and array.type.rank != 2):
        expressions.fail(node, f"an {index.type} as an index of an {array.type} cannot be compiled: write a loop over "
                               "the elements")
    if expressions.is_sequential:
        expressions.fail(node, "in a prange loop an array as an index cannot be compiled: write a loop over the "
                               "elements")
    return call(expressions, node, own, [node.value, node.slice], [array, index])


def store_chosen(expressions, node, array, index, value):
    """The text of a call that sets a[order] or a[a > 2] to a number, or to the elements of an array."""
    is_array = isinstance(value.type, Array)
    is_of_rows = array.type.rank == 2 and is_array and value.type.rank == 2 and index.type.element != "bool"
    if not is_of_rows and (array.type.rank != 1 or (is_array and value.type.rank != 1)) or index.type.rank != 1 or \
            Scalar(index.type.element).is_float:
        expressions.fail(node, "what an array selects is set in arrays of one dimension here: write a loop")
    own = place if index.type.element == "bool" else put if is_array else put_one
    return call(expressions, node, own, [node.value, node.slice, node], [array, index, value]).text


# ---- Copies of what NumPy has as a view.

_SHARING = {"reshape": np.reshape, "ravel": np.ravel, "diagonal": np.diag}


def shared_array(expressions, node):
    """The name of the array whose memory a.reshape(..) and its kin may be in NumPy, where it is a copy here; else
    None."""
    is_shared = False
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        if not isinstance(node, ast.Call):
            node = node.value
            continue
        try:
            function = expressions.source.meaning(node.func, expressions.scope.names())
            given = node.args[0] if node.args else None
        except LookupError:
            function = _SHARING.get(getattr(node.func, "attr", ""))
            given = getattr(node.func, "value", None)
        if not any(function is each for each in _SHARING.values()):
            return None
        if function is np.diag and getattr(expressions.value(given).type, "rank", 2) == 1:
            return None  # a matrix with this diagonal
        node, is_shared = given, True
    return node if is_shared and isinstance(node, ast.Name) else None
