# SPDX-License-Identifier: Apache-2.0
"""Numbers that may be None: `x = d.get(k)`, `if x is None`."""

from __future__ import annotations

from .types import Optional, Scalar, literal
from .values import Value

_THERE = """fn {0}(x: {1}?) -> {1} {{
    if x == null {{ trap("TypeError: this is None"); }}
    return x!;
}}"""
_IS_TRUE = """fn {0}(x: {1}?) -> bool {{
    if x == null {{ return false; }}
    return x! != {2};
}}"""


def is_number(value):
    """Whether it is a number or None."""
    return isinstance(value.type, Optional) and isinstance(value.type.kind, Scalar)


def number(expressions, value):
    """The number, which is asked for where it may be None."""
    name = value.type.kind.name
    own = expressions.unit.function(f"_there_{name}", _THERE.format(f"_there_{name}", name))
    return Value(f"{own}({value.text})", value.type.kind)


def is_true(expressions, value):
    """The text of a condition: None is false."""
    name = value.type.kind.name
    own = expressions.unit.function(f"_is_true_{name}", _IS_TRUE.format(f"_is_true_{name}", name, literal(0, name)))
    return f"{own}({value.text})"


def assign(statements, target, value):
    """x = d.get(k)."""
    statements.scope.assign(target, target.id, value.type)
    is_first = statements.scope.declare_array(target, target.id)
    statements.emit(f"{'var ' if is_first else ''}{statements.scope.text(target.id)} = {value.text};", target)
