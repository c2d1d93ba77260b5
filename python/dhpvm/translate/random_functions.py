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


def choice(rng, a, size=None):
    if len(a) == 0:
        raise ValueError("a cannot be empty")
    if size is None:
        return a[_below(rng, len(a))]
    return a[_integers(rng, 0, len(a), size)]


def _choice_of(rng, n, size=None):
    return _integers(rng, 0, n, size)


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
