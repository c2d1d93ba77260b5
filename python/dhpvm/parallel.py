# SPDX-License-Identifier: Apache-2.0
"""Functions to run code in parallel. In Python itself they do the same one after the other."""

from __future__ import annotations

import itertools


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
