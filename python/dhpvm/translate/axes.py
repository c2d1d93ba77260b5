# SPDX-License-Identifier: Apache-2.0
"""Views of arrays with other axes: np.transpose, np.swapaxes, np.moveaxis, np.expand_dims, np.squeeze."""

from __future__ import annotations

import ast

import numpy as np

from . import views
from .own_calls import checked
from .types import UNKNOWN, Array
from .values import NOTHING


def with_axis(expressions, node):
    """np.expand_dims(a, 0)."""
    value, axis = expressions.value(node.args[0]), expressions.scalar((node.args[1:] or [node.keywords[0].value])[0])
    if value.type == UNKNOWN:
        return value
    rank = value.type.rank if isinstance(value.type, Array) else 3
    if rank > 2 or not axis.is_constant or not -rank - 1 <= axis.constant <= rank:
        expressions.fail(node, "np.expand_dims takes an array of one or two dimensions, and a constant axis here")
    return views.with_new_axis(expressions.named(node, value), axis.constant % (rank + 1))


def squeezed(expressions, node):
    """np.squeeze(a, axis=1): a view."""
    given = [*node.args[1:], *(each.value for each in node.keywords if each.arg == "axis")]
    value = expressions.value(node.args[0]) if node.args else NOTHING
    failed = checked(expressions, node, "squeeze", value, 3)
    if failed is not None:
        return failed
    axes = [expressions.scalar(each) for one in given for each in getattr(one, "elts", [one])]
    rank = value.type.rank
    if len(given) != 1 or len(node.args) + len(node.keywords) != 2 or len({
            each.constant % rank for each in axes if each.is_constant and -rank <= each.constant < rank}) < len(axes):
        expressions.fail(node, "the sizes of an array are not known when it is compiled: name the axis of size 1, "
                               "np.squeeze(a, axis=0)")
    if len(axes) == rank:
        expressions.fail(node, f"nothing would be left of its {rank} dimension{'s' * (rank > 1)}: write "
                               f"a[{', '.join('0' * rank)}]")
    value = expressions.named(node, value)
    for axis in sorted((each.constant % rank for each in axes), reverse=True):
        order = [axis, *(each for each in range(value.type.rank) if each != axis)]
        moved = views.permuted(value, order)
        if views.sizes(moved)[0] != "1":
            expressions.statements.emit(f'assert({views.sizes(moved)[0]} == 1, "ValueError: cannot select an axis to '
                                        'squeeze out which has size not equal to one");', node)
        value = views.inside(moved, ("0",))
    return value


def permuted(expressions, node, value, given, function=np.transpose):
    """a.transpose(2, 0, 1), np.swapaxes(a, 0, 2), np.moveaxis(a, 0, -1): a view."""
    if value.type == UNKNOWN:
        return NOTHING
    rank = value.type.rank if isinstance(value.type, Array) else 0
    if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)):
        given = given[0].elts
    axes = [expressions.scalar(each) for each in given]
    if not rank or node.keywords or not all(each.is_constant and -rank <= each.constant < rank for each in axes) or (
            len(axes) not in (0, rank) if function is np.transpose else len(axes) != 2):
        expressions.fail(node, "the order of the axes is written as constants here: a.transpose(2, 0, 1)")
    axes = [each.constant % rank for each in axes]
    order = list(range(rank))
    if function is np.transpose:
        order = axes or order[::-1]
    elif function is np.swapaxes:
        order[axes[0]], order[axes[1]] = axes[1], axes[0]
    else:
        order.remove(axes[0])
        order.insert(axes[1], axes[0])
    value = expressions.named(node, value)
    views.check_repeatable(expressions, node, value.text)
    return views.permuted(value, order)
