# SPDX-License-Identifier: Apache-2.0
"""Lists, sets and dictionaries that compiled functions return: programs return arrays of what is in them."""


def numbers(items):
    return items.tolist()


def tuples(*columns):
    return list(zip(*(each.tolist() for each in columns)))


def lists(items, lengths):
    """Lists in a list: all items, and the length of each."""
    numbers, found, begin = items.tolist(), [], 0
    for length in lengths.tolist():
        found.append(numbers[begin:begin + length])
        begin += length
    return found


def members(*columns):
    return set(columns[0].tolist() if len(columns) == 1 else tuples(*columns))


def mixed(is_integer, integer, number):
    return integer if is_integer else number


def named(names, values):
    """A dictionary with these texts as its keys. Without names: lists of the keys and of the values."""
    return dict(zip(*values)) if names is None else dict(zip(names, values))
