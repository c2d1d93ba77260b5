# SPDX-License-Identifier: Apache-2.0
"""New arrays: np.zeros, np.empty, np.ones, np.full, those like another, and np.array of numbers."""

from __future__ import annotations

import ast
import itertools
import sys

from . import dicts, dtypes, lists, views, whole
from .kernels import Kernel
from .types import INT, UNKNOWN, Array, Dict, List, Scalar, Tuple, literal, promote
from .values import NOTHING, Value

FILLS = {"zeros": 0, "empty": 0, "ones": 1, "full": None}


def common_type(kinds):
    """The type of an array of numbers of these types."""
    kind = kinds[0]
    for each in kinds[1:]:
        kind = kind if kind == each else promote(kind, each)
    return kind


def of_numbers(expressions, node, values, name, shape=None):
    """An array of these numbers, which are given in row-major order."""
    if expressions.is_sequential:
        expressions.fail(node, "a prange loop cannot make arrays: make them before the loop")
    shape = shape or (len(values),)
    kernel, result = Kernel(expressions, node), Array(name, len(shape))
    kernel.lines.append(f"let r = {result.text}({', '.join(map(str, shape))});")
    for place, value in zip(itertools.product(*map(range, shape)), values):
        kernel.lines.append(f"r[{', '.join(map(str, place))}] = {kernel.number(value).as_type(Scalar(name))};")
    return kernel.call(result, "r")


def items(expressions, node, rank=1):
    """The expressions in a list of numbers or of lists of equal lengths, in order, and its shape."""
    if any(isinstance(each, ast.Starred) for each in node.elts):
        expressions.fail(node, "* in a list cannot be compiled: write its items")
    if not node.elts or not any(isinstance(each, (ast.List, ast.Tuple)) for each in node.elts):
        return node.elts, (len(node.elts),)
    rows = [items(expressions, each, rank + 1) if isinstance(each, (ast.List, ast.Tuple)) else ([each], ())
            for each in node.elts]
    if len({shape for _, shape in rows}) > 1 or rank == 3:
        expressions.fail(node, "the rows of an array have one length, and an array has up to 3 dimensions")
    return [each for row, _ in rows for each in row], (len(rows), *rows[0][1])


def _of_list(expressions, node):
    """np.array([a, b, c], dtype=...), and a copy of an array."""
    given = _arguments(expressions, node, ["object", "dtype"])
    if _is_list_of(expressions, given["object"]):
        given["object"] = given["object"].args[0]
    name = dtypes.element(expressions, given["dtype"]) if "dtype" in given else None
    if isinstance(given["object"], (ast.List, ast.Tuple)):
        items_nodes, shape = items(expressions, given["object"])
        values = [expressions.value(each) for each in items_nodes]
    else:
        whole = expressions.value(given["object"])
        if isinstance(whole.type, List):
            has_rows = isinstance(whole.type.element, (Array, Tuple, List))
            array = lists.rows(expressions, whole) if has_rows else lists.as_array(whole)
            if array.type == UNKNOWN or name in (None, array.type.element):
                return array
            return expressions.named(node, as_type(expressions, node, array, given["dtype"]))
        if isinstance(whole.type, Dict):
            keys = ast.copy_location(ast.Call(ast.Attribute(given["object"], "keys", ast.Load()), [], []), node)
            whole = dicts.method(expressions, keys, whole)
        if isinstance(whole.type, Array) and whole.text.endswith(("keys()", "values()")) and name in (
                None, whole.type.element):  # of a dictionary: a new array
            return whole
        if isinstance(whole.type, Array):
            return _copied(expressions, node, whole, given.get("dtype"))
        if isinstance(whole.type, Scalar):
            expressions.fail(node, "this array has no dimensions, and arrays have 1 to 3: write "
                                   f"np.array([{ast.unparse(given['object'])}])")
        values, shape = list(whole.items) or [whole], (len(whole.items) or 1,)
        items_nodes = [given["object"]] * len(values)
    if UNKNOWN in [value.type for value in values]:
        return NOTHING
    if len(shape) == 1 and values and all(getattr(value.type, "rank", 0) == 1 for value in values):
        from . import joins  # which needs NumPy

        return joins.stacked(expressions, node, items_nodes, values, name)
    for value in values:
        if isinstance(value.type, Array):
            expressions.fail(node, "arrays become the rows of another by np.vstack((a, b)), or r[0] = a; r[1] = b")
        if not isinstance(value.type, Scalar):
            expressions.fail(node, f"np.array takes a list of numbers here, and this has {value.type}")
    if not values:
        expressions.fail(node, "an empty list has no type: write np.zeros(0)")
    kinds = [Scalar(value.type.name) for value in values]
    return of_numbers(expressions, node, values, name or common_type(kinds).name, shape)


