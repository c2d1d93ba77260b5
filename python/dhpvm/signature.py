# SPDX-License-Identifier: Apache-2.0
"""Signatures as the library writes them, "([f64, 2], class \"Node\") -> (f64, str)", as what calls need to know."""

from __future__ import annotations

from .fields import Fields

# The use that a function makes of an array; a program in the language does not say.
UNSAID, WRITTEN, READ = 0, 1, 2
NULL, TEXT, ARRAY, OBJECT = 0, 12, 13, 14
KINDS = {name: number for number, name in enumerate(
    "bool i8 u8 i16 u16 i32 u32 i64 u64 f32 f64".split(), start=1)}
COMPLEX = {"Complex64": "f32", "Complex128": "f64"}  # structs of two numbers of these types
ERROR = 'class "Error"'
TEXT_MARK = "'"  # in front of the one text that a parameter has


class Parameter(Fields):
    """A parameter of a function of a program, as the compiled part takes it."""

    kind: int
    element: int
    rank: int
    use: int
    is_python: bool
    type: str
    lanes: int = 1  # numbers in an element of an array

    def description(self):
        return (self.kind, self.element, self.rank, self.use, self.is_python, self.type,
                self.lanes)


def parameter(type_name, use=UNSAID, is_python=False):
    """The parameter of a type as the language writes it."""
    kind, element, rank, lanes = OBJECT, NULL, 0, 1
    if type_name in KINDS:
        kind = KINDS[type_name]
    elif type_name == "None" or type_name.startswith(TEXT_MARK):
        kind = NULL
    elif type_name == "str":
        kind = TEXT
    elif type_name.startswith("["):
        name, _, dimensions = type_name[1:-1].partition(", ")
        lanes = 1 + (name in COMPLEX)
        name = COMPLEX.get(name, name)
        if name in KINDS:
            kind, element, rank = ARRAY, KINDS[name], int(dimensions or 1)
    return Parameter(kind, element, rank, use, is_python, type_name, lanes)


def results(types, given=(), shape=None):
    """The layout by which results of these types are read. `given` has the position of the argument that each is, or
    None; `shape` says how they are composed, see ResultLayout."""
    types = list(types)
    has_error = bool(types) and types[0] == ERROR
    return {"arrays": [parameter(name).kind == ARRAY for name in types], "error": has_error,
            "given": [-1 if position is None else position for position in given], "shape": shape}


def split(text):
    """The types in a list, separated by commas outside of brackets and quotes."""
    types, depth, quoted, begin = [], 0, False, 0
    for position, character in enumerate(text):
        if character == '"':
            quoted = not quoted
        elif quoted:
            continue
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif character == "," and depth == 0:
            types.append(text[begin:position].strip())
            begin = position + 1
    last = text[begin:].strip()
    return types + [last] if last else types


def parse(signature):
    """The types of parameters and results."""
    depth, quoted = 0, False
    for position, character in enumerate(signature):
        if character == '"':
            quoted = not quoted
        elif not quoted:
            depth += (character in "([") - (character in ")]")
            if depth == 0:
                break
    given = signature[position + 1:].strip().removeprefix("->").strip()
    if given.startswith("("):
        given = given[1:-1]
    return split(signature[1:position]), split(given)
