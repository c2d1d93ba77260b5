# SPDX-License-Identifier: Apache-2.0
"""Types of elements as dtype=... names them, and np.asarray(a), which is `a` itself if it has them already."""

from __future__ import annotations

import ast
import sys

from .types import NUMPY_NAMES, Array
from .values import constant


def _name_of_text(text):
    """float32 for "f4" and "single"."""
    try:
        dtype = sys.modules["numpy"].dtype(text)
    except TypeError:
        return text
    return dtype.name if dtype.isnative else text


def element(expressions, node):
    """The type of elements that dtype=... names."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        name = _name_of_text(node.value)
    elif isinstance(node, ast.Attribute) and node.attr == "dtype":
        array = expressions.value(node.value)
        return array.type.element if isinstance(array.type, Array) else "f64"
    else:
        try:
            meant = expressions.source.meaning(node, expressions.scope.names())
        except LookupError:
            expressions.fail(node, "dtype is a type of NumPy, np.float32 for example, or the dtype of an array")
        name = {int: "int64", float: "float64", bool: "bool", complex: "complex128"}.get(
            meant, getattr(meant, "__name__", str(meant)))
    name = "bool" if name == "bool_" else name
    if name not in NUMPY_NAMES:
        expressions.fail(node, f"elements of type {name} cannot be compiled; {', '.join(NUMPY_NAMES)} can")
    return NUMPY_NAMES[name]


def limit(expressions, node):
    """np.iinfo(np.int32).max and np.finfo(float).eps; None for other nodes."""
    numpy, asked = sys.modules.get("numpy"), node.value
    kinds = [getattr(numpy, name, None) for name in ("iinfo", "finfo")]
    if len(asked.args) != 1 or asked.keywords or not expressions.statements.means_any(asked.func, kinds):
        return None
    information = kinds[expressions.statements.means(asked.func, kinds[1])]
    name = next(numpy for numpy, own in NUMPY_NAMES.items() if own == element(expressions, asked.args[0]))
    try:
        return constant(getattr(information(name), node.attr))
    except (AttributeError, ValueError) as error:
        expressions.fail(node, str(error))


def same_array(expressions, node):
    """The node of what this expression gives as it is, in the same memory: a of np.asarray(a), and of `a if c else b`
    where the types decide. The node itself for others."""
    while isinstance(node, ast.IfExp) and expressions.known_test(node.test) is not None:
        node = node.body if expressions.known_test(node.test) else node.orelse
    while isinstance(node, ast.Call) and node.args and expressions.statements.means_any(node.func, as_arrays()):
        given = node.args[0]
        if isinstance(given, (ast.Call, ast.IfExp)):
            inner = same_array(expressions, given)
            if inner is given:
                break
            given = inner
        elif not isinstance(given, (ast.Name, ast.Attribute, ast.Subscript)):
            break
        if not stays(expressions, node, expressions.value(given)):
            break
        node = given
    return node


_VIEWING = ("transpose", "swapaxes", "moveaxis", "expand_dims", "squeeze")


def viewed(expressions, node):
    """The name of the array that a view shows, through calls that give views as well: a of np.transpose(a)[0]. The
    node itself for others."""
    found = node
    while not isinstance(found, ast.Name):
        found = same_array(expressions, found)
        if isinstance(found, (ast.Subscript, ast.Attribute)):
            found = found.value
        elif isinstance(found, ast.Call):
            numpy = sys.modules.get("numpy")
            is_function = expressions.statements.means_any(found.func, [getattr(numpy, name, viewed)
                                                                        for name in _VIEWING])
            if is_function and found.args:
                found = found.args[0]
            elif not is_function and getattr(found.func, "attr", "") in _VIEWING:
                found = found.func.value
            else:
                return node
        elif not isinstance(found, ast.Name):
            return node
    return found


def as_arrays():
    """The functions of NumPy that give an array as it is, if its elements are as asked for."""
    numpy = sys.modules.get("numpy")
    return [getattr(numpy, name, as_arrays) for name in ("asarray", "asanyarray", "ascontiguousarray")]


def stays(expressions, node, value):
    """Whether np.asarray(value) is the array itself. A view may have its elements in any order."""
    dtypes = [*node.args[1:], *(each.value for each in node.keywords if each.arg == "dtype")]
    return isinstance(value.type, Array) and all(
        element(expressions, each) == value.type.element for each in dtypes) and (
        value.view is None or not expressions.statements.means_any(node.func, as_arrays()[2:]))
