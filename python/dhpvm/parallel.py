# SPDX-License-Identifier: Apache-2.0
"""Functions to run code in parallel. In Python itself they do the same one after the other."""

from __future__ import annotations

import itertools
import math


def prange(*bounds):
    """Like range, for loops of compiled functions whose iterations may run at the same time, and in any order.

    In compiled functions only, `for i, j in prange((n, m))` runs over a rectangle, of up to three dimensions.
    """
    if len(bounds) == 1 and isinstance(bounds[0], tuple):
        return itertools.product(*(range(size) for size in bounds[0]))
    return range(*bounds)


def atomic_add(array, index, number):
    """array[index] += number, where iterations of a prange loop may meet in one element. Returns the old value."""
    old = array[index]
    array[index] += number
    return old


def uniform(seed, i):
    """Random number i under a seed, from 0 to 1, which is excluded. Also in prange loops: it has no state."""
    return (_philox(seed, i)[0] >> 11) * 2.0**-53


def normal(seed, i):
    """Random number i under a seed, of the standard normal distribution. Also in prange loops."""
    first, second = _philox(seed, i)
    return math.sqrt(-2.0 * math.log(1.0 - (first >> 11) * 2.0**-53)) * math.cos(math.tau * ((second >> 11) * 2.0**-53))


_WORD = 2**64 - 1


def _philox(seed, i):
    """Philox2x64-10, as the language's module random has it (Salmon et al., SC 2011)."""
    key, first, second = int(seed) & _WORD, int(i) & _WORD, 0
    for _ in range(10):
        product = first * 0xd2b74407b1ce6e93
        first, second = (product >> 64) ^ key ^ second, product & _WORD
        key = (key + 0x9e3779b97f4a7c15) & _WORD
    return first, second
