# SPDX-License-Identifier: Apache-2.0
"""Sets of numbers and of tuples of integers: dictionaries whose values nobody sees. `seen = set()`, `seen.add(k)`."""

from __future__ import annotations

import ast
import builtins
import re

from . import dicts, lists
from .types import BOOL, NONE, UNKNOWN, Dict, List, Set, Tuple, join
from .values import NOTHING, Value

_TEXTS = {
    "with": "let r = xs; r.set(y, true); return r;",
    "of": "let r = SET(); for i in 0..y.len() { r.set(y[i], true); } return r;",
    "or": "let r = SET(); for k, _ in xs { r.set(k, true); } for k, _ in y { r.set(k, true); } return r;",
    "and": "let r = SET(); for k, _ in xs { if y.has(k) { r.set(k, true); } } return r;",
    "sub": "let r = SET(); for k, _ in xs { if !y.has(k) { r.set(k, true); } } return r;",
    "xor": "let r = SET(); for k, _ in xs { if !y.has(k) { r.set(k, true); } } "
           "for k, _ in y { if !xs.has(k) { r.set(k, true); } } return r;",
    "remove": 'if !xs.remove(y) { trap("KeyError: this is not in the set"); }',
    "discard": "let _ = xs.remove(y);",
    "update": "for k, _ in y { xs.set(k, true); }",
    "subset": "for k, _ in xs { if !y.has(k) { return false; } } return true;",
    "part": "if xs.len() >= y.len() { return false; } for k, _ in xs { if !y.has(k) { return false; } } return true;",
    "same": "if xs.len() != y.len() { return false; } for k, _ in xs { if !y.has(k) { return false; } } return true;",
    "disjoint": "for k, _ in xs { if y.has(k) { return false; } } return true;",
}
_ORDERS = {ast.LtE: "subset", ast.GtE: "subset", ast.Lt: "part", ast.Gt: "part", ast.Eq: "same", ast.NotEq: "same"}
_OPERATORS = {ast.BitOr: "or", ast.BitAnd: "and", ast.Sub: "sub", ast.BitXor: "xor"}
_METHODS = {"union": "or", "intersection": "and", "difference": "sub", "symmetric_difference": "xor",
            "update": "update", "issubset": "subset", "isdisjoint": "disjoint"}


def of_type(kind):
    """The type of a set with such members."""
    return Set(kind, BOOL)


def _function(expressions, what, kind):
    """The name of this function for sets of this type."""
    unit = expressions.unit
    key, whole = unit.key_text(kind.known.key), unit.type_text(kind)
    own = f"_set_{what}_" + re.sub(r"\W+", "_", key)
    first = "" if what == "of" else f"xs: {whole}, "
    second = f"List<{key}>" if what == "of" else key if what in ("with", "remove", "discard") else whole
    results = dict.fromkeys(("subset", "part", "same", "disjoint"), " -> bool") | dict.fromkeys(
        ("remove", "discard", "update"), "")
    result = results.get(what, f" -> {whole}")
    if what == "of":
        unit.module("list")
    return unit.function(own, f"fn {own}({first}y: {second}){result} {{ {_TEXTS[what].replace('SET', whole)} }}")


def literal(expressions, node):
    """{a, b} where it is used."""
    dicts.check(expressions, node, "makes")
    keys = [dicts.key(expressions, each) for each in node.elts]
    kind = of_type(UNKNOWN)
    for each, key in zip(node.elts, keys):
        kind = join(kind, of_type(key.type))
        if kind is None:
            expressions.fail(each, "the members of a set have one type")
    if UNKNOWN in [key.type for key in keys]:
        return NOTHING
    found = _new(expressions, kind)
    for each, key in zip(node.elts, keys):
        found = f"{_function(expressions, 'with', kind)}({found}, {dicts.as_key(expressions, each, key, kind.key)})"
    return Value(found, kind)


def _new(expressions, kind):
    return f"{expressions.unit.type_text(kind)}()"


def of_call(expressions, node, function):
    """set() and set(x); None for other functions."""
    if function is not builtins.set or node.keywords or len(node.args) > 1:
        return None
    dicts.check(expressions, node, "makes")
    if not node.args:
        return Value(_new(expressions, of_type(UNKNOWN)), of_type(UNKNOWN))
    return of_items(expressions, node.args[0])


def of_items(expressions, node):
    """The set of the items of an array, a list, a range or a set."""
    items = lists.items_of(expressions, node)
    if UNKNOWN in (items.type, getattr(items.type, "element", None)):
        return NOTHING
    element = lists.element_of(items)
    if not isinstance(items.type, List):
        items = lists.of_array(expressions, node, items, element)
    if isinstance(element, List) or (isinstance(element, Tuple) and any(not kind.is_integer for kind in element.items)):
        expressions.fail(node, "the members of a set are numbers or tuples of integers here")
    kind = of_type(element)
    return Value(f"{_function(expressions, 'of', kind)}({items.text})", kind)


