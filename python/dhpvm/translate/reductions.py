# SPDX-License-Identifier: Apache-2.0
"""Calls that combine elements: a.sum(axis=0), np.max(a), and of what a condition selects, a[a > 2].mean()."""

from __future__ import annotations

import ast
import sys

from . import creation, selections, views, whole
from .types import INT, UNKNOWN, Array, Scalar
from .values import NOTHING

NAMES = ("sum", "prod", "min", "max", "mean", "any", "all", "argmin", "argmax", "cumsum")
_NUMPY_NAMES = {"amin": "min", "amax": "max"}


def of_method(expressions, node, value):
    """a.sum(axis=0) and its kin."""
    return _reduced(expressions, node, node.func.attr, value, node.args)


def _reduced(expressions, node, name, value, given):
    from . import library  # which needs NumPy

    asked = [each.value for each in node.keywords if each.arg == "dtype"]
    if asked:
        return _of_type(expressions, node, name, value, given, asked[0])
    axis, is_kept = _axis(expressions, node, given)
    if isinstance(axis, tuple):
        return _along_several(expressions, node, name, value, axis, is_kept)
    if name == "cumsum" and axis is None and getattr(value.type, "rank", 1) > 1:
        value = library.flat(expressions, node, value)
    if name == "cumsum" and axis is not None and isinstance(value.type, Array) and value.type.rank > 1:
        result = library.running_sums(expressions, node, value, axis)
    else:
        result = whole.reduction(expressions, node, name, value, axis)
    if not is_kept or result.type == UNKNOWN:
        return result
    if not isinstance(result.type, Array) or result.type.rank == value.type.rank:
        expressions.fail(node, "keepdims is for arrays of two and three dimensions with an axis")
    return views.with_new_axis(result, axis % value.type.rank)


def _of_type(expressions, node, name, value, given, dtype):
    """np.sum(a, dtype=np.float64): the elements are converted first, and the result has that type, too."""
    if name not in ("sum", "prod", "mean", "cumsum"):
        expressions.fail(node, f"{name} has no dtype")
    if value.type == UNKNOWN:
        return NOTHING
    others = [each for each in node.keywords if each.arg != "dtype"]
    left = ast.copy_location(ast.Call(node.func, node.args, others), node)
    found = _reduced(expressions, left, name, creation.as_type(expressions, node, value, dtype), given)
    if found.type == UNKNOWN:
        return NOTHING
    result = creation.as_type(expressions, node, found, dtype)
    return result if isinstance(result.type, Scalar) else expressions.named(node, result)


def _along_several(expressions, node, name, value, axes, is_kept):
    """a.sum(axis=(0, 1)): along one after the other."""
    if value.type == UNKNOWN:
        return NOTHING
    rank = value.type.rank if isinstance(value.type, Array) else 0
    places = {axis % rank for axis in axes if -rank <= axis < rank}
    if len(places) != len(axes):
        expressions.fail(node, f"the axes of {value.type} are 0 to {rank - 1}, each of them once")
    axes = sorted(places)
    if name not in ("sum", "prod", "min", "max", "mean", "any", "all") or is_kept or not axes:
        expressions.fail(node, f"{name} along several axes cannot be compiled here: combine along one after the other")
    if len(axes) == rank:
        return whole.reduction(expressions, node, name, value)
    for axis in reversed(axes):
        value = whole.reduction(expressions, node, name, value, axis)
    return value


def of_call(expressions, node, function):
    """np.sum(a) and its kin; None for other functions."""
    given = getattr(function, "__name__", "")
    name = _NUMPY_NAMES.get(given, given)
    if name not in NAMES or function is not getattr(sys.modules.get("numpy"), given, None):
        return None
    if not node.args:
        expressions.fail(node, f"np.{name} takes an array")
    if len(node.args) == 1 and not node.keywords:
        selected = selections.reduction(expressions, node, name, node.args[0])
        if selected is not None:
            return selected
    return _reduced(expressions, node, name, expressions.array(node.args[0]), node.args[1:])


def _axis(expressions, node, given):
    """The axis, None if there is none, and whether the result keeps it as one of size 1."""
    given = list(given) + [each.value for each in node.keywords if each.arg == "axis"]
    kept = [each.value for each in node.keywords if each.arg == "keepdims"]
    if len(given) > 1 or len(given) + len(kept) < len(node.keywords) or not all(
            isinstance(each, ast.Constant) for each in kept):
        expressions.fail(node, f"{ast.unparse(node.func)} takes an array, an axis and keepdims here")
    is_kept = bool(kept and kept[0].value)
    if not given or (isinstance(given[0], ast.Constant) and given[0].value is None):
        return None, is_kept
    several = expressions.value(given[0])
    if several.items and all(each.is_constant and each.type == INT for each in several.items):
        return tuple(each.constant for each in several.items), is_kept
    axis = expressions.scalar(given[0])
    if not axis.is_constant or axis.type != INT:
        expressions.fail(node, "an axis is a constant integer")
    return axis.constant, is_kept
