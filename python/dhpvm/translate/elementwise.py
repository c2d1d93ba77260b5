# SPDX-License-Identifier: Apache-2.0
"""Expressions of whole arrays: operators and functions on numbers, applied to each element."""

from __future__ import annotations

import ast
import sys

from . import complex_numbers
from .function_names import BINARY, COMPARISONS, HELPERS, OPERATORS, UNARY
from .types import UNKNOWN, Array, Scalar
from .values import NOTHING, Elementwise, Value

FUNCTIONS = {*UNARY, *OPERATORS, *COMPARISONS, *BINARY, *HELPERS, "abs", "absolute", "fabs", "rint", "isnan", "isinf",
             "isfinite", "where", "clip", "square", *complex_numbers.FUNCTIONS}

_BOUNDS = ("a_min", "a_max", "min", "max")  # keywords of np.clip


def operands(expressions, node):
    """The expressions that are combined element by element if one of them is an array; none for other expressions."""
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.MatMult):
        return [node.left, node.right]
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return [node.operand]
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and getattr(node.left, "attr", "") != "dtype" and \
            type(node.ops[0]) not in (ast.In, ast.NotIn, ast.Is, ast.IsNot):
        return [node.left, *node.comparators]
    if isinstance(node, ast.Call) and _is_function(expressions, node):
        given = [*node.args, *(each.value for each in node.keywords if each.arg in _BOUNDS)]
        return [each for each in given if not (isinstance(each, ast.Constant) and isinstance(each.value, str))]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in (
            "astype", "clip", "round"):
        bounds = [*node.args, *(each.value for each in node.keywords)] if node.func.attr == "clip" else []
        return [node.func.value, *bounds]
    return complex_numbers.elements(expressions, node)


def _is_function(expressions, node):
    try:
        function = expressions.source.meaning(node.func, expressions.scope.names())
    except LookupError:
        return False
    if function is abs or getattr(function, "__module__", "") in ("builtins", "math"):
        return function is abs
    from . import library  # which needs NumPy

    if library.is_of_elements(function):
        return True
    if isinstance(function, type):
        return function.__module__ == "numpy"
    if len(node.args) == 1 and getattr(function, "__name__", "") == "where":
        return False
    name = getattr(function, "__name__", None)
    return name in FUNCTIONS and getattr(sys.modules.get("numpy"), name, None) is function


def combine(expressions, node, values):
    """The array of this expression for the values of its operands. It is computed where it is needed."""
    if UNKNOWN in [value.type for value in values.values()]:
        return NOTHING
    given = {each: Value("0", Scalar(value.type.element)) if isinstance(value.type, Array) else value
             for each, value in values.items()}
    kind = expressions.of_elements(node, given).type
    if kind == UNKNOWN:
        return NOTHING
    rank = max(value.type.rank for value in values.values() if isinstance(value.type, Array))
    return Value("", Array(kind.name, rank), elements=Elementwise(node, tuple(values.items())))