def _same(expressions, node, kind, others_node, others):
    """The text of another set as one with such members."""
    joined = join(kind, others.type)
    if joined is None or (UNKNOWN not in (kind.key, others.type.key) and kind.key != others.type.key and
                          expressions.unit.type_text(kind) != expressions.unit.type_text(others.type)):
        expressions.fail(node, f"a {kind} and a {others.type} have different members: convert them first")
    expressions.scope.grow(others_node, joined)
    return others.text if others.type.key != UNKNOWN else _new(expressions, joined)


def combined(expressions, node, values):
    """a | b, a & b, a - b, a ^ b."""
    what = _OPERATORS.get(type(getattr(node, "op", None)))
    if what is None or not all(isinstance(value.type, Set) for value in values):
        expressions.fail(node, "sets are combined by |, &, - and ^")
    dicts.check(expressions, node, "makes")
    kind = join(*(value.type for value in values))
    if kind is None:
        expressions.fail(node, f"a {values[0].type} and a {values[1].type} have different members: convert them first")
    texts = [_same(expressions, node, kind, each, value) for each, value in zip((node.left, node.right), values)]
    return Value(f"{_function(expressions, what, kind)}({', '.join(texts)})", kind)


def compared(expressions, node, left, right):
    """a == b, a <= b and others."""
    kinds, operator = (left.type, right.type), type(node.ops[0])
    if not all(isinstance(kind, Set) for kind in kinds):
        expressions.fail(node, f"a {kinds[0]} and a {kinds[1]} cannot be compared: write a loop over their items, or "
                               "np.array_equal(np.array(xs), np.array(ys)) for lists of numbers")
    dicts.check(expressions, node, "reads")
    kind = join(*kinds)
    if kind is None or operator not in _ORDERS:
        expressions.fail(node, "sets with members of one type are compared, by ==, !=, <, <=, > and >=")
    if UNKNOWN in (kind.key, left.type.key, right.type.key):
        return Value("false", BOOL)
    texts = [_same(expressions, node, kind, each, value)
             for each, value in ((node.left, left), (node.comparators[0], right))]
    if operator in (ast.Gt, ast.GtE):
        texts.reverse()
    found = f"{_function(expressions, _ORDERS[operator], kind)}({', '.join(texts)})"
    return Value(f"(!{found})" if operator is ast.NotEq else found, BOOL)


def method(expressions, node, value):
    """seen.add(k), seen.remove(k), seen.union(other) and others."""
    name, target, count = node.func.attr, node.func.value, len(node.args)
    dicts.check(expressions, node, "changes")
    if name in ("add", "remove", "discard") and count == 1:
        key = dicts.key(expressions, node.args[0])
        if not expressions.scope.grow(target, of_type(key.type)):
            expressions.fail(node, "only a set that is a variable can be changed")
        kind = expressions.value(target).type
        if UNKNOWN in (key.type, kind.key):
            return NOTHING
        text = dicts.as_key(expressions, node.args[0], key, kind.key)
        if name == "add":
            return Value(f"{value.text}.set({text}, true)", NONE)
        return Value(f"{_function(expressions, name, kind)}({value.text}, {text})", NONE)
    if name == "clear" and not count:
        return Value(f"{value.text}.clear()", NONE)
    if name == "copy" and not count:
        return of_items(expressions, target)
    if name in _METHODS and count == 1:
        others = of_items(expressions, node.args[0])
        if others.type == UNKNOWN:
            return NOTHING
        if name == "update":
            expressions.scope.grow(target, others.type)
        kind = join(expressions.value(target).type, others.type)
        if kind is None:
            expressions.fail(node, "the sets have members of different types: convert them first")
        text = _same(expressions, node, kind, node, others)
        result = {"update": NONE, "subset": BOOL, "disjoint": BOOL}.get(_METHODS[name], kind)
        return Value(f"{_function(expressions, _METHODS[name], kind)}({value.text}, {text})", result)
    expressions.fail(node, f".{name}() of a set cannot be compiled; add, remove, discard, clear, copy, update, union, "
                           "intersection, difference, issubset and isdisjoint can")


def adapted(expressions, node, value, kind):
    """The text of a set or dictionary as one of this type; one that is empty is made of that type."""
    if isinstance(value.type, Dict) and value.type.key == UNKNOWN and not isinstance(node, ast.Name):
        return f"{expressions.unit.type_text(kind)}()"
    if not expressions.scope.grow(node, kind) and expressions.unit.type_text(kind) != expressions.unit.type_text(
            value.type):
        expressions.fail(node, f"this is a {value.type}, and the variable is a {kind} elsewhere: convert it first")
    return value.text
