# SPDX-License-Identifier: Apache-2.0
"""Arrays that are joined: np.concatenate and its kin, np.r_ and rows of np.array."""

from __future__ import annotations

import ast

import numpy as np

from . import list_functions, views, whole
from .array_functions import concatenate
from .own_calls import call
from .types import UNKNOWN, Array, List, Scalar, numpy_name
from .values import NOTHING


# The numbers of dimensions that joined arrays may have, and where one-dimensional ones get another.
JOINED = {np.concatenate: ((1, 2), None), np.append: ((1, 1), None), np.hstack: ((1, 2), None), np.vstack: ((1, 2), 0),
           np.stack: ((1, 1), 0), np.column_stack: ((1, 2), 1)}


def joined(expressions, node, function):
    """np.concatenate((a, b)) and its kin: along the second axis it joins what is transposed."""
    name, (ranks, new_axis) = function.__name__, JOINED[function]
    found = None if len(node.args) != 1 or node.keywords else _of_list(expressions, node, function)
    if found is not None:
        return found
    given = node.args if function is np.append else node.args[0].elts if len(node.args) == 1 and isinstance(
        node.args[0], (ast.Tuple, ast.List)) else []
    axes = [each.value.value for each in node.keywords if each.arg == "axis" and isinstance(each.value, ast.Constant)]
    if not given or len(axes) < len(node.keywords) or axes not in ([], [0], [1]):
        expressions.fail(node, f"np.{name} takes a tuple of arrays here, np.{name}((a, b)), and axis=0 or 1")
    values = [expressions.index(each) for each in given]
    if UNKNOWN in [value.type for value in values]:
        return NOTHING
    if function is np.append:
        values = [expressions.array_of(node, [value]) if isinstance(value.type, Scalar) else value for value in values]
    for position, value in enumerate(values):
        if not isinstance(value.type, Array) or not ranks[0] <= value.type.rank <= ranks[1]:
            expressions.fail(node, f"np.{name} of {value.type} cannot be compiled here: make the array with np.empty, "
                                   "and assign its parts")
        if value.type.rank == 1 and new_axis is not None:
            at = axes[0] if function is np.stack and axes else new_axis
            values[position] = views.with_new_axis(expressions.named(node, value), at)
    rank = values[0].type.rank
    axis = axes[0] if axes else 1 if function is np.column_stack or (function is np.hstack and rank == 2) else 0
    if any(value.type.rank != rank for value in values) or axis >= rank:
        expressions.fail(node, f"np.{name} joins arrays of equal dimensions along one that they have: it cannot join "
                               f"{' and '.join(f'an {value.type}' for value in values[:2])}")
    if axis:
        values = [views.transposed(expressions.named(node, value)) for value in values]
    result = values[0]
    for value, argument in zip(values[1:], given[1:]):
        result = call(expressions, node, concatenate, [node, argument], [result, value])
    return whole.new_array(expressions, node, views.transposed(result) if axis else result)


def _of_list(expressions, node, function):
    """np.concatenate(parts) and its kin of a list of arrays with one dimension; None for others."""
    if not isinstance(node.args[0], (ast.Name, ast.Subscript)):
        return None
    value = expressions.value(node.args[0])
    element = value.type.element if isinstance(value.type, List) else None
    if not isinstance(element, Array) or element.rank != 1:
        return NOTHING if UNKNOWN in (value.type, element) else None
    if function in (np.concatenate, np.hstack):
        return list_functions.joined(expressions, value)
    rows = list_functions.table(expressions, value)
    if function is not np.column_stack:
        return rows
    return whole.new_array(expressions, node, views.transposed(expressions.statements.kept(rows, node)))


def stacked(expressions, node, given, values, element=None):
    """np.array([a, b]) of arrays of one dimension, which become its rows."""
    result = views.with_new_axis(expressions.named(node, values[0]), 0)
    for value, argument in zip(values[1:], given[1:]):
        row = views.with_new_axis(expressions.named(node, value), 0)
        result = call(expressions, node, concatenate, [node, argument], [result, row])
    result = expressions.named(node, result if len(values) > 1 else whole.new_array(expressions, node, result))
    if element in (None, result.type.element):
        return result
    astype = ast.copy_location(ast.Call(ast.Attribute(node, "astype", ast.Load()), [ast.Constant(numpy_name(element))],
                                        []), node)
    return whole.new_array(expressions, node, expressions.given(ast.fix_missing_locations(astype), node, result))


def joined_by_brackets(expressions, node):
    """np.r_[0, a, b] and np.c_[a, b]; None for other nodes."""
    try:
        meant = expressions.source.meaning(node.value, expressions.scope.names())
    except LookupError:
        return None
    if meant is not np.r_ and meant is not np.c_:
        return None
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if any(isinstance(each, ast.Slice) or (isinstance(each, ast.Constant) and isinstance(each.value, str))
           for each in parts):
        expressions.fail(node, "np.r_ and np.c_ join numbers and arrays here: write np.arange for a range")
    values = [expressions.value(each) for each in parts]
    parts = [ast.copy_location(ast.List([each], ast.Load()), each) if isinstance(value.type, Scalar) else each
             for each, value in zip(parts, values)]
    call = ast.copy_location(ast.Call(node.value, [ast.Tuple(parts, ast.Load())], []), node)
    return joined(expressions, call, np.concatenate if meant is np.r_ else np.column_stack)
