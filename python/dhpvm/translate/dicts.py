# SPDX-License-Identifier: Apache-2.0
"""Dictionaries of numbers: `seen = {}`, `seen[k] = x`, `k in seen`, `for k, x in seen.items()`. Keys are numbers, or
texts that are written out."""

from __future__ import annotations

import ast

from .types import BOOL, INT, KEY_TEXT, NONE, UNKNOWN, Array, Dict, Scalar, Set, Text
from .values import NOTHING, Value, quoted

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
_UPDATE = """fn NAME(entries: Map<KEY, VALUE>, others: Map<OTHER_KEY, OTHER_VALUE>) {
    for k, x in others { entries.set(GIVEN_KEY, GIVEN_VALUE); }
}"""
_DELETE = """fn NAME(entries: Map<KEY, VALUE>, key: KEY) {
    if !entries.remove(key) { trap(f"KeyError: {key}"); }
}"""


def is_new(statements, node):
    """{}, {1: 2} and dict()."""
    return isinstance(node, ast.Dict) or (isinstance(node, ast.Call) and not node.args + node.keywords and
                                          statements.means(node.func, dict))


def make(statements, target, node):
    """seen = {}, seen = {1: 2}."""
    expressions = statements.expressions
    _check(expressions, node, "makes")
    pairs = list(zip(node.keys, node.values)) if isinstance(node, ast.Dict) else []
    if any(key is None for key, _ in pairs):
        expressions.fail(node, "** in a dictionary cannot be compiled: set its entries one by one")
    entries = [(_key(expressions, key), _value(expressions, value)) for key, value in pairs]
    kind = statements.scope.assign(target, target.id, Dict(UNKNOWN, UNKNOWN))
    for key, value in entries:
        kind = statements.scope.assign(target, target.id, Dict(key.type, value.type))
    expressions.unit.module("map")
    name, kind = statements.scope.text(target.id), kind.known
    is_first = statements.scope.declare_array(target, target.id)
    statements.emit(f"{'var ' if is_first else ''}{name} = {kind.text}();", target)
    for key, value in entries:
        statements.emit(f"{name}.set({_as(key, kind.key)}, {_as(value, kind.value)});", target)


def _check(expressions, node, does):
    if expressions.is_sequential:
        expressions.fail(node, f"a prange loop {does} no dictionaries: fill arrays that are made before")


def _as(value, kind):
    return quoted(value.constant) if kind == KEY_TEXT else value.as_type(kind)


def _key(expressions, node):
    value = expressions.value(node)
    if isinstance(value.type, Text):
        return Value(value.text, KEY_TEXT, value.constant)
    if value.type != UNKNOWN and not isinstance(value.type, Scalar):
        advice = ": a pair of integers can be i * n + j" if value.items else ""
        expressions.fail(node, f"the keys of a dictionary are numbers here, and this is {value.type}{advice}")
    if value.type != UNKNOWN and value.type.is_complex:
        expressions.fail(node, "the keys of a dictionary are real numbers here")
    return value


def _value(expressions, node):
    value = expressions.value(node)
    if value.type != UNKNOWN and not isinstance(value.type, Scalar):
        expressions.fail(node, f"the values of a dictionary are numbers here, and this is {value.type}: keep the "
                               "places of an array in it")
    return value


def _helper(expressions, name, text, kind):
    """The name of a function of the language for dictionaries of this type."""
    kind = kind.known
    own, inner = (f"_{each}_{kind.key_text}_{kind.value.name}" for each in (name, "dict_item"))
    for word, given in (("NAME", own), ("ITEM", inner), ("KEY", kind.key_text), ("VALUE", kind.value.name)):
        text = text.replace(word, given)
    return expressions.unit.function(own, text)


