# SPDX-License-Identifier: Apache-2.0
"""Views: elements of an array under other indices, as rows, slices and transposed arrays have them."""

from __future__ import annotations

import ast
import re

from ..fields import Fields, replace
from . import optionals, places
from .types import UNKNOWN, Array, Scalar
from .values import Value


class Axis(Fields):
    """A dimension of a view: its element i is at begin + i * step in a dimension of the array. An axis without one is
    new, and stretches to any size. A step is a number, or the text of one."""

    dimension: int | None
    size: str
    begin: str = "0"
    step: int | str = 1

    def place(self, index):
        scaled = index if self.step == 1 else f"{index} * {self.step}"
        return scaled if self.begin == "0" else f"{self.begin} + {scaled}"

    def mapped(self, function):
        """The axis with other texts for its numbers."""
        if self.dimension is None:
            return self
        step = function(self.step) if isinstance(self.step, str) else self.step
        return replace(self, size=function(self.size), begin=function(self.begin), step=step)

    def with_text(self):
        """The axis with a step beyond 2 as a text: a function that calls itself with x[::2] has a few versions."""
        return self if isinstance(self.step, str) or abs(self.step) <= 2 else replace(self, step=str(self.step))

    def count(self):
        """The number of texts."""
        return 0 if self.dimension is None else 2 + isinstance(self.step, str)


class View(Fields):
    """The dimensions of the view, and the texts of the indices at which other dimensions of the array stay."""

    rank: int
    axes: tuple
    fixed: tuple = ()

    def place(self, indices):
        """The texts of the array's indices for those of the view."""
        found = dict(self.fixed)
        found.update((axis.dimension, axis.place(index)) for axis, index in zip(self.axes, indices))
        return [found[dimension] for dimension in range(self.rank)]


def of(value):
    """The view that an array or view is."""
    if value.view is not None:
        return value.view
    rank = value.type.rank
    sizes = [f"{value.text}.len"] if rank == 1 else [f"{value.text}.dim({i})" for i in range(rank)]
    return View(rank, tuple(Axis(i, size) for i, size in enumerate(sizes)))


def sizes(value):
    """The texts of the sizes of an array or view."""
    return tuple(axis.size for axis in of(value).axes)


def at(value, indices):
    """The element with these texts of indices, or the row if there are fewer than dimensions."""
    view = of(value)
    if len(indices) == len(view.axes):
        return Value(f"{value.text}[{', '.join(view.place(indices))}]", Scalar(value.type.element))
    return inside(value, indices)


def inside(value, indices):
    """The view under these texts of indices."""
    view = of(value)
    fixed = [(axis.dimension, axis.place(index)) for axis, index in zip(view.axes, indices)
             if axis.dimension is not None]
    return _made(value, view.axes[len(indices):], view.fixed + tuple(fixed))


def _made(value, axes, fixed):
    """The view with these axes; the array itself if these are all elements in their order."""
    plain = replace(value, type=Array(value.type.element, of(value).rank), view=None)
    view = View(of(value).rank, tuple(axes), fixed)
    return plain if view == of(plain) else replace(plain, type=Array(value.type.element, len(axes)), view=view)


def transposed(value):
    view = of(value)
    return _made(value, tuple(reversed(view.axes)), view.fixed)


def permuted(value, order):
    """The view whose axes are those of the array in this order."""
    view = of(value)
    return _made(value, [view.axes[axis] for axis in order], view.fixed)


def with_new_axis(value, position):
    """a[:, None], for example."""
    axes = list(of(value).axes)
    axes.insert(position, Axis(None, "1"))
    return _made(value, axes, of(value).fixed)


def check_repeatable(expressions, node, text):
    """The bounds of a view are evaluated in several places: they may not call functions of the user."""
    if re.search(r"__\d+\(", text):
        expressions.fail(node, "give the result of the function a name first: t = ...")


def is_new_axis(expressions, node):
    if isinstance(node, ast.Constant):
        return node.value is None
    try:
        return isinstance(node, ast.Attribute) and expressions.source.meaning(node, expressions.scope.names()) is None
    except LookupError:
        return False


def subscript(expressions, node, value):
    """value[...] with integers, slices and new axes."""
    found = selected(expressions, node, value)
    if found.view is not None and not found.view.axes:
        return at(found, ())
    check_repeatable(expressions, node, value.text)
    return found