def as_type(expressions, node, value, dtype):
    """The elements of an array, an expression or a number, converted to the type that the node `dtype` names."""
    given = ast.copy_location(ast.Constant(None), node)
    call = ast.Call(ast.Attribute(given, "astype", ast.Load()), [dtype], [])
    return expressions.given(ast.fix_missing_locations(ast.copy_location(call, node)), given, value)


def _copied(expressions, node, value, dtype):
    """np.array(a): a copy of an array."""
    if dtype is not None and dtypes.element(expressions, dtype) != value.type.element:
        return expressions.named(node, as_type(expressions, node, value, dtype))
    if value.view is None and value.elements is None:
        return Value(f"{value.text}.copy()", value.type)
    return whole.new_array(expressions, node, value)


def _as_array(expressions, node):
    """np.asarray(x) of what is an array already; None for others."""
    if not node.args or isinstance(node.args[0], (ast.List, ast.Tuple)):
        return None
    value = expressions.value(node.args[0])
    if not isinstance(value.type, Array):
        return None
    given = _arguments(expressions, node, ["a", "dtype"])
    return value if dtypes.stays(expressions, node, value) else _copied(expressions, node, value, given.get("dtype"))


def _is_list_of(expressions, node):
    """list(x), whose items np.array takes."""
    return isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords and isinstance(
        node.func, ast.Name) and node.func.id == "list" and expressions.statements.means(node.func, list)


def create(expressions, node, function):
    """The value of such a call; None for other functions."""
    numpy = sys.modules.get("numpy")
    if numpy is not None and any(function is each for each in dtypes.as_arrays()):
        return _as_array(expressions, node) or _of_list(expressions, node)
    if numpy is not None and (function is numpy.array or function is numpy.copy):
        return _of_list(expressions, _without_copy(node))
    called = getattr(function, "__name__", "")
    is_like = called.endswith("_like")
    base = "empty" if called == "ndarray" else called.removesuffix("_like")
    if base not in FILLS or getattr(sys.modules.get("numpy"), called, None) is not function:
        return None
    given = _arguments(expressions, node, ["shape"] + ["fill_value"] * (base == "full") + ["dtype"])
    if is_like:
        like = expressions.value(given["shape"])
        if like.type == UNKNOWN:
            return like
        if not isinstance(like.type, Array):
            expressions.fail(node, f"an array is needed here, and this is {like.type}")
        like = expressions.named(node, like)
        sizes, name = list(views.sizes(like)), like.type.element
    else:
        sizes, name = _sizes(expressions, given["shape"]), "f64"
    fill = expressions.scalar(given["fill_value"]) if base == "full" else None
    if fill is not None and fill.type == UNKNOWN:
        return fill
    if "dtype" in given:
        name = dtypes.element(expressions, given["dtype"])
    elif fill is not None and not is_like:
        name = fill.type.name
    kind = Array(name, len(sizes))
    if expressions.is_sequential:
        value = fill if fill is not None else Value(literal(FILLS[base], name), Scalar(name), FILLS[base])
        return whole.scratch(expressions, node, kind, sizes, None if base == "empty" else value)
    if fill is not None:
        sizes.append(f"fill: {fill.as_type(Scalar(name))}")
    elif FILLS[base]:
        sizes.append(f"fill: {literal(FILLS[base], name)}")
    return Value(f"{kind.text}({', '.join(sizes)})", kind)


def _without_copy(node):
    """np.array(a, copy=True), which says what is so."""
    others = [each for each in node.keywords if each.arg != "copy" or getattr(each.value, "value", None) is not True]
    return ast.copy_location(ast.Call(node.func, node.args, others), node)


def _arguments(expressions, node, names):
    given = dict(zip(names, node.args))
    for keyword in node.keywords:
        if keyword.arg not in names and not (keyword.arg == "a" and "shape" not in given):
            expressions.fail(node, f"'{keyword.arg}' of {ast.unparse(node.func)} cannot be compiled")
        given["shape" if keyword.arg == "a" else keyword.arg] = keyword.value
    if len(node.args) > len(names) or set(names) - {"dtype"} - set(given):
        expressions.fail(node, f"{ast.unparse(node.func)} takes {', '.join(names)} here")
    return given


def _sizes(expressions, shape):
    nodes = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else None
    if nodes is None or any(isinstance(each, ast.Starred) for each in nodes):
        value = expressions.value(shape)
        if isinstance(value.type, Tuple):
            return [item.as_type(INT) for item in value.items]
        nodes = [shape]
    if not 1 <= len(nodes) <= 3:
        expressions.fail(shape, "arrays have 1 to 3 dimensions")
    return [expressions.integer(each) for each in nodes]
