# SPDX-License-Identifier: Apache-2.0
"""Dictionaries of numbers: `seen = {}`, `seen[k] = x`, `k in seen`, `for k, x in seen.items()`. Keys are numbers, or
texts that are written out."""

from __future__ import annotations

import ast
import collections
import re

from ..fields import replace
from . import list_functions, lists, optionals
from .types import (BOOL, FLOAT, INT, KEY_TEXT, NONE, UNKNOWN, Array, Dict, List, Optional, Scalar, Set, Text, Tuple,
                    outward)
from .values import NOTHING, Value, quoted, tuple_of

COUNTS = 2  # is_default of a Counter, which has 0 for what it does not count, and sets nothing

# Python raises a KeyError where the language has a trap of its own.
_ITEM = """fn NAME(entries: Map<KEY, VALUE>, key: KEY) -> VALUE {
    let found = entries.get(key);
    if found == null { trap(f"KeyError: {key}"); }
    return found!;
}"""
_POP = """fn NAME(entries: Map<KEY, VALUE>, key: KEY) -> VALUE {
    let found = ITEM(entries, key);
    let _ = entries.remove(key);
    return found;
}"""
_POP_OR = """fn NAME(entries: Map<KEY, VALUE>, key: KEY, otherwise: VALUE) -> VALUE {
    let found = entries.get_or(key, otherwise);
    let _ = entries.remove(key);
    return found;
}"""
_SET_DEFAULT = """fn NAME(entries: Map<KEY, VALUE>, key: KEY, otherwise: VALUE) -> VALUE {
    if !entries.has(key) { entries.set(key, otherwise); }
    return ITEM(entries, key);
}"""
_UPDATE = """fn {0}(entries: {1}, others: {2}) {{
    for k, x in others {{ entries.set({3}, {4}); }}
}}"""
_COPY = """fn NAME(entries: Map<KEY, VALUE>) -> Map<KEY, VALUE> {
    let made = Map<KEY, VALUE>();
    for key, value in entries { made.set(key, value); }
    return made;
}"""
_DELETE = """fn NAME(entries: Map<KEY, VALUE>, key: KEY) {
    if !entries.remove(key) { trap(f"KeyError: {key}"); }
}"""


def is_new(statements, node):
    """{}, {1: 2}, dict(), Counter() and defaultdict(int)."""
    return isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and not node.keywords and (
        (not node.args and statements.means_any(node.func, (dict, collections.Counter))) or
        _missing(statements, node) is not None))


def _missing(statements, node):
    """The type of the values of defaultdict(int) and its kin, which is what is read where there is none; None for other
    nodes."""
    if not isinstance(node, ast.Call) or len(node.args) != 1 or not statements.means(
            node.func, collections.defaultdict):
        return None
    kinds = {int: INT, float: FLOAT, bool: BOOL, list: List(UNKNOWN)}
    found = next((kind for made, kind in kinds.items() if statements.means(node.args[0], made)), None)
    if found is None:
        statements.source.fail(node, "a defaultdict is one of int, float, bool or list here: ask with `k in d`")
    return found


def make(statements, target, node):
    """seen = {}, seen = {1: 2}."""
    expressions = statements.expressions
    check(expressions, node, "makes")
    pairs = list(zip(node.keys, node.values)) if isinstance(node, ast.Dict) else []
    if any(key is None for key, _ in pairs):
        expressions.fail(node, "** in a dictionary cannot be compiled: set its entries one by one")
    entries = [(key(expressions, at), _value(expressions, value, target)) for at, value in pairs]
    missing = _missing(statements, node)
    kind = Dict(UNKNOWN, missing or UNKNOWN, missing is not None)
    if isinstance(node, ast.Call) and statements.means(node.func, collections.Counter):
        kind = Dict(UNKNOWN, INT, COUNTS)
    kind = statements.scope.assign(target, target.id, kind)
    for at, value in entries:
        kind = statements.scope.assign(target, target.id, Dict(at.type, value.type))
    expressions.unit.module("map")
    name, kind = statements.scope.text(target.id), kind.known
    is_first = statements.scope.declare_array(target, target.id)
    statements.emit(f"{'var ' if is_first else ''}{name} = {expressions.unit.type_text(kind)}();", target)
    for at, value in entries:
        statements.emit(f"{name}.set({as_key(expressions, node, at, kind.key)}, "
                        f"{as_key(expressions, node, value, kind.value)});", target)


def check(expressions, node, does):
    if expressions.is_sequential:
        expressions.fail(node, f"a prange loop {does} no dictionaries: fill arrays that are made before")


def as_key(expressions, node, value, kind):
    """The text of a key or value of this type."""
    return quoted(value.constant) if kind == KEY_TEXT else lists.item_text(expressions, node, value, kind)


