# SPDX-License-Identifier: Apache-2.0
"""Lists, sets and dictionaries that compiled functions return: programs return arrays of what is in them."""

import math

from . import structs


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


def arrays(items, shapes):
    """Arrays in a list: all elements, and the shape of each."""
    found, begin = [], 0
    for shape in shapes.tolist():
        size = math.prod(shape)
        found.append(items[begin:begin + size].reshape(shape).copy())
        begin += size
    return found


def members(*columns):
    return set(columns[0].tolist() if len(columns) == 1 else tuples(*columns))


def mixed(is_integer, integer, number):
    return integer if is_integer else number


def named(names, values):
    """A dictionary with these texts as its keys; an object of this class, or a list of such objects. Without names: a
    dictionary of lists of the keys and of the values."""
    if isinstance(names, type):
        return _object(names, values)
    if names is not None and names[0] == "list":
        return [_object(names[1], each) for each in values[0]]
    return dict(zip(*values)) if names is None else dict(zip(names, values))


def _object(kind, values):
    """The namedtuple or dataclass with these values of its fields."""
    return kind(*values) if issubclass(kind, tuple) else kind(**dict(zip(structs.fields(kind), values)))
