# SPDX-License-Identifier: Apache-2.0
"""Lists as arguments of compiled functions: of numbers, which are copied, and of arrays, which are passed as such."""

from __future__ import annotations

import functools

MOST_ARRAYS = 24  # in a list; a call has up to 32 arrays


def of_numbers(items):
    """The numbers of a list as an array."""
    import numpy

    found = numpy.array(items)
    if found.dtype.name != "int64" and all(type(item) is int for item in items):  # NumPy makes unsigned or floats of it
        raise OverflowError("a list has integers that do not fit into 64 bits of a signed integer")
    return found


def layout(items):
    """How ArgumentLayout takes a list apart."""
    if hasattr(items[0], "shape") and items[0].shape:
        return {"make": functools.partial(_arrays, len(items)), "count": len(items)}
    return {"make": functools.partial(_numbers, of_numbers(items).dtype, _is_python(items)), "count": 1}


def _is_python(items):
    return not hasattr(items[0], "dtype")


def _arrays(count, items):
    return tuple(items) if type(items) is list and len(items) == count else None


def _numbers(dtype, is_python, items):
    if type(items) is not list or not items or _is_python(items) is not is_python:
        return None
    try:
        found = of_numbers(items)
    except (OverflowError, TypeError, ValueError):
        return None  # type_of says why
    return (found,) if found.dtype == dtype and found.ndim == 1 else None