def key(expressions, node):
    value = expressions.value(node)
    if optionals.is_number(value):
        value = optionals.number(expressions, value)
    if isinstance(value.type, Text):
        return Value(value.text, KEY_TEXT, value.constant)
    if value.items and UNKNOWN in [item.type for item in value.items]:
        return NOTHING
    parts = [item.type for item in value.items] or [value.type]
    for kind in parts if value.type != UNKNOWN else ():
        if not isinstance(kind, Scalar) or kind.is_complex or (value.items and kind.is_float):
            expressions.fail(node, "the keys of a dictionary or set are real numbers, or tuples of integers, here, and "
                                   f"this is {value.type}")
    if value.items:  # integers of one type, whatever theirs are
        return tuple_of(Value(item.as_type(INT), INT, item.constant) for item in value.items)
    return value


def _value(expressions, node, owner=None):
    """The value as one of the dictionary that the node `owner` names."""
    value = expressions.value(node)
    if isinstance(value.type, Array):
        return lists.array_item(expressions, node, value, owner)
    if value.type != UNKNOWN and not isinstance(value.type, (Scalar, List)) and not (value.items and all(
            isinstance(item.type, Scalar) for item in value.items)):
        expressions.fail(node, f"the values of a dictionary are numbers, tuples of them, arrays or lists here, and "
                               f"this is {value.type}")
    return value


def _helper(expressions, name, text, kind):
    """The name of a function of the language for dictionaries of this type."""
    key, value = (expressions.unit.key_text(kind.known.key), expressions.unit.type_text(kind.known.value))
    word = re.sub(r"\W+", "_", f"{key}_{value}")
    own, inner = (f"_{each}_{word}" for each in (name, "dict_item"))
    for place, given in (("NAME", own), ("ITEM", inner), ("KEY", key), ("VALUE", value)):
        text = text.replace(place, given)
    expressions.unit.module("map")
    return expressions.unit.function(own, text)


def _given_key(expressions, node, dictionary):
    """The text of a key that is looked for, as one of the dictionary's; None if a type is not known yet."""
    found = key(expressions, node)
    if UNKNOWN in (found.type, dictionary.type.key):
        return None
    if (found.type == KEY_TEXT) != (dictionary.type.key == KEY_TEXT) or bool(found.items) != isinstance(
            dictionary.type.key, Tuple) or len(found.items) != len(getattr(dictionary.type.key, "items", ())):
        expressions.fail(node, f"the dictionary has {dictionary.type.key} keys, and this is {found.type}")
    if isinstance(found.type, Scalar) and found.type.is_float and not dictionary.type.key.is_float:
        expressions.fail(node, "the keys of the dictionary are integers: write int(..)")
    return as_key(expressions, node, found, dictionary.type.key)


def item(expressions, node, dictionary):
    """seen[k]."""
    check(expressions, node, "reads")
    if dictionary.type.is_default:  # this sets it where there is none
        expressions.scope.grow(node.value, replace(dictionary.type, key=key(expressions, node.slice).type))
        dictionary = expressions.value(node.value)
    text = _given_key(expressions, node.slice, dictionary)
    if text is None or dictionary.type.value == UNKNOWN:
        return NOTHING
    if dictionary.type.is_default == COUNTS:
        return Value(f"{dictionary.text}.get_or({text}, 0)", dictionary.type.value)
    name = _helper(expressions, "dict_item", _ITEM, dictionary.type)
    if dictionary.type.is_default:
        name = _helper(expressions, "dict_set_default", _SET_DEFAULT, dictionary.type)
        otherwise = lists.item_text(expressions, node, NOTHING, dictionary.type.known.value)
        return Value(f"{name}({dictionary.text}, {text}, {otherwise})", dictionary.type.value)
    return Value(f"{name}({dictionary.text}, {text})", dictionary.type.value)


def contains(expressions, node, dictionary):
    """k in seen."""
    check(expressions, node, "reads")
    text = _given_key(expressions, node, dictionary)
    return Value("false" if text is None else f"{dictionary.text}.has({text})", BOOL)


def length(dictionary):
    return Value(f"{dictionary.text}.len()", INT)


