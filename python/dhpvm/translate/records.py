# SPDX-License-Identifier: Apache-2.0
"""Records: arrays of a structured dtype, whose fields are arrays of their own. A record is one of their elements."""

from __future__ import annotations

import ast

from ..fields import replace
from . import views
from .types import UNKNOWN, Array, Record, Scalar
from .values import NOTHING, Value


def field(expressions, node, records, name):
    """p["x"] or p.x: an array, or a number if this is one record."""
    if name not in records.type.names:
        expressions.fail(node, f"there is no field '{name}' of numbers; there are {', '.join(records.type.names)}")
    found = records.items[records.type.names.index(name)]
    view = found.view
    if view is None or view.axes:
        return found
    return Value(f"{found.text}[{', '.join(view.place(()))}]", Scalar(found.type.element))


def subscript(expressions, node, records):
    """p["x"], p[i], p[1:]."""
    if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return field(expressions, node, records, node.slice.value)
    if records.type.rank == 0:
        expressions.fail(node, "a field of a record is named by its text: p[i]['x']")
    if not isinstance(node.slice, (ast.Slice, ast.Tuple)):
        index = expressions.value(node.slice)
        if index.type == UNKNOWN:
            return NOTHING
        if isinstance(index.type, Array):
            expressions.fail(node, "an array as an index is for one field: p['x'][order]")
    return of_items(records, [views.selected(expressions, node, item) for item in records.items])


def at(records, turn):
    """The record with this text of an index."""
    return of_items(records, [views.inside(item, (turn,)) for item in records.items])


def of_items(records, items):
    """Records of the same kind whose fields are these."""
    kind = replace(records.type, items=tuple(item.type for item in items), rank=items[0].type.rank)
    return replace(records, type=kind, items=tuple(items))


def is_record(value):
    return isinstance(value.type, Record)
