# SPDX-License-Identifier: Apache-2.0
"""Lists of numbers that grow: `found = []`, `found.append(x)`, `np.array(found)`."""

from __future__ import annotations

import ast

from .types import INT, NONE, UNKNOWN, Array, List, Scalar
from .values import NOTHING, Value


def make(statements, target, node):
    """found = [], found = [1, 2]."""
    expressions = statements.expressions
    if expressions.is_sequential:
        statements.source.fail(node, "a prange loop makes no lists: fill an array that is made before")
    values = [_number(expressions, each, expressions.value(each)) for each in node.elts]
    kind = statements.scope.assign(target, target.id, List(UNKNOWN))
    for value in values:
        kind = statements.scope.assign(target, target.id, List(value.type))
    expressions.unit.module("list")
    name, element = statements.scope.text(target.id), _element(kind)
    made = f"List<{element.name}>()"
    is_first = statements.scope.declare_array(target, target.id)
    statements.emit(f"{'var ' if is_first else ''}{name} = {made};", target)
    for value in values:
        statements.emit(f"{name}.push({value.as_type(element)});", target)


def _element(kind):
    return Scalar("f64") if kind.element == UNKNOWN else kind.element


def _number(expressions, node, value):
    if value.type != UNKNOWN and not isinstance(value.type, Scalar):
        expressions.fail(node, f"a list has numbers here, and this is {value.type}: make an array with np.empty, or "
                               "one list for each number")
    return value


def method(expressions, node, value):
    """found.append(x), found.pop()."""
    name, target = node.func.attr, node.func.value
    if expressions.is_sequential:
        expressions.fail(node, "a prange loop changes no lists: set elements of an array")
    if name == "append" and len(node.args) == 1 and not node.keywords and isinstance(target, ast.Name):
        given = _number(expressions, node.args[0], expressions.value(node.args[0]))
        kind = expressions.scope.assign(target, target.id, List(given.type))
        return Value(f"{value.text}.push({given.as_type(_element(kind))})", NONE)
    if name in ("pop", "clear") and not node.args + node.keywords:
        return Value(f"{value.text}.{name}()", value.type.element if name == "pop" else NONE)
    expressions.fail(node, f".{name}() of a list cannot be compiled; append, pop and clear can")


def length(value):
    return Value(f"{value.text}.len()", INT)


def item(expressions, node, value):
    """found[i]; constants below 0 count from the end."""
    if isinstance(node.slice, ast.Slice):
        expressions.fail(node, "a part of a list cannot be compiled: write np.array(..)[..]")
    index = expressions.value(node.slice)
    if UNKNOWN in (index.type, value.type.element):
        return NOTHING
    place = expressions.integer(node.slice)
    if index.is_constant and index.constant < 0:
        place = f"{value.text}.len() - {-index.constant}"
    return Value(f"{value.text}[{place}]", value.type.element)


def store_item(statements, target, value, node):
    """found[i] = x."""
    name = target.value
    given = _number(statements.expressions, node, value)
    kind = statements.scope.assign(name, name.id, List(given.type)) if isinstance(name, ast.Name) else None
    if kind is None:
        statements.source.fail(target, "only elements of a list that is a variable can be assigned")
    place = item(statements.expressions, target, statements.expressions.value(name))
    if place.type != UNKNOWN:
        statements.emit(f"{place.text} = {given.as_type(_element(kind))};", target)


def as_array(value):
    """A copy of its numbers as an array; other values are returned as they are."""
    if not isinstance(value.type, List):
        return value
    if value.type.element == UNKNOWN:
        return NOTHING
    return Value(f"{value.text}.to_array()", Array(value.type.element.name, 1))
