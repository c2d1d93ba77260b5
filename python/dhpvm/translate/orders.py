# SPDX-License-Identifier: Apache-2.0
"""Sorting: np.sort, np.argsort and np.lexsort."""

from __future__ import annotations

import ast

from .number_functions import argsort, argsort_by, argsort_lines, sort, sort_lines
from .own_calls import call, checked
from .types import INT
from .values import constant


def ordered(expressions, node, own):
    """np.sort(a), np.argsort(a, axis=0), of one dimension or two."""
    nodes = [*node.args, *(each.value for each in node.keywords if each.arg == "axis")]
    if not 1 <= len(nodes) <= 2 or len(nodes) < len(node.args) + len(node.keywords):
        expressions.fail(node, f"np.{own.__name__} takes an array, an axis and a kind here")
    value = expressions.index(nodes[0])
    axis = expressions.scalar(nodes[1]) if len(nodes) > 1 else constant(-1)
    failed = checked(expressions, node, own.__name__, value, 2)
    if failed is not None:
        return failed
    rank = value.type.rank
    if not axis.is_constant or axis.type != INT or not -rank <= axis.constant < rank:
        expressions.fail(node, f"the axis is a constant from 0 to {rank - 1} here")
    if rank == 1:
        return call(expressions, node, own, nodes[:1], [value])
    lines = sort_lines if own is sort else argsort_lines
    return call(expressions, node, lines, [nodes[0], node], [value, constant(axis.constant % 2)])


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
