# SPDX-License-Identifier: Apache-2.0
"""Results of whole arrays: new arrays, other elements, and numbers that combine all elements."""

from __future__ import annotations

from ..fields import replace
from . import complex_numbers, views
from .kernels import call_of
from .types import BOOL, INT, UNKNOWN, Array, Scalar, literal
from .values import NOTHING, Value


def new_array(expressions, node, value):
    """A new array with these elements."""
    if expressions.is_sequential:
        return scratch(expressions, node, value.type, _outer_sizes(value), value)
    def build(kernel):
        shape = kernel.shape(value)
        kernel.lines.append(f"let r = {value.type.text}({', '.join(shape)});")
        kernel.loop(shape, lambda indices: [f"r[{', '.join(indices)}] = {kernel.element(value, indices).text};"])
        return value.type, "r"

    return call_of(expressions, node, build)


def _outer_sizes(value):
    """The texts of the sizes of an array, a view or an expression; those of operands may still turn out to differ."""
    if value.elements is None:
        return list(views.sizes(value))
    found = ["1"] * value.type.rank
    for _, operand in value.elements.operands:
        shape = _outer_sizes(operand) if isinstance(operand.type, Array) else []
        for position, size in enumerate(shape, start=len(found) - len(shape)):
            found[position] = size if found[position] == "1" else found[position]
    return found


def scratch(expressions, node, kind, sizes, value):
    """An array of an iteration of a prange loop, with this value unless it is None."""
    found = expressions.statements.scratch(node, kind.element, list(sizes))
    if found is None:
        where = "a function that a prange loop calls" if not expressions.scope.in_parallel else "a prange loop"
        expressions.fail(node, f"{where} makes no arrays whose size is not known before the loop: make them before, "
                               "one row for each iteration, or write a loop over the elements")
    if value is not None:
        expressions.statements.emit(f"{store(expressions, node, found, value)};", node)
    return found


def store(expressions, node, target, value):
    """The text of a call that sets the elements of an array or view."""
    element = Scalar(target.type.element)

    def build(kernel):
        shape = kernel.shape(target)
        kernel.check_fits(shape, value)

        def line(indices):
            place, given = kernel.place(target, indices), kernel.element(value, indices)
            return [f"{place.text} = {given.as_type(element)};"]

        kernel.loop(shape, line)
        return None, ""

    return call_of(expressions, node, build).text


def leaves(value):
    """The arrays and views that an expression reads."""
    if not isinstance(value.type, Array):
        return []
    if value.elements is None:
        return [value]
    found = [leaf for _, operand in value.elements.operands for leaf in leaves(operand)]
    base = value.elements.base
    if base is not None:  # in an order of its own
        axes = tuple(replace(axis, step="?") for axis in views.of(base).axes)
        found.append(replace(base, view=replace(views.of(base), axes=axes)))
    return found


# ---- Numbers.

def _result(element_name, name):
    kind = Scalar(element_name)
    if name in ("min", "max"):
        return kind
    if name in ("any", "all"):
        return BOOL
    if name in ("argmin", "argmax"):
        return Scalar("i64")
    if name == "mean":
        return kind if kind.is_float or kind.is_complex else Scalar("f64")
    if kind == BOOL or kind.is_integer:
        return Scalar("u64" if element_name.startswith("u") else "i64")
    return kind


def reduction(expressions, node, name, value, axis=None):
    """a.sum() and its kin of an array, a view or an expression of them."""
    if value.type == UNKNOWN:
        return NOTHING
    if not isinstance(value.type, Array):
        expressions.fail(node, f"{name} is for arrays, and this is {value.type}")
    if name in ("min", "max") and Scalar(value.type.element) == BOOL:
        expressions.fail(node, f"{name} of bools: write any or all")
    if name in ("min", "max", "argmin", "argmax"):
        complex_numbers.check_real(value, name)
    if name == "cumsum":
        return _running_sum(expressions, node, value)
    if axis is not None:
        return _along(expressions, node, name, value, axis)
    return call_of(expressions, node, lambda kernel: _reduced(kernel, name, value))


def _reduced(kernel, name, value):
    """Adds the lines of the reduction of all elements; type and text of the result."""
    expressions, kind = kernel.expressions, _result(value.type.element, name)
    shape = kernel.shape(value)
    if name in ("min", "max", "argmin", "argmax"):
        return _extreme(kernel, name, value, shape, kind)
    if name in ("any", "all"):
        is_any = name == "any"
        kernel.lines.append(f"var s = {0 if is_any else 1};")
        kernel.loop(shape, lambda indices: [
            f"s {'|' if is_any else '&'}= ({kernel.element(value, indices).as_type(BOOL)} as i64);"],
            f"{'|' if is_any else '&'}: s")
        return kind, "s != 0"
    symbol = "*" if name == "prod" else "+"
    kernel.lines.append(f"var s: {kind.name} = {literal(symbol == '*', kind.name)};")
    operator, update = complex_numbers.accumulator(expressions, kind, symbol)
    kernel.loop(shape, lambda indices: [update("s", kernel.element(value, indices).as_type(kind))], f"{operator}: s")
    return kind, _mean(kind, shape) if name == "mean" else "s"


def _mean(kind, shape):
    count = " * ".join(shape)
    return f"s / {Value(f'({count})', INT).as_type(kind)}"