def _given_key(expressions, node, dictionary):
    """The text of a key that is looked for, as one of the dictionary's; None if a type is not known yet."""
    key = _key(expressions, node)
    if UNKNOWN in (key.type, dictionary.type.key):
        return None
    if (key.type == KEY_TEXT) != (dictionary.type.key == KEY_TEXT):
        expressions.fail(node, f"the dictionary has {dictionary.type.key} keys, and this is {key.type}")
    if dictionary.type.key != KEY_TEXT and key.type.is_float and not dictionary.type.key.is_float:
        expressions.fail(node, "the keys of the dictionary are integers: write int(..)")
    return _as(key, dictionary.type.key)


def item(expressions, node, dictionary):
    """seen[k]."""
    _check(expressions, node, "reads")
    key = _given_key(expressions, node.slice, dictionary)
    if key is None or dictionary.type.value == UNKNOWN:
        return NOTHING
    name = _helper(expressions, "dict_item", _ITEM, dictionary.type)
    return Value(f"{name}({dictionary.text}, {key})", dictionary.type.value)


def contains(expressions, node, dictionary):
    """k in seen."""
    _check(expressions, node, "reads")
    key = _given_key(expressions, node, dictionary)
    return Value("false" if key is None else f"{dictionary.text}.has({key})", BOOL)


def length(dictionary):
    return Value(f"{dictionary.text}.len()", INT)


def method(expressions, node, dictionary):
    """seen.get(k, 0), seen.pop(k), seen.clear(); keys and values as arrays."""
    _check(expressions, node, "uses")
    name, kind = node.func.attr, dictionary.type
    if node.keywords:
        expressions.fail(node, f".{name}() of a dictionary takes its arguments by position")
    if name in ("keys", "values") and not node.args:
        element = kind.key if name == "keys" else kind.value
        if element == UNKNOWN:
            return NOTHING
        if element == KEY_TEXT:
            expressions.fail(node, "keys that are text cannot be kept: take the values")
        return Value(f"{dictionary.text}.{name}()", Array(element.name, 1))
    if name == "clear" and not node.args:
        return Value(f"{dictionary.text}.clear()", NONE)
    if name == "get" and len(node.args) == 2:
        key, otherwise = _given_key(expressions, node.args[0], dictionary), _value(expressions, node.args[1])
        if kind.value != UNKNOWN and isinstance(node.func.value, ast.Name):
            kind = expressions.scope.assign(node, node.func.value.id, Dict(kind.key, otherwise.type))
        if key is None or UNKNOWN in (kind.value, otherwise.type):
            return otherwise
        return Value(f"{dictionary.text}.get_or({key}, {otherwise.as_type(kind.value)})", kind.value)
    if name in ("pop", "setdefault") and len(node.args) == 2:
        return _with_default(expressions, node, dictionary)
    if name == "update" and len(node.args) == 1:
        return _update(expressions, node, dictionary)
    if name == "pop" and len(node.args) == 1:
        key = _given_key(expressions, node.args[0], dictionary)
        if key is None or kind.value == UNKNOWN:
            return NOTHING
        _helper(expressions, "dict_item", _ITEM, kind)
        return Value(f"{_helper(expressions, 'dict_pop', _POP, kind)}({dictionary.text}, {key})", kind.value)
    advice = "write d[k], or d.get(k, 0) for another value" if name == "get" else \
        "get, pop, setdefault, update, keys, values, items and clear can"
    expressions.fail(node, f".{name}({', '.join('.' * len(node.args))}) of a dictionary cannot be compiled: {advice}")


def _with_default(expressions, node, dictionary):
    """seen.pop(k, 0), seen.setdefault(k, 0)."""
    name, target = node.func.attr, node.func.value
    if not isinstance(target, ast.Name):
        expressions.fail(node, "only entries of a dictionary that is a variable can be set")
    key, otherwise = _key(expressions, node.args[0]), _value(expressions, node.args[1])
    given = Dict(key.type if name == "setdefault" else dictionary.type.key, otherwise.type)
    kind = expressions.scope.assign(node, target.id, given)
    text = _given_key(expressions, node.args[0], Value(dictionary.text, kind))
    if text is None or UNKNOWN in (kind.value, otherwise.type):
        return otherwise
    _helper(expressions, "dict_item", _ITEM, kind)
    helper = ("dict_pop_or", _POP_OR) if name == "pop" else ("dict_set_default", _SET_DEFAULT)
    own = _helper(expressions, *helper, kind)
    return Value(f"{own}({dictionary.text}, {text}, {otherwise.as_type(kind.value)})", kind.value)


