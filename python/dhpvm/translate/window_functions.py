# SPDX-License-Identifier: Apache-2.0
"""Medians and quantiles of the windows that iterations of prange loops look at, which have no arrays of their own, as
Python. All of them are compiled with the functions that call them."""

from .number_functions import between


def elements_around(a, k):
    """The elements at the places k and k + 1 of all in order, the former twice if it is the last one, without an array
    for the order: bounds come closer until one element is left between them."""
    if a.ndim == 1:
        pivot, low, high = a[0], a[0], a[0]
    if a.ndim == 2:
        pivot, low, high = a[0, 0], a[0, 0], a[0, 0]
    if a.ndim == 3:
        pivot, low, high = a[0, 0, 0], a[0, 0, 0], a[0, 0, 0]
    has_low, has_high, below, left, less, same = False, False, 0, a.size, 0, 0
    while True:
        place = 0
        for x in a.flat:
            if (not has_low or low < x) and (not has_high or x < high):
                if place == left // 2:
                    pivot = x
                place += 1
        less, same = 0, 0
        for x in a.flat:
            if (not has_low or low < x) and (not has_high or x < high):
                less += x < pivot
                same += x == pivot
        if k < below + less:
            high, has_high, left = pivot, True, less
        elif k < below + less + same:
            break
        else:
            low, has_low, below, left = pivot, True, below + less + same, left - less - same
    if k + 1 < below + less + same or k + 1 == a.size:
        return pivot, pivot
    following, is_first = pivot, True
    for x in a.flat:
        if pivot < x and (is_first or x < following):
            following, is_first = x, False
    return pivot, following


def median_around(a):
    assert a.size > 0, "median of an array without elements"
    for x in a.flat:
        if x != x:
            return x / 1
    low, high = elements_around(a, (a.size - 1) // 2)
    if a.size % 2 == 1:
        high = low
    return (low / 1 + high / 1) / 2


def quantile_around(a, q):
    n = a.size
    assert n > 0, "quantile of an array without elements"
    assert q >= 0 and q <= 1, "quantiles are in the range [0, 1]"
    for x in a.flat:
        if x != x:
            return x / 1
    place = q * (n - 1)
    low = int(place)
    part = place - low
    first, second = elements_around(a, low)
    return between(first / 1, second / 1, part)


def percentile_around(a, q):
    return quantile_around(a, q / 100)
