# SPDX-License-Identifier: Apache-2.0
"""The methods of np.random.Generator, as functions of one of ours. They are compiled with the functions that call them:
only one of the branches on a type is."""

from __future__ import annotations

import math

import numpy as np


def _uniform(rng):
    """From 0 to 1, which is excluded: a method of the language's generator."""
    return rng.random()


def _normal(rng):
    return rng.standard_normal()


def _below(rng, n):
    return rng.integers(n)


def random(rng, size=None):
    return uniform(rng, 0.0, 1.0, size)


def uniform(rng, low=0.0, high=1.0, size=None):
    if size is None:
        return low + (high - low) * _uniform(rng)
    r = np.empty(size)
    if r.ndim == 1:
        for i in range(len(r)):
            r[i] = low + (high - low) * _uniform(rng)
    else:
        for i in range(len(r)):
            q = r[i]
            if q.ndim == 1:
                for j in range(len(q)):
                    q[j] = low + (high - low) * _uniform(rng)
            else:
                for j in range(len(q)):
                    for k in range(q.shape[1]):
                        q[j, k] = low + (high - low) * _uniform(rng)
    return r


def normal(rng, loc=0.0, scale=1.0, size=None):
    if size is None:
        return loc + scale * _normal(rng)
    r = np.empty(size)
    if r.ndim == 1:
        for i in range(len(r)):
            r[i] = loc + scale * _normal(rng)
    else:
        for i in range(len(r)):
            q = r[i]
            if q.ndim == 1:
                for j in range(len(q)):
                    q[j] = loc + scale * _normal(rng)
            else:
                for j in range(len(q)):
                    for k in range(q.shape[1]):
                        q[j, k] = loc + scale * _normal(rng)
    return r


def standard_normal(rng, size=None):
    return normal(rng, 0.0, 1.0, size)


def exponential(rng, scale=1.0, size=None):
    if size is None:
        return -scale * math.log(1.0 - _uniform(rng))
    return -scale * np.log(1.0 - uniform(rng, 0.0, 1.0, size))


def integers(rng, low, high=None, size=None):
    if high is None:
        return _integers(rng, 0, low, size)
    return _integers(rng, low, high, size)


def _integers(rng, low, high, size):
    if low >= high:
        raise ValueError("low >= high")
    if size is None:
        return low + _below(rng, high - low)
    r = np.empty(size, np.int64)
    if r.ndim == 1:
        for i in range(len(r)):
            r[i] = low + _below(rng, high - low)
    else:
        for i in range(len(r)):
            q = r[i]
            if q.ndim == 1:
                for j in range(len(q)):
                    q[j] = low + _below(rng, high - low)
            else:
                for j in range(len(q)):
                    for k in range(q.shape[1]):
                        q[j, k] = low + _below(rng, high - low)
    return r


def choice(rng, a, size=None, replace=True, p=None):
    if len(a) == 0:
        raise ValueError("a cannot be empty")
    if size is None:
        return a[_choice_of(rng, len(a), None, True, p)]
    return a[_choice_of(rng, len(a), size, replace, p)]


def _choice_of(rng, n, size=None, replace=True, p=None):
    if not replace:
        if p is not None or size is None:
            raise ValueError("replace=False takes a size, and no p")
        if size > n:
            raise ValueError("Cannot take a larger sample than population when 'replace=False'")
        return _permutation_of(rng, n)[:size].copy()
    if p is None:
        return _integers(rng, 0, n, size)
    reached = np.cumsum(p)
    if len(p) != n or abs(reached[-1] - 1.0) > 1e-8:
        raise ValueError("p has a probability for each, and they sum to 1")
    if size is None:
        return np.searchsorted(reached[:-1], _uniform(rng) * reached[-1], "right")
    r = np.empty(size, np.int64)
    for i in range(len(r)):
        r[i] = np.searchsorted(reached[:-1], _uniform(rng) * reached[-1], "right")
    return r


def _shuffle_list(rng, x):
    for i in range(len(x) - 1, 0, -1):
        j = _below(rng, i + 1)
        t = x[i]
        x[i] = x[j]
        x[j] = t


def lognormal(rng, mean=0.0, sigma=1.0, size=None):
    if size is None:
        return math.exp(mean + sigma * _normal(rng))
    return np.exp(normal(rng, mean, sigma, size))


def _gamma(rng, shape):
    """Marsaglia and Tsang, A simple method for generating gamma variables (2000)."""
    grown = shape if shape >= 1.0 else shape + 1.0
    d = grown - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    found = -1.0
    while found < 0.0:
        x = _normal(rng)
        v = (1.0 + c * x) ** 3
        u = 1.0 - _uniform(rng)
        if v > 0.0 and math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
            found = d * v
    return found if shape >= 1.0 else found * math.pow(1.0 - _uniform(rng), 1.0 / shape)


def gamma(rng, shape, scale=1.0, size=None):
    if shape <= 0 or scale < 0:
        raise ValueError("shape <= 0, or scale < 0")
    if size is None:
        return _gamma(rng, shape * 1.0) * scale
    r = np.empty(size)
    for i in range(len(r)):
        r[i] = _gamma(rng, shape * 1.0) * scale
    return r


def beta(rng, a, b, size=None):
    if size is None:
        x = gamma(rng, a)
        return x / (x + gamma(rng, b))
    x = gamma(rng, a, 1.0, size)
    return x / (x + gamma(rng, b, 1.0, size))


def _poisson(rng, lam):
    """Knuth's products of uniform numbers for parts of the mean: sums of Poisson numbers are Poisson numbers."""
    count, left = 0, lam
    while left > 0.0:
        part = min(left, 30.0)
        left -= part
        limit, product = math.exp(-part), _uniform(rng)
        while product > limit:
            count += 1
            product *= _uniform(rng)
    return count


def poisson(rng, lam=1.0, size=None):
    if lam < 0:
        raise ValueError("lam < 0")
    if size is None:
        return _poisson(rng, lam * 1.0)
    r = np.empty(size, np.int64)
    for i in range(len(r)):
        r[i] = _poisson(rng, lam * 1.0)
    return r


def _binomial(rng, n, p):
    count = 0
    for _ in range(n):
        count += _uniform(rng) < p
    return count


def binomial(rng, n, p, size=None):
    if n < 0 or p < 0 or p > 1:
        raise ValueError("n < 0, p < 0 or p > 1")
    if size is None:
        return _binomial(rng, n, p)
    r = np.empty(size, np.int64)
    for i in range(len(r)):
        r[i] = _binomial(rng, n, p)
    return r


def shuffle(rng, x):
    for i in range(len(x) - 1, 0, -1):
        j = _below(rng, i + 1)
        if x.ndim == 1:
            t = x[i]
            x[i] = x[j]
            x[j] = t
        else:
            for k in range(x.shape[1]):
                s = x[i, k]
                x[i, k] = x[j, k]
                x[j, k] = s


def permutation(rng, x):
    r = x.copy()
    shuffle(rng, r)
    return r


def _permutation_of(rng, n):
    r = np.arange(n)
    shuffle(rng, r)
    return r
