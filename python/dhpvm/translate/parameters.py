# SPDX-License-Identifier: Apache-2.0
"""Parameters: what is passed where an argument is a view, a tuple or records, which the language does not have."""

from __future__ import annotations

from ..fields import replace
from . import views
from .types import GENERATOR, NONE, Array, Dict, List, Listed, Scalar, Text, Tuple
from .values import Value


def passed(expressions, argument, value):
    """The type of a parameter for this value, and the texts that are passed."""
    if value.items:
        kinds, texts = zip(*(passed(expressions, argument, item) for item in value.items))
        return replace(value.type, items=kinds), [each for part in texts for each in part]
    if isinstance(value.type, Array) and value.view is not None:
        kind, numbers = views.passed(value)
        return kind, [value.text, *numbers]
    if isinstance(value.type, Array):
        value = expressions.named(argument, value)
    elif not isinstance(value.type, (Scalar, Text, List, Dict)) and value.type not in (NONE, GENERATOR):
        expressions.fail(argument, f"{value.type} cannot be passed on")
    return value.type, [value.text]


def heads(unit, name, kind):
    """The text for a parameter in the head of a function."""
    if isinstance(kind, Tuple):
        return [each for i, item in enumerate(kind.items) for each in heads(unit, _item(name, i), item)]
    if isinstance(kind, views.PassedView):
        return [f"{name}: {Array(kind.element, kind.view.rank).text}", *(f"{each}: i64" for each in kind.names(name))]
    if isinstance(kind, Listed):
        return [f"{_item(name, i)}: {each.text}" for i, each in enumerate(kind.parameters)]
    return [f"{name}: {unit.type_text(kind)}"]


def listed(unit, name, kind):
    """The text of a list of what Python passes for it."""
    unit.module("list")
    if isinstance(kind.element, Scalar):
        return f"list.of<{kind.element.name}>({_item(name, 0)})"
    return f"list.of<{kind.element.text}>([{', '.join(_item(name, i) for i in range(kind.count))}])"


def value(name, kind):
    """The value of a parameter in the function."""
    if isinstance(kind, Tuple):
        items = tuple(value(_item(name, i), item) for i, item in enumerate(kind.items))
        return Value("", replace(kind, items=tuple(item.type for item in items)), items=items)
    return kind.value(name) if isinstance(kind, views.PassedView) else Value(name, kind)


def leaves(kind):
    """The types of the parameters of a program that an argument of this type has."""
    return [leaf for item in kind.items for leaf in leaves(item)] if isinstance(kind, Tuple) else [kind]


def _item(name, position):
    return f"_{name}_{position}"
