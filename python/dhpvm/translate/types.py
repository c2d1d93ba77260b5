# SPDX-License-Identifier: Apache-2.0
"""Types of Python values in compiled functions, and how NumPy 2 combines them.

A number is *weak* if it is Python's own: a literal, an int or float argument, a loop variable, a length. Combined with
a number of NumPy it takes that one's type, as NumPy 2 has it: `x[i] * 2.0` is a float32 if x is an array of float32.
"""

from __future__ import annotations

from ..fields import Fields, replace

INTEGERS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64")
FLOATS = ("f32", "f64")
COMPLEXES = {"Complex64": "f32", "Complex128": "f64"}  # structs, and the type of their parts
NUMPY_NAMES = {"bool": "bool", "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32",
               "uint32": "u32", "int64": "i64", "uint64": "u64", "float32": "f32", "float64": "f64",
               "complex64": "Complex64", "complex128": "Complex128"}


class Unconvertible(Exception):
    """There is no value of a type for this one. Statements turn it into an error at their line."""


class Scalar(Fields):
    """A number or bool. `name` is the language's."""

    name: str
    is_weak: bool = False

    def __str__(self):
        names = {"bool": "bool", "i64": "int", "u64": "int", "f64": "float", "Complex128": "complex"}
        return names[self.name] if self.is_weak else numpy_name(self.name)

    @property
    def is_float(self):
        return self.name in FLOATS

    @property
    def is_complex(self):
        return self.name in COMPLEXES

    @property
    def part(self):
        """The name of the type of a complex number's parts."""
        return COMPLEXES[self.name]

    @property
    def bits(self):
        return int(self.name[1:])

    @property
    def is_integer(self):
        return self.name in INTEGERS


class Array(Fields):
    """An array of NumPy of 1 to 3 dimensions."""

    element: str
    rank: int

    def __str__(self):
        return f"array of {numpy_name(self.element)} with {self.rank} dimension{'s' if self.rank > 1 else ''}"

    @property
    def text(self):
        """As the language writes it."""
        return f"[{self.element}]" if self.rank == 1 else f"[{self.element}, {self.rank}]"


class Tuple(Fields):
    """Several results of a function."""

    items: tuple

    def __str__(self):
        return f"tuple of {len(self.items)} items"


class Record(Tuple):
    """Records of NumPy, an array of them or a single one: `items` are arrays of their fields."""

    names: tuple
    rank: int

    def __str__(self):
        return "record" if self.rank == 0 else "array of records"


class Struct(Tuple):
    """An object of namedtuple or dataclass with these names of its fields, which may be fixed. `maker` is the class, if
    the function makes the object."""

    names: tuple
    is_fixed: bool
    maker: object = None

    def __str__(self):
        return f"{'namedtuple' if self.is_fixed else 'dataclass'} with {', '.join(self.names)}"


class Named(Tuple):
    """Results that Python gets as a dictionary with these texts as its keys."""

    names: tuple

    def __str__(self):
        return f"dictionary of {', '.join(self.names)}"


class List(Fields):
    """A list of numbers, of tuples of them, of arrays or of such lists. `element` is UNKNOWN before the first is
    appended."""

    element: object

    def __str__(self):
        return "list" if self.element == UNKNOWN else f"list of {self.element}"

    @property
    def known(self):
        """The type with that of its elements; some, where nothing is ever appended."""
        if isinstance(self.element, List):
            return List(self.element.known)
        return List(Scalar("f64")) if self.element == UNKNOWN else self


class Listed(Fields):
    """A list that Python passes: its numbers are one array, and its `count` arrays are parameters of their own."""

    element: object
    count: int

    def __str__(self):
        return f"list of {self.element}"

    @property
    def parameters(self):
        """The types of the parameters of a program."""
        return [self.element] * self.count if isinstance(self.element, Array) else [Array(self.element.name, 1)]


class Dict(Fields):
    """A dictionary; its values are numbers, tuples of them or lists. Types are UNKNOWN before the first entry is set.
    Reading sets an entry that is missing if the dictionary is a defaultdict; see dicts.COUNTS."""

    key: object
    value: object
    is_default: int = False

    def __str__(self):
        return "dictionary" if self.key == UNKNOWN else f"dictionary of {self.value} by {self.key}"

    @property
    def known(self):
        """The type with those of keys and values; some, where nothing is ever set."""
        value = self.value.known if isinstance(self.value, List) else self.value
        return replace(self, key=INT if self.key == UNKNOWN else self.key,
                       value=Scalar("f64") if value == UNKNOWN else value)


class Set(Dict):
    """A set of numbers: a dictionary whose values nobody sees."""

    def __str__(self):
        return "set" if self.key == UNKNOWN else f"set of {self.key}"


class Text(Fields):
    """The type of this one text: functions are compiled for each."""

    value: str

    def __str__(self):
        return f"the text {self.value!r}"


class Given(Fields):
    """The result that is the argument at this position, which the caller has. Programs return a number for it."""

    position: int
    type: object

    def __str__(self):
        return str(self.type)


