# SPDX-License-Identifier: Apache-2.0
"""Values of expressions: their text in the language, and their type."""

from __future__ import annotations

from ..fields import Fields, replace
from .types import (BOOL, COMPLEX, COMPLEXES, FLOAT, INT, LARGE, NONE, NUMPY_NAMES, UNKNOWN, Scalar, Struct, Text,
                    Tuple, Unconvertible, limits, literal, numpy_name)

ABSENT = object()
MARK = "\3"  # see Unit.mark


class Value(Fields):
    """An expression. `constant` is what it is known to be. A tuple that is made where it is used, a shape for example,
    has its `items`. `view` says which elements of the array with this text a view has. `elements` is the
    expression of each element where there is no array yet."""

    text: str
    type: object
    constant: object = ABSENT
    items: tuple = ()
    view: object = None
    elements: object = None

    @property
    def is_constant(self):
        return self.constant is not ABSENT

    def as_type(self, scalar):
        """Its text as a value of another scalar type."""
        name = scalar.name
        if self.type == UNKNOWN:
            return literal(0, name)
        if self.type.is_complex and not scalar.is_complex and name != "bool":
            raise Unconvertible(f"a complex number is no {scalar}: take its .real or .imag, or abs(z), or make what "
                                "it goes to complex, dtype=complex for example")
        if self.is_constant:
            self._check_fits(scalar)
            return literal(self.constant, name)
        if self.type.name == name:
            return self.text
        if name == "bool":
            return f"({self.text} != {literal(0, self.type.name)})"
        if self.type.is_complex:
            return f"({self.text}).to_{name.lower()}()"
        if scalar.is_complex:
            part = COMPLEXES[name]
            return f"{name}({self.as_type(Scalar(part))}, {literal(0, part)})"
        if self.type == BOOL and scalar.is_float:
            return f"(({self.text} as i64) as {name})"
        if self.type.is_float and scalar.is_integer and scalar.bits <= 16:
            return f"(({self.text} as i32) as {name})"  # as NumPy: 300.0 is 44 as a uint8, and -1.0 is 255
        return f"({self.text} as {name})"


    def _check_fits(self, scalar):
        """A number of Python's own that is beyond an integer type is an OverflowError of NumPy."""
        if not self.type.is_weak or not self.type.is_integer or not scalar.is_integer:
            return
        least, greatest = limits(scalar.name)
        if not least <= self.constant <= greatest:
            of_python = "" if scalar.is_weak else f": write int(x), or a.astype(int), for the {scalar} there"
            raise Unconvertible(f"{self.constant} is beyond the numbers of {numpy_name(scalar.name)}{of_python}")


class Elementwise(Fields):
    """An expression of whole arrays: its node, and pairs of node and value of what it combines. With `base`, the
    elements of that array at the indices that the one operand has."""

    node: object
    operands: tuple
    base: object = None


NOTHING = Value("", UNKNOWN)


def tuple_of(items):
    """A tuple that is made where it is used."""
    items = tuple(items)
    return Value("", Tuple(tuple(item.type for item in items)), items=items)


def struct_of(kind, items):
    """The same for an object of namedtuple or dataclass, if `kind` is the type of one."""
    made = tuple_of(items)
    return replace(made, type=replace(kind, items=made.type.items)) if isinstance(kind, Struct) else made


def items_in(text, kind):
    """The value in a struct for a tuple, or for an item of one."""
    if not isinstance(kind, Tuple):
        return Value(text, kind)
    return struct_of(kind, (items_in(f"{text}.x{i}", item) for i, item in enumerate(kind.items)))


def constant(value):
    """The value of None, of text, or of a number of Python or NumPy; None for other objects."""
    if value is None:
        return Value("0", NONE, None)
    if type(value) is str:
        return Value("0", Text(value), value)
    if isinstance(value, bool):
        return Value(literal(value, "bool"), BOOL, value)
    if type(value) is int:
        kind = INT if value < 2**63 else LARGE
        return Value(literal(value, kind.name), kind, value) if -2**63 <= value < 2**64 else None
    if isinstance(value, float):
        return Value(literal(value, "f64"), FLOAT, float(value))
    if isinstance(value, complex) and not hasattr(value, "dtype"):
        return Value(literal(value, "Complex128"), COMPLEX, value)
    name = getattr(getattr(value, "dtype", None), "name", None)
    if name is None or getattr(value, "ndim", 1) != 0:
        return None
    own = NUMPY_NAMES.get(name)
    return Value(literal(value, own), Scalar(own), value.item()) if own else None


def quoted(text):
    """Text as the language writes it."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'


def as_numpys(value):
    """The value as a number of NumPy, as its functions return them."""
    if value.type in (UNKNOWN, BOOL):
        return value
    return Value(value.as_type(value.type), Scalar(value.type.name))


def marked(value, mark):
    """The value of a call with a mark in its text."""
    return replace(value, text=f"{value.text[:-1]}{mark})") if value.text.endswith(")") else value
