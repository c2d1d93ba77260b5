# SPDX-License-Identifier: Apache-2.0
"""Objects of namedtuple and dataclass, which compiled functions take by their fields."""

from __future__ import annotations


def fields(kind):
    """The names of the fields that a class has by namedtuple or dataclass; None for other classes."""
    if issubclass(kind, tuple):
        return getattr(kind, "_fields", None)
    known = vars(kind).get("__dataclass_fields__")
    if known is None:
        return None
    return tuple(name for name, each in known.items() if each._field_type.name == "_FIELD")


def is_fixed(kind):
    """Whether the fields of its objects stay what they are: of namedtuple, and of a frozen dataclass."""
    return issubclass(kind, tuple) or kind.__dataclass_params__.frozen


def mark(kind):
    """What a translation depends on in a class, as text: its fields and their defaults."""
    names = fields(kind)
    if not names:
        return ""
    maker = kind.__new__ if issubclass(kind, tuple) else kind.__init__
    return repr((names, is_fixed(kind), getattr(maker, "__defaults__", None), hasattr(kind, "__post_init__")))


def values(given):
    """The values of an object's fields."""
    return [getattr(given, name) for name in fields(type(given))]


class Layout:
    """Takes an object of one class apart, as _core.Function calls it: None for objects of others."""

    def __init__(self, kind):
        self._kind, self._names = kind, fields(kind)

    def __call__(self, given):
        return [getattr(given, name) for name in self._names] if type(given) is self._kind else None


def layout(given):
    """The object as ArgumentLayout describes it."""
    made = Layout(type(given))
    return {"make": made, "count": len(fields(type(given)))}