def _update(expressions, node, dictionary):
    """seen.update(others)."""
    others, target = expressions.value(node.args[0]), node.func.value
    if others.type == UNKNOWN:
        return NOTHING
    if not isinstance(others.type, Dict) or not isinstance(target, ast.Name):
        expressions.fail(node, "update takes another dictionary that is a variable: set entries one by one")
    kind, given = expressions.scope.assign(node, target.id, others.type).known, others.type.known
    if KEY_TEXT in (kind.key, given.key) and kind.key != given.key:
        return NOTHING
    key = "k" if kind.key == KEY_TEXT else Value("k", given.key).as_type(kind.key)
    own = f"_dict_update_{kind.key_text}_{kind.value.name}_{given.key_text}_{given.value.name}"
    text = _UPDATE
    for word, part in (("GIVEN_KEY", key), ("GIVEN_VALUE", Value("x", given.value).as_type(kind.value)),
                       ("OTHER_KEY", given.key_text), ("OTHER_VALUE", given.value.name), ("NAME", own),
                       ("KEY", kind.key_text), ("VALUE", kind.value.name)):
        text = text.replace(word, part)
    return Value(f"{expressions.unit.function(own, text)}({dictionary.text}, {others.text})", NONE)


def store_item(statements, target, value, node):
    """seen[k] = x."""
    expressions, name = statements.expressions, target.value
    _check(expressions, target, "changes")
    if not isinstance(name, ast.Name):
        statements.source.fail(target, "only entries of a dictionary that is a variable can be set")
    key = _key(expressions, target.slice)
    if value.type != UNKNOWN and not isinstance(value.type, Scalar):
        value = _value(expressions, node)
    kind = statements.scope.assign(target, name.id, Dict(key.type, value.type))
    if UNKNOWN not in (key.type, value.type, kind.key, kind.value):
        text = expressions.value(name).text
        statements.emit(f"{text}.set({_as(key, kind.key)}, {value.as_type(kind.value)});", target)


def update_item(statements, node, dictionary):
    """seen[k] += x."""
    if any(isinstance(each, ast.Call) for each in ast.walk(node.target.slice)):
        statements.source.fail(node, "the key would be computed twice: give it a name first")
    old = item(statements.expressions, node.target, dictionary)
    value = statements.expressions.operation(node, node.op, old, statements.expressions.scalar(node.value))
    store_item(statements, node.target, value, node)


def delete_item(statements, target, dictionary):
    """del seen[k]."""
    _check(statements.expressions, target, "changes")
    key = _given_key(statements.expressions, target.slice, dictionary)
    if key is not None and dictionary.type.value != UNKNOWN:
        name = _helper(statements.expressions, "dict_delete", _DELETE, dictionary.type)
        statements.emit(f"{name}({dictionary.text}, {key});", target)


def add_entries(items, target, iterated, dictionary, call=None):
    """for k in seen, for k, x in seen.items(): the keys are those at the beginning of the loop."""
    statements, kind = items.statements, dictionary.type
    _check(statements.expressions, iterated, "runs over")
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
        items.stores.append((targets[0], lambda turn: Value(f"{keys}[{turn}]", kind.key), iterated))
    if call is not None:
        found = _helper(statements.expressions, "dict_item", _ITEM, kind)
        items.stores.append((targets[-1], lambda turn: Value(
            f"{found}({dictionary.text}, {keys}[{turn}])", kind.value), iterated))


def parts(value):
    """The texts of the arrays that Python gets for a dictionary or a set: see dhpvm.results."""
    return [f"{value.text}.{name}()" for name in ("keys", "values")[:1 + (not isinstance(value.type, Set))]]