class Optional(Fields):
    """The result that is None, or of a type."""

    kind: object

    def __str__(self):
        return f"None or {self.kind}"


class Mixed(Fields):
    """The result that is an integer, or a float: Python keeps them apart."""

    def __str__(self):
        return "int or float"


class Special(Fields):
    """A type without values that are passed on."""

    name: str

    def __str__(self):
        return self.name


BOOL = Scalar("bool")
INT = Scalar("i64", True)
LARGE = Scalar("u64", True)  # with a constant that is beyond 63 bits: 0xFFFFFFFFFFFFFFFF
FLOAT = Scalar("f64", True)
COMPLEX = Scalar("Complex128", True)
NONE = Special("None")
UNKNOWN = Special("unknown")
MIXED = Mixed()
KEY_TEXT = Special("text")  # of the keys of a dictionary
GENERATOR = Special("Random")  # of random numbers


def outward(kind):
    """What a program returns for a result of this type: arrays of what is in lists and dictionaries, and for what may
    be None whether it is there. dhpvm.results makes the result of it."""
    if isinstance(kind, Optional):
        return Tuple((BOOL, FLOAT if kind.kind == UNKNOWN else outward(kind.kind)))
    if kind == MIXED:  # whether it is an integer, and the value as either
        return Tuple((BOOL, INT, FLOAT))
    if isinstance(kind, List):
        item = kind.known.element
        if isinstance(item, List):
            return Tuple((Array(item.element.name, 1), Array("i64", 1)))
        if isinstance(item, Array):  # all elements, and shapes
            return Tuple((Array(item.element, 1), Array("i64", 2)))
        parts = item.items if isinstance(item, Tuple) else (item,)
        return Tuple(tuple(Array(part.name, 1) for part in parts))
    if isinstance(kind, Dict):
        keys, values = (outward(List(each)) for each in (kind.known.key, kind.known.value))
        return keys if isinstance(kind, Set) else Tuple((keys, values))
    if type(kind) in (Tuple, Named, Struct):
        return Tuple(tuple(map(outward, kind.items)))
    return kind


def builder(kind):
    """The function of dhpvm.results for a result of this type, None where there is none."""
    if isinstance(kind, List):
        return {List: "lists", Tuple: "tuples", Struct: "tuples", Array: "arrays"}.get(type(kind.known.element),
                                                                                       "numbers")
    return "members" if isinstance(kind, Set) else "mixed" if kind == MIXED else None


def text(kind):
    """A number, bool or array as the language writes its type. None and text are passed as a number that nobody reads.
    """
    if kind == NONE or isinstance(kind, (Given, Text)):
        return "i64"
    return kind.text if isinstance(kind, Array) else kind.name


def numpy_name(name):
    return next(numpy for numpy, own in NUMPY_NAMES.items() if own == name)


