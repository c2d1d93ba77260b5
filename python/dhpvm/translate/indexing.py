# SPDX-License-Identifier: Apache-2.0
"""Arrays as indices: what a[order], a[a > 2], a[rows, columns] and a[np.ix_(rows, columns)] choose, and what is stored
there."""

from __future__ import annotations

from . import views, whole
from .array_functions import (flatnonzero, place, place_2, put, put_columns, put_pairs, select, select_2, take, take_2,
                              take_along, take_pairs)
from .own_calls import call
from .types import UNKNOWN, Array, Scalar
from .values import NOTHING, Elementwise, Value, constant


def chosen(expressions, node, array, index):
    """a[order] or a[a > 2], as a new array."""
    own = {("bool", 1): select, ("bool", 2): select_2}.get((index.type.element, index.type.rank))
    if index.type.element != "bool" and not Scalar(index.type.element).is_float and index.type.rank == 1:
        own = take
    elif array.type.rank == 1 and index.type.rank == 2 and Scalar(index.type.element).is_integer:
        own = take_2
    if own is None or array.type.rank > 2 or (own is select_2 and array.type.rank != 2):
        expressions.fail(node, f"an {index.type} as an index of an {array.type} cannot be compiled: write a loop over "
                               "the elements")
    if expressions.is_sequential and (array.type.rank > 1 or index.type.element == "bool"):
        expressions.fail(node, "in a prange loop an array as an index cannot be compiled, except integers as one of a "
                               "line: write a loop over the elements")
    if expressions.is_sequential:
        return Value("", Array(array.type.element, index.type.rank),
                     elements=Elementwise(node, ((node.slice, index),), array))
    return call(expressions, node, own, [node.value, node.slice], [array, index])


def chosen_pairs(expressions, node, array, values):
    """a[rows, columns], as a new array."""
    if any(value.type.rank != 1 or not Scalar(value.type.element).is_integer for value in values) or \
            array.type.rank != 2:
        expressions.fail(node, "two arrays as indices are rows and columns, integers of one dimension: write a loop")
    return call(expressions, node, take_pairs, [node.value, *node.slice.elts], [array, *values])


def chosen_block(expressions, node, array):
    """a[np.ix_(rows, columns)], as a new array."""
    given = node.slice.args
    indices = [expressions.index(each) for each in given]
    if UNKNOWN in [each.type for each in indices]:
        return NOTHING
    if len(given) != 2 or array.type.rank != 2 or expressions.is_sequential or any(
            each.type != Array("i64", 1) for each in indices):
        expressions.fail(node, "np.ix_ chooses rows and columns of two dimensions by integers, outside of prange loops")
    rows = expressions.named(node, call(expressions, node, take, [node.value, given[0]], [array, indices[0]]))
    return call(expressions, node, take_along, [node.value, given[1], node], [rows, indices[1], constant(1)])


def store_chosen(expressions, node, array, index, value):
    """The text of a call that sets a[order] or a[a > 2] to a number, or to the elements of an array."""
    is_mask = index.type.element == "bool"
    if is_mask and index.type.rank == array.type.rank == 2 and getattr(value.type, "rank", 0) == 1:
        return _stored(expressions, node, place_2, array, [index], value)
    if is_mask and index.type.rank == 1 and array.type.rank == 2:  # of rows
        index, is_mask = call(expressions, node, flatnonzero, [node.slice], [index]), False
    if index.type.rank != 1 or Scalar(index.type.element).is_float or array.type.rank > (1 if is_mask else 2) or (
            isinstance(value.type, Array) and value.type.rank > array.type.rank):
        expressions.fail(node, "an array selects elements of one dimension, or rows of two, that are set to a number "
                               "or an array here: write a loop")
    return _stored(expressions, node, place if is_mask else put, array, [index], value)


def store_under_arrays(expressions, node, array, value):
    """The text of a call that sets a[rows, columns], a[order, 0] or a[:, order]; None if a type is not known yet."""
    at = expressions.array_indices(node)
    if expressions.is_sequential:
        expressions.fail(node, "in a prange loop an array as an index cannot be compiled: write a loop over the "
                               "elements")
    indices = [expressions.index(node.slice.elts[position]) for position in at]
    if UNKNOWN in [value.type, *(index.type for index in indices)]:
        return None
    if any(index.type.rank != 1 or Scalar(index.type.element).is_float for index in indices):
        expressions.fail(node, "an index that is an array has integers or bools, and one dimension: write a loop")
    indices = [call(expressions, node, flatnonzero, [node], [index]) if index.type.element == "bool" else index
               for index in indices]
    rank = value.type.rank if isinstance(value.type, Array) else 0
    if len(at) == 2 == len(node.slice.elts) == array.type.rank and rank <= 1:
        return _stored(expressions, node, put_pairs, array, indices, value)
    if len(at) == 1:
        view, is_second = expressions.under_slice(node, array, at[0])
        if view.type.rank <= 2 and rank <= view.type.rank:
            return _stored(expressions, node, put_columns if is_second else put, view, indices, value)
    expressions.fail(node, "arrays as indices set rows, columns, or single elements of two dimensions here: write a "
                           "loop")


def _stored(expressions, node, own, array, indices, value):
    """The call of a function that stores. Elements that are read from the same array are copied first."""
    if isinstance(value.type, Array) and value.view is not None:
        value = whole.new_array(expressions, node, value)
    nodes = [node.value, *[node.slice] * len(indices), node]
    return call(expressions, node, own, nodes, [array, *indices, value]).text
