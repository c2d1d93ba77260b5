# SPDX-License-Identifier: Apache-2.0
"""Functions of the language for lists, with what Python says of places below 0 and beyond the end."""

from __future__ import annotations

from .types import Array, List, Tuple, Unconvertible
from .values import Value

_TEXTS = {
    "with_item": """fn NAME(xs: List<T>, x: T) -> List<T> {
    xs.push(x);
    return xs;
}""",
    "joined": """fn NAME(xs: List<T>, ys: List<T>) -> List<T> {
    let r = xs.copy();
    r.append(ys);
    return r;
}""",
    "repeated": """fn NAME(xs: List<T>, n: i64) -> List<T> {
    let r = List<T>();
    for _ in 0..n { r.append(xs); }
    return r;
}""",
    "range": """fn NAME(begin: i64, end: i64, by: i64) -> List<T> {
    assert(by != 0, "ValueError: range() arg 3 must not be zero");
    let r = List<T>();
    var i = begin;
    while if by > 0 { i < end } else { i > end } {
        r.push(i);
        i += by;
    }
    return r;
}""",
    "insert": """fn NAME(xs: List<T>, i: i64, x: T) {
    let k = if i < 0 { i + xs.len() } else { i };
    xs.insert(if k < 0 { 0 } else { if k > xs.len() { xs.len() } else { k } }, x);
}""",
    "pop": """fn NAME(xs: List<T>, i: i64) -> T {
    let k = if i < 0 { i + xs.len() } else { i };
    if xs.len() == 0 { trap("IndexError: pop from empty list"); }
    if k < 0 || k >= xs.len() { trap("IndexError: pop index out of range"); }
    return if k == xs.len() - 1 { xs.pop() } else { xs.remove(k) };
}""",
    "assign": """fn NAME(xs: List<T>, items: [T]) {
    xs.clear();
    xs.append_array(items);
}""",
    "part": """fn NAME(xs: List<T>, has_begin: bool, begin: i64, has_end: bool, end: i64, by: i64) -> List<T> {
    let n = xs.len();
    let low = if by > 0 { 0 } else { -1 };
    let high = if by > 0 { n } else { n - 1 };
    var i = if begin < 0 { begin + n } else { begin };
    var last = if end < 0 { end + n } else { end };
    i = if !has_begin { if by > 0 { low } else { high } } else {
        if i < low { low } else { if i > high { high } else { i } } };
    last = if !has_end { if by > 0 { high } else { low } } else {
        if last < low { low } else { if last > high { high } else { last } } };
    let r = List<T>();
    while if by > 0 { i < last } else { i > last } {
        r.push(xs[i]);
        i += by;
    }
    return r;
}""",
    "find": """fn NAME(xs: List<T>, x: X) -> i64 {
    for i in 0..xs.len() { if SAME { return i; } }
    return -1;
}""",
    "has": """fn NAME(xs: List<T>, x: X) -> bool => FIND(xs, x) >= 0;""",
    "index": """fn NAME(xs: List<T>, x: X) -> i64 {
    let i = FIND(xs, x);
    if i < 0 { trap("ValueError: this is not in the list"); }
    return i;
}""",
    "remove": """fn NAME(xs: List<T>, x: X) {
    let i = FIND(xs, x);
    if i < 0 { trap("ValueError: list.remove(x): x not in list"); }
    let _ = xs.remove(i);
}""",
    "count": """fn NAME(xs: List<T>, x: X) -> i64 {
    var n = 0;
    for i in 0..xs.len() { if SAME { n += 1; } }
    return n;
}""",
}


def name(expressions, what, element, other=None):
    """The name of this function for lists of such elements; `other` is the type of a number that is looked for."""
    unit = expressions.unit
    kind = unit.type_text(element)
    unit.module("list")
    what, is_of_tuples = what.removesuffix("_tuple"), what.endswith("_tuple")
    text = _TEXTS[what]
    own = f"_list_{what}_{_word(kind)}"
    given = kind
    if "X" in text.replace("NAME", "") and what in ("find", "has", "index", "remove", "count"):
        given = kind if is_of_tuples else other.name
        own += f"_{_word(given)}"
        if "FIND" in text:
            name(expressions, "find_tuple" if is_of_tuples else "find", element, other)
    same = " && ".join(f"xs[i].x{k} == x.x{k}" for k in range(len(element.items))) if is_of_tuples else \
        f"{Value('xs[i]', element).as_type(other)} == x" if other is not None else ""
    found = own.replace(f"_list_{what}_", "_list_find_")
    text = text.replace("NAME", own).replace("FIND", found).replace("SAME", same).replace(": X", f": {given}")
    return unit.function(own, text.replace("<T>", f"<{kind}>").replace("[T]", f"[{kind}]").replace(
        ": T)", f": {kind})").replace("-> T ", f"-> {kind} "))


def _word(text):
    for mark, word in (("<", "_of_"), (">", ""), ("[", "array_"), ("]", ""), (", ", "_")):
        text = text.replace(mark, word)
    return text


def converted(expressions, text, given, wanted):
    """The text of a list with the elements of another one, as another type."""
    unit = expressions.unit
    kinds = [unit.type_text(kind.element) for kind in (given, wanted)]
    own = f"_list_as_{'_'.join(map(_word, kinds))}"
    inner = "xs[i]"
    if isinstance(wanted.element, List):
        inner = converted(expressions, inner, given.element, wanted.element)
    elif isinstance(wanted.element, Tuple):
        parts = [Value(f"xs[i].x{k}", item).as_type(kind) for k, (item, kind) in enumerate(
            zip(given.element.items, wanted.element.items))]
        inner = f"{kinds[1]}({', '.join(parts)})"
    else:
        inner = Value(inner, given.element).as_type(wanted.element)
    body = f"fn {own}(xs: List<{kinds[0]}>) -> List<{kinds[1]}> {{\n    let r = List<{kinds[1]}>();\n" \
           f"    for i in 0..xs.len() {{ r.push({inner}); }}\n    return r;\n}}"
    return f"{unit.function(own, body)}({text})"


