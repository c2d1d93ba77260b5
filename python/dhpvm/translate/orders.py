# SPDX-License-Identifier: Apache-2.0
"""Sorting: np.sort, np.argsort and np.lexsort."""

from __future__ import annotations

import ast

from .number_functions import (argsort, argsort_by, argsort_lines, sort, sort_in_place, sort_lines,
                               sort_lines_in_place)
from .own_calls import call, checked
from .types import INT
from .values import NOTHING, constant


def ordered(expressions, node, own):
    """np.sort(a), np.argsort(a, axis=0), of one dimension or two."""
    if not node.args:
        expressions.fail(node, f"np.{own.__name__} takes an array, an axis and a kind here")
    value = expressions.index(node.args[0])
    axis = _axis(expressions, node, own.__name__, value, node.args[1:])
    if axis is None:
        return NOTHING
    if value.type.rank == 1:
        return call(expressions, node, own, node.args[:1], [value])
    lines = sort_lines if own is sort else argsort_lines
    return call(expressions, node, lines, [node.args[0], node], [value, axis])


def sorted_in_place(expressions, node, array):
    """a.sort(), a.sort(axis=0)."""
    axis = _axis(expressions, node, "sort", array, node.args)
    if axis is None:
        return NOTHING
    if array.type.rank == 1:
        return call(expressions, node, sort_in_place, [node.func.value], [array])
    return call(expressions, node, sort_lines_in_place, [node.func.value, node], [array, axis])


def _axis(expressions, node, name, array, given):
    """The axis along which an array is sorted, from 0 on; None if the type of the array is not known yet."""
    given = [*given, *(each.value for each in node.keywords if each.arg == "axis")]
    if len(given) > 1 or any(each.arg not in ("axis", "kind") for each in node.keywords):
        expressions.fail(node, f"{name} takes an axis and a kind here")
    axis = expressions.scalar(given[0]) if given else constant(-1)
    if checked(expressions, node, name, array, 2) is not None:
        return None
    rank = array.type.rank
    if not axis.is_constant or axis.type != INT or not -rank <= axis.constant < rank:
        expressions.fail(node, f"the axis is a constant from 0 to {rank - 1} here")
    return constant(axis.constant % rank)


def lexsort(expressions, node):
    """np.lexsort((b, a)): by the last key, and by those before it where it is equal."""
    keys = node.args[0].elts if len(node.args) == 1 and not node.keywords and isinstance(
        node.args[0], (ast.Tuple, ast.List)) else []
    if not keys:
        expressions.fail(node, "np.lexsort takes a tuple of keys here, np.lexsort((b, a))")
    values = [expressions.value(each) for each in keys]
    failed = list(filter(None, (checked(expressions, node, "lexsort", value, 1) for value in values)))
    if failed:
        return failed[0]
    order = call(expressions, node, argsort, [keys[0]], [values[0]])
    for key, value in zip(keys[1:], values[1:]):
        order = call(expressions, node, argsort_by, [key, node], [value, order])
    return order