def selected(expressions, node, value):
    """value[...] as a view, even if it is one element."""
    given = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    view = of(value)
    ellipsis = [i for i, each in enumerate(given) if isinstance(each, ast.Constant) and each.value is Ellipsis]
    used = sum(not is_new_axis(expressions, each) for each in given) - len(ellipsis)
    if used > len(view.axes):
        expressions.fail(node, f"there are {used} indices, and the array has {len(view.axes)} dimensions")
    if ellipsis:
        given[ellipsis[0]:ellipsis[0] + 1] = [ast.Slice()] * (len(view.axes) - used)
    axes, fixed, left = [], list(view.fixed), list(view.axes)
    for each in given:
        if is_new_axis(expressions, each):
            axes.append(Axis(None, "1"))
            continue
        axis = left.pop(0)
        if isinstance(each, ast.Slice):
            axes.append(_slice(expressions, node, each, axis))
            continue
        index = _index(expressions, each, axis.size)
        if axis.dimension is not None:
            fixed.append((axis.dimension, axis.place(index)))
    if len(axes) + len(left) > 3:
        expressions.fail(node, "arrays have 1 to 3 dimensions")
    return _made(value, axes + left, tuple(fixed))


def _index(expressions, node, size):
    value = expressions.value(node)
    if optionals.is_number(value):
        value = optionals.number(expressions, value)
    if value.type == UNKNOWN:
        return "0"
    if isinstance(value.type, Array):
        expressions.fail(node, "an array as an index cannot be compiled: write a loop over the elements")
    if value.items:
        expressions.fail(node, "give the tuple of indices a name first, k = .., and write a[k]")
    if not isinstance(value.type, Scalar) or not value.type.is_integer:
        expressions.fail(node, f"an index is an integer, and this is {value.type}: write int(...)")
    if value.is_constant and value.constant < 0:
        return f"({size} - {-value.constant})"
    return value.text if value.is_constant else places.from_end(expressions, node, value, size)


def _slice(expressions, node, given, axis):
    """The part of an axis; bounds beyond the array are cut off, as in Python."""
    if axis.dimension is None:
        expressions.fail(node, "a new axis cannot be sliced")
    step = _step(expressions, given.step)
    if given.lower is None and given.upper is None and step == 1:
        return axis
    begin = _bound(expressions, given.lower, axis.size, step, _by_sign(step, "0", f"{axis.size} - 1"))
    end = _bound(expressions, given.upper, axis.size, step, _by_sign(step, axis.size, "-1"))
    size = f"{expressions.unit.helper('range_len', 'i64')}({begin}, {end}, {step})"
    place = axis.place(f"({begin})" if " " in begin else begin)
    is_text = isinstance(step, str) or isinstance(axis.step, str)
    return Axis(axis.dimension, size, place, f"({axis.step} * {step})" if is_text else axis.step * step)


def _step(expressions, node):
    """A number if it is known, else its text."""
    if node is None:
        return 1
    step = expressions.scalar(node)
    if not step.is_constant:
        text = expressions.integer(node)
        check_repeatable(expressions, node, text)
        return text
    if not isinstance(step.constant, int) or step.constant == 0:
        expressions.fail(node, "the step of a slice is an integer, and not 0")
    return step.constant


def _by_sign(step, upwards, downwards):
    if isinstance(step, int):
        return upwards if step > 0 else downwards
    return f"(if {step} > 0 {{ {upwards} }} else {{ {downwards} }})"


def _bound(expressions, node, size, step, default):
    if node is None or (isinstance(node, ast.Constant) and node.value is None):
        return default
    bound = expressions.integer(node)
    check_repeatable(expressions, node, bound)
    return f"{expressions.unit.helper('slice_bound', 'i64')}({bound}, {size}, {step})"


def base_of(node):
    """The name of the array that an element or view is named by; None if there is none."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node if isinstance(node, ast.Name) else None


class PassedView(Fields):
    """The type of a parameter that is a view: the array is passed, and the texts of indices and sizes as numbers, which
    `view` has as their positions behind it."""

    element: str
    view: View

    def __str__(self):
        return f"view of an {Array(self.element, self.view.rank)}"

    @property
    def count(self):
        """The number of numbers."""
        return sum(axis.count() for axis in self.view.axes) + len(self.view.fixed)

    def names(self, name):
        return [f"_{name}_{position}" for position in range(self.count)]

    def value(self, name):
        """The view in the function that has the parameter."""
        names = self.names(name)
        axes = tuple(axis.mapped(lambda place: names[int(place)]) for axis in self.view.axes)
        fixed = tuple((dimension, names[int(place)]) for dimension, place in self.view.fixed)
        return Value(name, Array(self.element, len(axes)), view=replace(self.view, axes=axes, fixed=fixed))


def passed(value):
    """The type of a view as a parameter, and the texts that are passed behind the array."""
    texts = []

    def position(text):
        texts.append(text)
        return str(len(texts) - 1)

    axes = tuple(axis.with_text().mapped(position) for axis in value.view.axes)
    fixed = tuple((dimension, position(text)) for dimension, text in value.view.fixed)
    return PassedView(value.type.element, replace(value.view, axes=axes, fixed=fixed)), texts
