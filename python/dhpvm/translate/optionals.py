# SPDX-License-Identifier: Apache-2.0
"""Numbers that may be None: `x = None`, `x = d.get(k)`, `if x is None`."""

from __future__ import annotations

from .types import NONE, UNKNOWN, Optional, Scalar, literal
from .values import NOTHING, Value

_THERE = """fn {0}(x: {1}?) -> {1} {{
    if x == null {{ trap("TypeError: this is None"); }}
    return x!;
}}"""
_IS_TRUE = """fn {0}(x: {1}?) -> bool {{
    if x == null {{ return false; }}
    return x! != {2};
}}"""

_IS_NONE = "fn {0}(x: {1}?) -> bool => x == null;"


def is_number(value):
    """Whether it is a number or None."""
    return isinstance(value.type, Optional) and (isinstance(value.type.kind, Scalar) or value.type.kind == UNKNOWN)


def number(expressions, value):
    """The number, which is asked for where it may be None."""
    if value.type.kind == UNKNOWN:
        return NOTHING
    name = value.type.kind.name
    own = expressions.unit.function(f"_there_{name}", _THERE.format(f"_there_{name}", name))
    return Value(f"{own}({value.text})", value.type.kind)


def is_none(expressions, value):
    """The text of a condition. In a function of its own: the language knows more of x behind `x == null`."""
    if value.type.kind == UNKNOWN:
        return "true"
    name = value.type.kind.name
    own = expressions.unit.function(f"_is_none_{name}", _IS_NONE.format(f"_is_none_{name}", name))
    return f"{own}({value.text})"


def is_true(expressions, value):
    """The text of a condition: None is false."""
    if value.type.kind == UNKNOWN:
        return "false"
    name = value.type.kind.name
    own = expressions.unit.function(f"_is_true_{name}", _IS_TRUE.format(f"_is_true_{name}", name, literal(0, name)))
    return f"{own}({value.text})"


def assign(statements, target, value):
    """x = None, x = d.get(k), and x = 1 where x is None elsewhere."""
    scope, name = statements.scope, target.id
    if statements.parallel is not None or name in statements.source.parameters:
        statements.source.fail(target, f"'{name}' may be None, which a variable of a prange loop and a parameter "
                                       "cannot become: use -1 or float('nan')")
    given = Optional(UNKNOWN) if value.type == NONE else value.type
    kind = scope.assign(target, name, given)
    scope.declare_before_all(name)
    if value.type == NONE:
        text = "null"
    elif kind.kind == UNKNOWN:
        return
    elif isinstance(value.type, Scalar):
        text = value.as_type(kind.kind)
    else:
        text = value.text
        if value.type.kind.name != kind.kind.name:
            statements.source.fail(target, f"this is {value.type}, and '{name}' is {kind} elsewhere: use two names")
    statements.emit(f"{scope.text(name)} = {text};", target)