def method(expressions, node, dictionary):
    """seen.get(k, 0), seen.pop(k), seen.clear(); keys and values as arrays, or as lists where they are no numbers."""
    check(expressions, node, "uses")
    name, kind = node.func.attr, dictionary.type
    if node.keywords:
        expressions.fail(node, f".{name}() of a dictionary takes its arguments by position")
    if name in ("keys", "values") and not node.args:
        element = kind.key if name == "keys" else kind.value
        if element == UNKNOWN:
            return NOTHING
        if element == KEY_TEXT:
            expressions.fail(node, "keys that are text cannot be kept: take the values")
        if isinstance(element, Scalar):
            return Value(f"{dictionary.text}.{name}()", Array(element.name, 1))
        expressions.unit.module("list")
        return Value(f"list.of<{expressions.unit.type_text(element)}>({dictionary.text}.{name}())", List(element))
    if name == "clear" and not node.args:
        return Value(f"{dictionary.text}.clear()", NONE)
    if name == "copy" and not node.args:
        return copied(expressions, dictionary)
    if name == "get" and len(node.args) == 1:
        return _found(expressions, node, dictionary)
    if name == "get" and len(node.args) == 2:
        text = _given_key(expressions, node.args[0], dictionary)
        otherwise = _value(expressions, node.args[1], node.func.value)
        if kind.value != UNKNOWN and isinstance(node.func.value, ast.Name):
            kind = expressions.scope.assign(node, node.func.value.id, Dict(kind.key, otherwise.type))
        if text is None or UNKNOWN in (kind.value, otherwise.type):
            return otherwise
        other = lists.item_text(expressions, node.args[1], otherwise, kind.value)
        return Value(f"{dictionary.text}.get_or({text}, {other})", kind.value)
    if name in ("pop", "setdefault") and len(node.args) == 2:
        return _with_default(expressions, node, dictionary)
    if name == "update" and len(node.args) == 1:
        return _update(expressions, node, dictionary)
    if name == "pop" and len(node.args) == 1:
        text = _given_key(expressions, node.args[0], dictionary)
        if text is None or kind.value == UNKNOWN:
            return NOTHING
        _helper(expressions, "dict_item", _ITEM, kind)
        return Value(f"{_helper(expressions, 'dict_pop', _POP, kind)}({dictionary.text}, {text})", kind.value)
    expressions.fail(node, f".{name}({', '.join('.' * len(node.args))}) of a dictionary cannot be compiled: get, pop, "
                           "setdefault, update, keys, values, items, copy and clear can")


def of_call(expressions, node, function):
    """dict(seen), a copy; None for others."""
    if function is not dict or len(node.args) != 1 or node.keywords:
        return None
    value = expressions.value(node.args[0])
    if value.type == UNKNOWN:
        return NOTHING
    return copied(expressions, value) if type(value.type) is Dict else None


def copied(expressions, dictionary):
    """seen.copy(), dict(seen)."""
    if UNKNOWN in (dictionary.type.key, dictionary.type.value):
        return NOTHING
    return Value(f"{_helper(expressions, 'dict_copy', _COPY, dictionary.type)}({dictionary.text})", dictionary.type)


def _found(expressions, node, dictionary):
    """seen.get(k): a number, or None where there is none."""
    text = _given_key(expressions, node.args[0], dictionary)
    if text is None or dictionary.type.value == UNKNOWN:
        return NOTHING
    if not isinstance(dictionary.type.value, Scalar):
        expressions.fail(node, f"what may be None is a number here, and this is {dictionary.type.value}: ask with "
                               "`k in d` before d[k]")
    return Value(f"{dictionary.text}.get({text})", Optional(dictionary.type.value))


def _with_default(expressions, node, dictionary):
    """seen.pop(k, 0), seen.setdefault(k, 0)."""
    name, target = node.func.attr, node.func.value
    if not isinstance(target, ast.Name):
        expressions.fail(node, "only entries of a dictionary that is a variable can be set")
    at, otherwise = key(expressions, node.args[0]), _value(expressions, node.args[1], target)
    given = Dict(at.type if name == "setdefault" else dictionary.type.key, otherwise.type)
    kind = expressions.scope.assign(node, target.id, given)
    text = _given_key(expressions, node.args[0], Value(dictionary.text, kind))
    if text is None or UNKNOWN in (kind.value, otherwise.type):
        return otherwise
    _helper(expressions, "dict_item", _ITEM, kind)
    helper = ("dict_pop_or", _POP_OR) if name == "pop" else ("dict_set_default", _SET_DEFAULT)
    own = _helper(expressions, *helper, kind)
    other = lists.item_text(expressions, node.args[1], otherwise, kind.known.value)
    return Value(f"{own}({dictionary.text}, {text}, {other})", kind.value)


