# SPDX-License-Identifier: Apache-2.0
"""Values of expressions: their text in the language, and their type."""

from __future__ import annotations

from dataclasses import dataclass

from .types import BOOL, FLOAT, INT, NUMPY_NAMES, UNKNOWN, Scalar, literal

ABSENT = object()


@dataclass(frozen=True)
class Value:
    """An expression. `constant` is what it is known to be, `indices` those of a row `a[i]` of an array."""

    text: str
    type: object
    constant: object = ABSENT
    indices: tuple = ()

    @property
    def is_constant(self):
        return self.constant is not ABSENT

    def as_type(self, scalar):
        """Its text as a value of another scalar type."""
        name = scalar.name
        if self.type == UNKNOWN:
            return literal(0, name)
        if self.is_constant:
            return literal(self.constant, name)
        if self.type.name == name:
            return self.text
        if name == "bool":
            return f"({self.text} != {literal(0, self.type.name)})"
        if self.type == BOOL and scalar.is_float:
            return f"(({self.text} as i64) as {name})"
        return f"({self.text} as {name})"


NOTHING = Value("", UNKNOWN)


def constant(value):
    """The value of a number of Python or NumPy; None for other objects."""
    if isinstance(value, bool):
        return Value(literal(value, "bool"), BOOL, value)
    if type(value) is int:
        return Value(literal(value, "i64"), INT, value) if -2**63 <= value < 2**64 else None
    if isinstance(value, float):
        return Value(literal(value, "f64"), FLOAT, float(value))
    name = getattr(getattr(value, "dtype", None), "name", None)
    if name is None or getattr(value, "ndim", 1) != 0:
        return None
    own = NUMPY_NAMES.get(name)
    return Value(literal(value, own), Scalar(own), value.item()) if own else None
