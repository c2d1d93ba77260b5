# SPDX-License-Identifier: Apache-2.0
"""Lists that grow, of numbers and of tuples of them: `found = []`, `found.append(x)`, `np.array(found)`."""

from __future__ import annotations

import ast

from . import views
from .types import INT, NONE, UNKNOWN, Array, List, Scalar, Tuple, Unconvertible, promote
from .values import NOTHING, Value, tuple_of


def repeated(node):
    """The list and the number of [0] * n; None for other expressions."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    sides = [node.left, node.right]
    return next(((one, other) for one, other in (sides, sides[::-1]) if isinstance(one, ast.List)), None)


def make(statements, target, node, times=None):
    """found = [], found = [1, 2], found = [0] * n."""
    expressions = statements.expressions
    if expressions.is_sequential:
        statements.source.fail(node, "a prange loop makes no lists: fill an array that is made before")
    values = [statements.kept(_number(expressions, each, expressions.value(each)), each) for each in node.elts]
    count = None if times is None else expressions.integer(times)
    kind = statements.scope.assign(target, target.id, List(UNKNOWN))
    for value in values:
        kind = statements.scope.assign(target, target.id, List(value.type))
    expressions.unit.module("list")
    name, element = statements.scope.text(target.id), _element(kind)
    made = f"List<{_text(expressions, element)}>()"
    is_first = statements.scope.declare_array(target, target.id)
    statements.emit(f"{'var ' if is_first else ''}{name} = {made};", target)
    if count is not None:
        statements.emit(f"for _ in 0..{count} {{", target)
    for value in values:
        statements.emit(f"{name}.push({_pushed(expressions, value, element)});", target)
    if count is not None:
        statements.emit("}", target)


def _text(expressions, element):
    """The type of elements as the language writes it."""
    return expressions.unit.struct(element) if isinstance(element, Tuple) else element.name


def _pushed(expressions, value, element):
    """The text of a value as an element."""
    if value.type == UNKNOWN:
        return "0"
    if not isinstance(element, Tuple):
        return value.as_type(element)
    if not value.items:
        return value.text
    parts = ", ".join(item.as_type(kind) for item, kind in zip(value.items, element.items))
    return f"{expressions.unit.struct(element)}({parts})"


def _element(kind):
    return Scalar("f64") if kind.element == UNKNOWN else kind.element


def _number(expressions, node, value):
    if isinstance(value.type, Tuple) and value.type.items and all(
            isinstance(item, Scalar) or item == UNKNOWN for item in value.type.items):
        return NOTHING if UNKNOWN in value.type.items else value
    if value.type != UNKNOWN and not isinstance(value.type, Scalar):
        expressions.fail(node, f"a list has numbers or tuples of numbers here, and this is {value.type}: make an array "
                               "with np.empty")
    return value


def method(expressions, node, value):
    """found.append(x), found.pop()."""
    name, target = node.func.attr, node.func.value
    if expressions.is_sequential:
        expressions.fail(node, "a prange loop changes no lists: set elements of an array")
    if name == "append" and len(node.args) == 1 and not node.keywords and isinstance(target, ast.Name):
        given = _number(expressions, node.args[0], expressions.value(node.args[0]))
        kind = expressions.scope.assign(target, target.id, List(given.type))
        return Value(f"{value.text}.push({_pushed(expressions, given, _element(kind))})", NONE)
    if name in ("pop", "clear") and not node.args + node.keywords:
        return Value(f"{value.text}.{name}()", value.type.element if name == "pop" else NONE)
    expressions.fail(node, f".{name}() of a list cannot be compiled; append, pop and clear can")


def length(value):
    return Value(f"{value.text}.len()", INT)


def change_in(statements, node):
    """The statement that changes the list of this name: a call that changes its size, else an item that is assigned;
    None if nothing does."""
    items = None
    for each in (inner for statement in statements for inner in ast.walk(statement)):
        place = each.func if isinstance(each, ast.Call) else each
        if not isinstance(place, (ast.Attribute, ast.Subscript)) or not isinstance(node, ast.Name) or \
                getattr(place.value, "id", None) != node.id:
            continue
        if isinstance(each, ast.Call) and place is not each and getattr(place, "attr", "") in _RESIZING:
            return each
        if isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store):
            items = each
    return items


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
    text = f"{value.text}[{place}]"
    if not isinstance(value.type.element, Tuple):
        return Value(text, value.type.element)
    views.check_repeatable(expressions, node, place)
    return of_tuple(text, value.type.element)


def of_tuple(text, kind):
    """A tuple in a struct, whose text may be evaluated several times."""
    return tuple_of(Value(f"{text}.x{i}", item) for i, item in enumerate(kind.items))


def store_item(statements, target, value, node):
    """found[i] = x."""
    name = target.value
    given = _number(statements.expressions, node, value)
    kind = statements.scope.assign(name, name.id, List(given.type)) if isinstance(name, ast.Name) else None
    if kind is None:
        statements.source.fail(target, "only elements of a list that is a variable can be assigned")
    place = item(statements.expressions, target, statements.expressions.value(name))
    if place.type == UNKNOWN:
        return
    to = place.items[0].text.removesuffix(".x0") if place.items else place.text
    statements.emit(f"{to} = {_pushed(statements.expressions, given, _element(kind))};", target)


def rows(expressions, value):
    """The tuples of a list as the rows of an array."""
    kinds = value.type.element.items
    common = kinds[0]
    for kind in kinds[1:]:
        common = promote(common, kind) if kind != common else common
    struct, result = expressions.unit.struct(value.type.element), Array(common.name, 2)
    own = f"_rows_{struct}_{common.name}"
    cells = " ".join(f"r[i, {k}] = {Value(f'found[i].x{k}', kind).as_type(common)};" for k, kind in enumerate(kinds))
    return Value(f"{expressions.unit.function(own, _ROWS.format(own, struct, result.text, len(kinds), cells))}"
                 f"({value.text})", result)


_RESIZING = ("append", "pop", "clear")
_ROWS = """fn {0}(found: List<{1}>) -> {2} {{
    let r = {2}(found.len(), {3});
    for i in 0..found.len() {{ {4} }}
    return r;
}}"""


def as_array(value):
    """A copy of its elements as an array; other values are returned as they are."""
    if not isinstance(value.type, List):
        return value
    if value.type.element == UNKNOWN:
        return NOTHING
    if isinstance(value.type.element, Tuple):
        raise Unconvertible("a list of tuples is a loop's or np.array's here: for x, y in found")
    return Value(f"{value.text}.to_array()", Array(value.type.element.name, 1))
