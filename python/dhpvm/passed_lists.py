# SPDX-License-Identifier: Apache-2.0
"""Lists as arguments of compiled functions: of numbers, which are copied, and of arrays, which are passed as such."""

from __future__ import annotations

import functools

MOST_ARRAYS = 24  # in a list; a call has up to 32 arrays


def of_numbers(items):
    """The numbers of a list as an array."""
    import numpy

    return numpy.array(items)


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
    found = of_numbers(items)
    return (found,) if found.dtype == dtype and found.ndim == 1 else None