def _extreme(kernel, name, value, shape, kind):
    """The smallest or largest; NaN if there is one. For argmin and argmax where the first of them is."""
    name, is_index = name.removeprefix("arg"), name.startswith("arg")
    kernel.check(" && ".join(f"{size} > 0" for size in shape), f"{name} of an array without elements")
    element = _ordered(value.type.element)
    unit = kernel.expressions.unit
    kernel.lines.append(f"var s: {element.name} = {kernel.element(value, ['0'] * len(shape)).as_type(element)};")
    if kernel.is_sequential:
        helper = unit.helper({"min": "minimum", "max": "maximum"}[name], element.name)
        kernel.loop(shape, lambda indices: [f"s = {helper}(s, {kernel.element(value, indices).as_type(element)});"])
    else:
        kernel.lines.append("var unordered = 0;")
        kernel.loop(shape, lambda indices: [
            f"let x = {kernel.element(value, indices).as_type(element)};", f"s = {unit.module('math')}.{name}(s, x);",
            *["unordered |= ((x != x) as i64);"] * element.is_float],
                    f"{name}: s" + ", |: unordered" * element.is_float)
        if element.is_float:
            kernel.lines.append(f"if unordered != 0 {{ s = {element.name}.nan; }}")
    if not is_index:
        return kind, "s"
    kernel.lines.append("var place = i64.max;")

    def line(indices):
        place = indices[0]
        for size, index in zip(shape[1:], indices[1:]):
            place = f"({place}) * {size} + {index}"
        return [f"let x = {kernel.element(value, indices).as_type(element)};",
                f"place = {unit.module('math')}.min(place, if x == s || (s != s && x != x) {{ {place} }} else "
                "{ i64.max });"]

    kernel.loop(shape, line, "min: place")
    return kind, "place"


def _ordered(name):
    """The type in which elements of the type with that name are compared: bools have no order in the language."""
    return Scalar("i8") if name == "bool" else Scalar(name)


def _along(expressions, node, name, value, axis):
    """The numbers along one dimension, as an array of the others."""
    rank = value.type.rank
    if not -rank <= axis < rank:
        expressions.fail(node, f"the array has {rank} dimensions: there is no axis {axis}")
    axis %= rank
    if rank == 1:
        return reduction(expressions, node, name, value)
    if expressions.is_sequential:
        expressions.fail(node, f"in a prange loop {name} along an axis cannot be compiled: write a loop")
    return call_of(expressions, node, lambda kernel: _reduced_along(kernel, name, value, axis))


def _reduced_along(kernel, name, value, axis):
    """Adds the lines of the reductions along an axis; type and text of the result."""
    expressions, kind = kernel.expressions, _result(value.type.element, name)
    shape = kernel.shape(value)
    others = [size for position, size in enumerate(shape) if position != axis]
    if name in ("min", "max", "argmin", "argmax"):
        kernel.check(f"{shape[axis]} > 0", f"{name} of an array without elements")
    result = Array(kind.name, value.type.rank - 1)
    kernel.lines.append(f"let r = {result.text}({', '.join(others)});")

    def lines(indices):
        def at(index):
            return kernel.element(value, [*indices[:axis], index, *indices[axis:]])

        start, update, last = _line_of(expressions, name, kind, value.type.element, at)
        if name == "mean":
            last = _mean(kind, [shape[axis]])
        return [*start, f"for n in 0..{shape[axis]} {{ {update} }}", f"r[{', '.join(indices)}] = {last};"]

    kernel.loop(others, lines)
    return result, "r"


def _line_of(expressions, name, kind, element, at):
    """The reduction of the elements `at("n")` one after the other: lines before, the update for each, the result."""
    if name in ("any", "all"):
        symbol = "||" if name == "any" else "&&"
        return [f"var s = {'false' if name == 'any' else 'true'};"], f"s = s {symbol} {at('n').as_type(BOOL)};", "s"
    if name in ("argmin", "argmax"):
        # The first of them; NaN comes before all numbers.
        symbol, own = "<" if name == "argmin" else ">", _ordered(element)
        test = f"x {symbol} s" + " || (x != x && s == s)" * own.is_float
        return [f"var s: {own.name} = {at('0').as_type(own)};", "var place = 0;"], \
            f"let x = {at('n').as_type(own)}; if {test} {{ s = x; place = n; }}", "place"
    if name in ("min", "max"):
        helper = expressions.unit.helper({"min": "minimum", "max": "maximum"}[name], kind.name)
        return [f"var s: {kind.name} = {at('0').as_type(kind)};"], f"s = {helper}(s, {at('n').as_type(kind)});", "s"
    symbol = "*" if name == "prod" else "+"
    return [f"var s: {kind.name} = {literal(symbol == '*', kind.name)};"], \
        f"s {symbol}= {at('n').as_type(kind)};", "s"


def _running_sum(expressions, node, value):
    if value.type.rank != 1 or expressions.is_sequential:
        expressions.fail(node, "cumsum is for arrays of one dimension, outside of prange loops: write a loop")
    kind = _result(value.type.element, "sum")
    result = Array(kind.name, 1)

    def build(kernel):
        (size,) = kernel.shape(value)
        kernel.lines += [f"let r = {result.text}({size});", f"var s: {kind.name} = {literal(0, kind.name)};",
                         f"for i in 0..{size} {{", f"s += {kernel.element(value, ['i']).as_type(kind)};", "r[i] = s;",
                         "}"]
        return result, "r"

    return call_of(expressions, node, build)


def sizes(expressions, node, value):
    """The texts of the sizes of any array."""
    return views.sizes(new_array(expressions, node, value) if value.elements is not None else value)