def _update(expressions, node, dictionary):
    """seen.update(others)."""
    others, target = expressions.value(node.args[0]), node.func.value
    if others.type == UNKNOWN:
        return NOTHING
    if dictionary.type.is_default == COUNTS:
        expressions.fail(node, "a Counter is updated by a loop: for x in xs: c[x] += 1")
    if not isinstance(others.type, Dict) or not isinstance(target, ast.Name):
        expressions.fail(node, "update takes another dictionary that is a variable: set entries one by one")
    unit, kind = expressions.unit, expressions.scope.assign(node, target.id, others.type).known
    given = others.type.known
    if KEY_TEXT in (kind.key, given.key) and kind.key != given.key:
        return NOTHING
    parts = [part if wanted == KEY_TEXT else lists.item_text(expressions, node, Value(part, of), wanted)
             for part, of, wanted in (("k", given.key, kind.key), ("x", given.value, kind.value))]
    whole, other = unit.type_text(kind), unit.type_text(given)
    own = "_dict_update_" + re.sub(r"\W+", "_", f"{whole}_{other}")
    return Value(f"{unit.function(own, _UPDATE.format(own, whole, other, *parts))}({dictionary.text}, {others.text})",
                 NONE)


def store_item(statements, target, value, node):
    """seen[k] = x."""
    expressions, name = statements.expressions, target.value
    check(expressions, target, "changes")
    if not isinstance(name, ast.Name):
        statements.source.fail(target, "only entries of a dictionary that is a variable can be set")
    at = key(expressions, target.slice)
    if value.type != UNKNOWN and not isinstance(value.type, Scalar):
        value = _value(expressions, node, name)
    kind = statements.scope.assign(target, name.id, Dict(at.type, value.type))
    if UNKNOWN not in (at.type, value.type, kind.key, kind.value):
        text = expressions.value(name).text
        statements.emit(f"{text}.set({as_key(expressions, target, at, kind.key)}, "
                        f"{lists.item_text(expressions, node, value, kind.known.value)});", target)


def update_item(statements, node, dictionary):
    """seen[k] += x. A key with calls in it is computed once."""
    def update():
        old = item(expressions, node.target, dictionary)
        value = expressions.operation(node, node.op, old, expressions.scalar(node.value))
        store_item(statements, node.target, value, node)

    expressions, place = statements.expressions, node.target.slice
    if not any(isinstance(each, ast.Call) for each in ast.walk(place)):
        update()
        return
    at = expressions.value(place)
    at = tuple_of(statements.kept(part, node) for part in at.items) if at.items else statements.kept(at, node)
    expressions.while_given({place: at}, update)


def delete_item(statements, target, dictionary):
    """del seen[k]."""
    check(statements.expressions, target, "changes")
    text = _given_key(statements.expressions, target.slice, dictionary)
    if text is not None and dictionary.type.is_default == COUNTS:
        statements.emit(f"let _ = {dictionary.text}.remove({text});", target)
    elif text is not None and dictionary.type.value != UNKNOWN:
        name = _helper(statements.expressions, "dict_delete", _DELETE, dictionary.type)
        statements.emit(f"{name}({dictionary.text}, {text});", target)


def add_entries(items, target, iterated, dictionary, call=None):
    """for k in seen, for k, x in seen.items(): the keys are those at the beginning of the loop."""
    statements, kind = items.statements, dictionary.type
    check(statements.expressions, iterated, "runs over")
    if UNKNOWN in (kind.key, kind.value):
        items.is_known = False
        return
    if kind.key == KEY_TEXT and call != "values":
        statements.source.fail(iterated, "keys that are text cannot be variables: run over d.values()")
    keys = statements.temporary()
    statements.emit(f"let {keys} = {dictionary.text}.keys();", iterated)
    items.sizes.append(f"{keys}.len")
    targets = [target]
    if call == "items":
        if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != 2:
            statements.source.fail(target, "items gives a key and a value: for k, x in d.items()")
        targets = target.elts
    if call != "values":
        lists.add_items(items, targets[0], iterated, lambda turn: f"{keys}[{turn}]", kind.key)
    if call is not None:
        found = _helper(statements.expressions, "dict_item", _ITEM, kind)
        lists.add_items(items, targets[-1], iterated.func.value,
                        lambda turn: f"{found}({dictionary.text}, {keys}[{turn}])", kind.value)


def parts(expressions, value):
    """The texts of what Python gets for a dictionary, its keys and its values, or for a set: see dhpvm.results."""
    kind, unit = value.type.known, expressions.unit
    found = []
    for name, element in (("keys", kind.key), ("values", kind.value)):
        items = f"{value.text}.{name}()"
        if isinstance(element, Scalar):
            found.append([items])
        else:
            unit.module("list")
            found.append(list_functions.parts(expressions, Value(
                f"list.of<{unit.type_text(element)}>({items})", List(element))))
    if isinstance(kind, Set):
        return found[0]
    return [f"{unit.struct(outward(List(element)))}({', '.join(each)})"
            for each, element in zip(found, (kind.key, kind.value))]
