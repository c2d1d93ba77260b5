# SPDX-License-Identifier: Apache-2.0
"""Expressions of whole arrays: loops over their elements, and functions that combine all elements into one number."""

from __future__ import annotations

import ast
import sys

from . import calls
from .types import BOOL, UNKNOWN, Array, Scalar
from .values import Value

REDUCTIONS = ("sum", "prod", "min", "max", "mean")
ELEMENTWISE = {*calls.UNARY, *calls.BINARY, *calls.HELPERS, "abs", "absolute", "fabs", "rint", "round", "isnan",
               "isinf", "isfinite", "where"}


def leaves(expressions, node):
    """The whole arrays that an expression is computed from, element by element: pairs of node and value. None of them
    if it is a number, or no such expression."""
    if isinstance(node, ast.Name):
        if node.id not in expressions.scope.names():
            return []
        value = expressions.scope.read(node)
        return [(node, value)] if isinstance(value.type, Array) else []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, ast.Compare):
        parts = [node.left, *node.comparators]
    elif isinstance(node, ast.Call) and _is_elementwise(expressions, node):
        parts = node.args
    else:
        parts = []
    return [leaf for part in parts for leaf in leaves(expressions, part)]


def _is_elementwise(expressions, node):
    try:
        function = expressions.source.meaning(node.func, expressions.scope.names())
    except LookupError:
        return False
    if function is abs:
        return True
    name = getattr(function, "__name__", None)
    numpy = sys.modules.get("numpy")
    if isinstance(function, type):
        return function.__module__ == "numpy"
    return name in ELEMENTWISE and getattr(numpy, name, None) is function


def is_whole(expressions, node):
    """Whether it has to be computed element by element; the name of an array is one already."""
    return not isinstance(node, ast.Name) and bool(leaves(expressions, node))


def loop(statements, node, found, body):
    """Emits a parallel loop over the elements of the arrays; `body(indices)` emits what is done with them."""
    expressions = statements.expressions
    first = found[0][1]
    if statements.scope.in_parallel:
        statements.source.fail(node, "in a prange loop elements are computed one by one: write a loop")
    for leaf, value in found[1:]:
        if value.type.rank != first.type.rank:
            statements.source.fail(leaf, f"arrays of {first.type.rank} and {value.type.rank} dimensions are not "
                                         "combined: write loops")
        if value.text != first.text:
            same = " && ".join(f"{a} == {b}" for a, b in zip(expressions.sizes(first), expressions.sizes(value)))
            statements.emit(f'assert({same}, "arrays of different shapes cannot be combined");', node)
    indices = [statements.temporary() for _ in range(first.type.rank)]
    ranges = ", ".join(f"{name} in 0..{size}" for name, size in zip(indices, expressions.sizes(first)))
    at, depth = len(statements.lines), statements.scope.depth()
    expressions.before_loop.clear()
    for hint in statements.unit.hints:
        statements.emit(hint, node)
    statements.emit(f"parallel for {ranges} {{", node)
    statements.scope.open_block()
    body(indices)
    statements.scope.close_block()
    statements.lines[at:at] = [(depth, text, node.lineno) for text in expressions.before_loop]
    statements.emit("}", node)


def element(expressions, node, indices):
    """The expression for one element."""
    expressions.elements_at = tuple(indices)
    try:
        return expressions.scalar(node)
    finally:
        expressions.elements_at = ()


def new_array(statements, node):
    """Emits the computation of such an expression; the value is a new array."""
    expressions = statements.expressions
    found = leaves(expressions, node)
    first = found[0][1]
    kind = element(expressions, node, ["0"] * first.type.rank).type
    if kind == UNKNOWN:
        return Value("", UNKNOWN)
    result = Array(kind.name, first.type.rank)
    name = statements.temporary()
    statements.emit(f"let {name} = {result.text}({', '.join(expressions.sizes(first))});", node)
    loop(statements, node, found, lambda indices: statements.emit(
        f"{name}[{', '.join(indices)}] = {element(expressions, node, indices).text};", node))
    return Value(name, result)