def limits(name):
    """The least and the greatest number of an integer type."""
    bits = _bits(name)
    return (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if name[0] == "i" else (0, (1 << bits) - 1)


def _bits(name):
    return int(name[1:])


def _common(a, b):
    """The type that NumPy gives two different types of its numbers."""
    if a in COMPLEXES or b in COMPLEXES:
        parts = [COMPLEXES.get(name, name) for name in (a, b)]
        part = parts[0] if parts[0] == parts[1] else _common(*parts)
        return next(name for name, own in COMPLEXES.items() if own == part)
    if a in FLOATS and b in FLOATS:
        return "f64"
    if a in FLOATS or b in FLOATS:
        number, integer = (a, b) if a in FLOATS else (b, a)
        return "f32" if number == "f32" and _bits(integer) <= 16 else "f64"
    if a[0] == b[0]:
        return max(a, b, key=_bits)
    signed, unsigned = (a, b) if a[0] == "i" else (b, a)
    if _bits(signed) > _bits(unsigned):
        return signed
    return f"i{2 * _bits(unsigned)}" if _bits(unsigned) < 64 else "f64"


def promote(a, b):
    """The type of an arithmetic operation on two scalars."""
    if UNKNOWN in (a, b):
        return UNKNOWN
    a, b = (INT if each == BOOL else each for each in (a, b))
    if a.is_weak and b.is_weak:
        return next((kind for kind in (COMPLEX, FLOAT, LARGE) if kind in (a, b)), INT)
    if a.is_weak or b.is_weak:
        weak, strong = (a, b) if a.is_weak else (b, a)
        if weak.is_complex:
            return strong if strong.is_complex else Scalar("Complex64" if strong.name == "f32" else "Complex128")
        return Scalar("f64") if weak.is_float and strong.is_integer else strong
    return a if a == b else Scalar(_common(a.name, b.name))


def float_of(kind):
    """The type in which NumPy computes a function of reals of a number. There is no float16, which it has for 8 bits.
    """
    if kind.is_complex:
        raise Unconvertible("this function of a complex number cannot be compiled: abs, angle, exp, log, sqrt, sin, "
                            "cos, sinh and cosh can")
    if kind.is_float:
        return kind
    if kind.is_weak:
        return FLOAT
    return Scalar("f32" if kind == BOOL or kind.bits <= 16 else "f64")


def join(a, b):
    """The type of a variable that is given values of both types; None if there is none."""
    if a == UNKNOWN or a == b:
        return b
    if b == UNKNOWN:
        return a
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return None if BOOL in (a, b) else promote(a, b)
    if isinstance(a, List) and isinstance(b, List):
        return _join_lists(a.element, b.element)
    if isinstance(a, Dict) and isinstance(b, Dict):
        key, value = _join_keys(a.key, b.key), join(a.value, b.value)
        if None in (key, value) or type(a) is not type(b):
            return None
        return replace(a, key=key, value=value, is_default=a.is_default or b.is_default)
    if isinstance(a, Optional) or isinstance(b, Optional):
        kinds = [each.kind if isinstance(each, Optional) else each for each in (a, b)]
        kind = join(*kinds) if all(isinstance(each, Scalar) or each == UNKNOWN for each in kinds) else None
        return None if kind is None else Optional(kind)
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        is_named = isinstance(a, (Named, Struct)) or isinstance(b, (Named, Struct))
        if is_named and not _is_of_class(a, b):
            return None
        items = tuple(join(x, y) for x, y in zip(a.items, b.items))
        return None if None in items else _with_items(a, b, items)
    return None


def _is_of_class(a, b):
    """Whether tuples are of one class, with the same names."""
    makers = {getattr(each, "maker", None) for each in (a, b)} - {None}
    return type(a) is type(b) and getattr(a, "names", None) == getattr(b, "names", None) and len(makers) <= 1


def _with_items(a, b, items):
    """The type of both tuples with these types of items. The class is known if both are made in the function."""
    if isinstance(a, Struct):
        return replace(a, items=items, maker=a.maker and b.maker)
    return replace(a, items=items) if isinstance(a, Named) else Tuple(items)


def join_results(a, b):
    """The type of results of both types, of which Python gets each as it is."""
    kinds = [kind for kind in (a, b) if kind != MIXED]
    if all(isinstance(kind, Scalar) and kind.name not in ("bool", "u64", *COMPLEXES) for kind in kinds) and (
            len(kinds) < 2 or a.is_integer != b.is_integer):
        return MIXED
    if type(a) in (Tuple, Named, Struct) and _is_of_class(a, b) and len(a.items) == len(b.items):
        items = tuple(map(join_results, a.items, b.items))
        return None if None in items else _with_items(a, b, items)
    return join(a, b)


def _join_keys(a, b):
    """Numbers that are equal in Python are one key: those of one kind can be."""
    if KEY_TEXT in (a, b) or UNKNOWN in (a, b) or a == b:
        return join(a, b) if UNKNOWN in (a, b) or a == b else None
    if isinstance(a, Tuple) or isinstance(b, Tuple):
        return join(a, b)
    joined = join(a, b)
    return joined if joined is None or a.is_float == b.is_float == joined.is_float else None


def _join_lists(a, b):
    """Numbers of Python's own have one type in an array, and so have those with the same bits, or floats with them;
    others would change those that are there."""
    element = _join_elements(a, b)
    return None if element is None else List(element)


def _join_elements(a, b):
    if UNKNOWN in (a, b) or a == b:
        return b if a == UNKNOWN else a
    if isinstance(a, List) and isinstance(b, List):
        return _join_lists(a.element, b.element)
    if isinstance(a, Tuple) and isinstance(b, Tuple) and len(a.items) == len(b.items):
        items = tuple(_join_elements(x, y) for x, y in zip(a.items, b.items))
        return None if None in items or not _is_of_class(a, b) else _with_items(a, b, items)
    if not isinstance(a, Scalar) or not isinstance(b, Scalar):
        return None
    kind = promote(a, b)
    is_same = a.name == b.name or (a.is_weak and b.is_weak) or (kind.name == "f64" and (a.is_weak or b.is_weak))
    return kind if is_same and BOOL not in (a, b) else None


def literal(value, name):
    """A constant as the language writes it, as a value of the type with that name."""
    if name == "bool":
        return "true" if value else "false"
    if name in COMPLEXES:
        number, part = complex(value), COMPLEXES[name]
        return f"{name}({literal(number.real, part)}, {literal(number.imag, part)})"
    if name in FLOATS:
        text = _float_text(float(value))
        return text if name == "f64" else f"({text} as f32)"
    bits = _bits(name)
    number = int(value) & ((1 << bits) - 1)
    if name[0] == "i" and number >> (bits - 1):
        number -= 1 << bits
    if number == -(1 << (bits - 1)):
        return f"{name}.min"
    text = f"{abs(number)}" if name == "i64" else f"{abs(number)}{name}"
    return f"(-{text})" if number < 0 else text


def _float_text(value):
    if value != value:
        return "f64.nan"
    if value in (float("inf"), float("-inf")):
        return "f64.infinity" if value > 0 else "(-f64.infinity)"
    text = repr(value)
    if "." not in text and "e" not in text:
        text += ".0"
    return f"({text})" if text.startswith("-") else text
