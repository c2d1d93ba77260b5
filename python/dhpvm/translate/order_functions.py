# SPDX-License-Identifier: Apache-2.0
"""Orders of the items of lists by their keys, which are numbers or tuples of them, as Python. All of them are compiled
with the functions that call them."""


def positions_in_order(keys, is_reversed):
    """The positions of the keys from the least to the greatest, or back; equal ones in their order. By merging."""
    n = len(keys)
    order, merged = list(range(n)), list(range(n))
    width = 1
    while width < n:
        for begin in range(0, n, 2 * width):
            middle, end = min(begin + width, n), min(begin + 2 * width, n)
            i, j = begin, middle
            for k in range(begin, end):
                is_left = j >= end
                if not is_left and i < middle:
                    a, b = keys[order[i]], keys[order[j]]
                    is_left = not (a < b if is_reversed else b < a)
                if is_left:
                    merged[k] = order[i]
                    i += 1
                else:
                    merged[k] = order[j]
                    j += 1
        for k in range(n):
            order[k] = merged[k]
        width *= 2
    return order


def position_of_least(keys):
    if len(keys) == 0:
        raise ValueError("min() iterable argument is empty")
    found = 0
    for i in range(1, len(keys)):
        if keys[i] < keys[found]:
            found = i
    return found


def position_of_greatest(keys):
    if len(keys) == 0:
        raise ValueError("max() iterable argument is empty")
    found = 0
    for i in range(1, len(keys)):
        if keys[found] < keys[i]:
            found = i
    return found


def put_in_order(items, order):
    given = items.copy()
    for i in range(len(order)):
        items[i] = given[order[i]]
