# SPDX-License-Identifier: Apache-2.0
"""Objects of namedtuple and dataclass: their fields are variables of their own."""

from __future__ import annotations

import ast
import dataclasses
import inspect

from .. import structs
from ..fields import replace
from . import functions
from .types import UNKNOWN, Array, Scalar, Struct, Text
from .values import NOTHING, items_in, struct_of


def is_struct(value):
    return isinstance(value.type, Struct)


def of_call(expressions, node, function):
    """Point(x, y), and dataclasses.replace(p, x=1); None for other functions."""
    if function is dataclasses.replace and len(node.args) == 1:
        return replaced(expressions, node, expressions.value(node.args[0]))
    names = structs.fields(function) if inspect.isclass(function) else None
    if not names:
        return None
    maker = function.__new__ if issubclass(function, tuple) else function.__init__
    if hasattr(function, "__post_init__") or getattr(maker, "__code__", of_call.__code__).co_filename != "<string>":
        expressions.fail(node, f"{function.__name__} computes its fields itself: write a function that does, and pass "
                               "them")
    if any(isinstance(each, ast.Starred) for each in node.args) or None in [each.arg for each in node.keywords]:
        expressions.fail(node, "write each field by itself: * and ** cannot be compiled")
    try:
        given = inspect.signature(function).bind(*node.args, **{each.arg: each.value for each in node.keywords})
    except TypeError as error:
        expressions.fail(node, f"{function.__name__}: {error}")
    given.apply_defaults()
    nodes = [each if isinstance(each, ast.AST) else ast.copy_location(ast.Constant(each), node)
             for each in map(given.arguments.get, names)]
    functions.check_order(expressions, node, nodes, list(map(expressions.value, nodes)))
    return _made(expressions, Struct((), tuple(names), structs.is_fixed(function), function), nodes)


def _made(expressions, kind, nodes):
    items = [expressions.value(each) for each in nodes]
    for each, item in zip(nodes, items):
        if item.type == UNKNOWN:
            return NOTHING
        if not isinstance(item.type, (Scalar, Array, Text)):
            expressions.fail(each, f"a field is a number or an array here, and this is {item.type}")
    return struct_of(kind, items)


def field(expressions, node, value):
    """p.x."""
    if node.attr not in value.type.names:
        expressions.fail(node, f"there is no field '{node.attr}' here; there are {', '.join(value.type.names)}")
    items = value.items or items_in(value.text, value.type).items
    return items[value.type.names.index(node.attr)]


def replaced(expressions, node, value):
    """p._replace(x=1)."""
    if value.type == UNKNOWN:
        return NOTHING
    if not is_struct(value) or not {each.arg for each in node.keywords} <= set(value.type.names):
        expressions.fail(node, "this replaces no fields of a namedtuple or dataclass")
    given = {each.arg: expressions.value(each.value) for each in node.keywords}
    if UNKNOWN in [each.type for each in given.values()]:
        return NOTHING
    return struct_of(value.type, [given.get(name, item) for name, item in zip(value.type.names, value.items)])


def check_name(statements, value, node):
    """A dataclass that is changed has one name: another one would be another object here."""
    if is_struct(value) and not value.type.is_fixed and not isinstance(node, ast.Call):
        statements.source.fail(node, "a dataclass has one name here: make a new one, Body(b.x, b.v)")


def store(statements, target, value):
    """b.x = 1, where the function has made b."""
    owner = target.value
    known = statements.expressions.value(owner)
    if known.type == UNKNOWN or value.type == UNKNOWN:
        return
    fail, scope = statements.source.fail, statements.scope
    if not is_struct(known) or known.type.is_fixed:
        fail(target, "only variables, elements of arrays and fields of dataclasses can be assigned")
    field(statements.expressions, target, known)
    if not isinstance(owner, ast.Name) or not scope.is_in_parts(owner.id) or statements.parallel is not None:
        fail(target, "fields of a dataclass that the function itself makes can be assigned, outside of prange loops: "
                     "return the new values of others")
    if not isinstance(value.type, Scalar):
        fail(target, f"a number is needed here, and this is {value.type}")
    name = scope.part(owner.id, known.type.names.index(target.attr))
    kind = scope.assign(target, name, value.type)
    statements.emit(f"{scope.text(name)} = {value.as_type(kind)};", target)
    items = [scope.part_type(owner.id, i) for i in range(len(known.items))]
    scope.assign(target, owner.id, replace(known.type, items=tuple(items)))