def reduction(expressions, node, name, array_node):
    """sum, prod, min, max or mean of an array."""
    if is_whole(expressions, array_node):
        expressions.fail(array_node, "give the array a name first: t = ...")
    array = expressions.base(array_node)
    if array.type == UNKNOWN:
        return Value("0", UNKNOWN)
    if not isinstance(array.type, Array) or array.indices:
        expressions.fail(array_node, f"{name} is for whole arrays, and this is {array.type}")
    kind = _result(array.type.element, name)
    return _combine(expressions, name, array.type, kind, array.text)


def _combine(expressions, name, array, kind, arguments):
    """The call of the helper, which comes before the loop if it is a part of each element's expression."""
    helper = expressions.unit.reduction(name, array, kind.name, expressions.scope.in_parallel)
    text = f"{helper}({arguments})"
    if expressions.elements_at:
        variable = expressions.temporary()
        expressions.before_loop.append(f"let {variable} = {text};")
        text = variable
    return Value(text, kind)


def _result(element_name, name):
    kind = Scalar(element_name)
    if name in ("min", "max"):
        return kind
    if name == "mean":
        return kind if kind.is_float else Scalar("f64")
    if kind == BOOL or kind.is_integer:
        return Scalar("u64" if element_name.startswith("u") else "i64")
    return kind


def of_call(expressions, node, function):
    """np.sum(a) and its kin, and np.dot(a, b) of two arrays of one dimension; None for other functions."""
    name = getattr(function, "__name__", "").removeprefix("a") if getattr(function, "__name__", "") in (
        "amin", "amax") else getattr(function, "__name__", "")
    numpy = sys.modules.get("numpy")
    if name in REDUCTIONS and function is getattr(numpy, name, None):
        if len(node.args) != 1 or node.keywords:
            expressions.fail(node, f"np.{name} takes one array here: write a loop for an axis")
        return reduction(expressions, node, name, node.args[0])
    if function is getattr(numpy, "dot", numpy) and numpy is not None:
        values = [expressions.whole_array(each, expressions.base(each)) for each in node.args]
        if UNKNOWN in [value.type for value in values]:
            return Value("0", UNKNOWN)
        if len(values) != 2 or {value.type.rank for value in values} != {1} or values[0].type != values[1].type:
            expressions.fail(node, "np.dot takes two arrays of one dimension and one type here: write the loops")
        kind = _result(values[0].type.element, "sum") if Scalar(values[0].type.element).is_float else None
        if kind is None:
            expressions.fail(node, "np.dot is for arrays of floats here: write the loop")
        return _combine(expressions, "dot", values[0].type, kind, f"{values[0].text}, {values[1].text}")
    return None


def helper_text(name, array, result, is_sequential, own_name):
    """The function of the language for a reduction of arrays of this type."""
    names = ["i", "j", "k"][:array.rank]
    sizes = ["a.len"] if array.rank == 1 else [f"a.dim({d})" for d in range(array.rank)]
    at = f"a[{', '.join(names)}]"
    term = at if array.element == result else f"({at} as {result})"
    operator, start, update = {
        "sum": ("+", "0", f"s += {term};"),
        "mean": ("+", "0", f"s += {term};"),
        "dot": ("+", "0", f"s += {at} * b[i];"),
        "prod": ("*", "1", f"s *= {term};"),
        "min": ("min", None, f"s = math.min(s, {at});"),
        "max": ("max", None, f"s = math.max(s, {at});"),
    }[name]
    first = f"a[{', '.join('0' * array.rank)}]" if start is None else f"({start} as {result})"
    lines = [f"fn {own_name}(a: {array.text}{', b: ' + array.text if name == 'dot' else ''}) -> {result} {{"]
    if name == "dot" and not is_sequential:
        lines.append('    assert(a.len == b.len, "arrays of different shapes cannot be combined");')
    lines.append(f"    var s: {result} = {first};")
    if is_sequential:
        for depth, (index, size) in enumerate(zip(names, sizes), start=1):
            lines.append("    " * depth + f"for {index} in 0..{size} {{")
        lines.append("    " * (array.rank + 1) + update)
        lines.extend("    " * depth + "}" for depth in range(array.rank, 0, -1))
    else:
        heads = ", ".join(f"{index} in 0..{size}" for index, size in zip(names, sizes))
        lines.append(f"    parallel for {heads} reduce({operator}: s) {{ {update} }}")
    lines.append(f"    return s{f' / (a.len as {result})' if name == 'mean' else ''};")
    return "\n".join([*lines, "}"])