_ROWS = """fn {0}(found: List<{1}>) -> {2} {{
    let r = {2}(found.len(), {3});
    for i in 0..found.len() {{ {4} }}
    return r;
}}"""


def rows(expressions, value, common):
    """An array of two dimensions with the tuples of a list as its rows."""
    kinds = value.type.element.items
    struct, result = expressions.unit.struct(value.type.element), Array(common.name, 2)
    own = f"_rows_{struct}_{common.name}"
    cells = " ".join(f"r[i, {k}] = {Value(f'found[i].x{k}', kind).as_type(common)};" for k, kind in enumerate(kinds))
    return Value(f"{expressions.unit.function(own, _ROWS.format(own, struct, result.text, len(kinds), cells))}"
                 f"({value.text})", result)


_TABLE = """fn {0}(found: List<{3}>) -> {2} {{
    let r = {2}(found.len(), if found.len() > 0 {{ found[0].{4} }} else {{ 0 }});
    for i in 0..found.len() {{
        assert(found[i].{4} == r.dim(1), "ValueError: the lists in a list have different lengths");
        for j in 0..r.dim(1) {{ r[i, j] = found[i][j]; }}
    }}
    return r;
}}"""


def table(expressions, value):
    """An array of two dimensions with the lists or arrays of a list as its rows."""
    inner = value.type.known.element
    is_array = isinstance(inner, Array)
    if isinstance(inner.element, (Array, List, Tuple)) or (is_array and inner.rank > 1):
        raise Unconvertible("an array is made of numbers, or of a list of lists or rows of numbers: write a loop")
    name = inner.element if is_array else inner.element.name
    result, kind = Array(name, 2), expressions.unit.type_text(inner)
    own = f"_table_{_word(kind)}"
    text = _TABLE.format(own, name, result.text, kind, "len" if is_array else "len()")
    return Value(f"{expressions.unit.function(own, text)}({value.text})", result)


_JOINED = """fn {0}(found: List<[{1}]>) -> [{1}] {{
    assert(found.len() > 0, "ValueError: need at least one array to concatenate");
    let r = List<{1}>();
    for i in 0..found.len() {{ r.append_array(found[i]); }}
    return r.to_array();
}}"""


def joined(expressions, value):
    """All elements of the arrays in a list, as one array."""
    element = value.type.known.element.element
    own = f"_list_joined_arrays_{element}"
    return Value(f"{expressions.unit.function(own, _JOINED.format(own, element))}({value.text})", Array(element, 1))


_COLUMN = """fn {0}(found: List<{1}>) -> [{2}] {{
    let r = [{2}](found.len());
    for i in 0..found.len() {{ r[i] = found[i].x{3}; }}
    return r;
}}"""
_LENGTHS = """fn {0}(found: List<List<{1}>>) -> [i64] {{
    let r = [i64](found.len());
    for i in 0..found.len() {{ r[i] = found[i].len(); }}
    return r;
}}"""
_FLAT_ARRAYS = """fn {0}(found: List<{1}>) -> [{2}] {{
    let r = List<{2}>();
    for i in 0..found.len() {{
        let a = found[i];
        {3}
    }}
    return r.to_array();
}}"""
_SHAPES = """fn {0}(found: List<{1}>) -> [i64, 2] {{
    let r = [i64, 2](found.len(), {2});
    for n in 0..found.len() {{ {3} }}
    return r;
}}"""
_FLAT = """fn {0}(found: List<List<{1}>>) -> [{1}] {{
    let r = List<{1}>();
    for i in 0..found.len() {{ r.append(found[i]); }}
    return r.to_array();
}}"""


def parts(expressions, value):
    """The texts of the arrays that Python gets for a list: see dhpvm.results."""
    element, unit = value.type.known.element, expressions.unit
    if isinstance(element, Array):
        found = _parts_of_arrays(unit, element)
    elif isinstance(element, List):
        inner = element.known.element.name
        found = [unit.function(f"_list_flat_{inner}", _FLAT.format(f"_list_flat_{inner}", inner)),
                 unit.function(f"_list_lengths_{inner}", _LENGTHS.format(f"_list_lengths_{inner}", inner))]
    elif isinstance(element, Tuple):
        struct = unit.struct(element)
        found = [unit.function(f"_list_column_{struct}_{k}", _COLUMN.format(
            f"_list_column_{struct}_{k}", struct, kind.name, k)) for k, kind in enumerate(element.items)]
    else:
        return [f"{value.text}.to_array()"]
    return [f"{each}({value.text})" for each in found]


def _parts_of_arrays(unit, kind):
    """The functions that give all elements of the arrays in a list, and their shapes."""
    indices = "ijk"[:kind.rank]
    loops = " ".join(f"for {index} in 0..{'a.len' if kind.rank == 1 else f'a.dim({axis})'} {{"
                     for axis, index in enumerate(indices))
    body = f"{loops} r.push(a[{', '.join(indices)}]); {'}' * kind.rank}"
    sizes = " ".join(f"r[n, {axis}] = found[n].{'len' if kind.rank == 1 else f'dim({axis})'};"
                     for axis in range(kind.rank))
    own = _word(kind.text)
    return [unit.function(f"_list_flat_{own}", _FLAT_ARRAYS.format(f"_list_flat_{own}", kind.text, kind.element, body)),
            unit.function(f"_list_shapes_{own}", _SHAPES.format(f"_list_shapes_{own}", kind.text, kind.rank, sizes))]
