# SPDX-License-Identifier: Apache-2.0
"""Functions of the language that a function of Python calls for its expressions of whole arrays."""

from __future__ import annotations

from ..fields import replace
from . import views
from .types import INT, Array, text
from .values import Value

DIFFERENT = "arrays of different shapes cannot be combined: each dimension has one size, or 1 in one of them"


class Kernel:
    """Loops over the elements of arrays. Operands are parameters, so that each is evaluated once.

    In a prange loop its own loops run one after the other, and what does not fit is an index beyond the array: a
    parallel loop has no texts for errors.

    Sizes are compared first. Where they differ, another function with the same parameters takes over, in which
    dimensions of size 1 stretch: `call_of` makes both, so that indices stay simple where sizes are the same."""

    def __init__(self, expressions, node, stretches=False):
        self.expressions, self.node, self.stretches = expressions, node, stretches
        self.is_sequential = expressions.is_sequential
        self.lines = []
        self.same = []  # what holds unless a dimension stretches
        self._steps = {}  # by the text of a size that may be 1 where others are larger: 0 or 1
        self._parameters = {}  # by the text of the argument
        self._known = {}  # texts of the function by those of the caller
        self._arrays = []

    # ---- Arguments.

    def array(self, value):
        """The name of the array that a value is a view of."""
        if value.text not in self._parameters:
            kind = Array(value.type.element, views.of(value).rank)
            name = self._parameter(value.text, kind)
            self._arrays.append((name, kind))
            plain = Value(value.text, kind)
            self._known.update(zip(views.sizes(plain), views.sizes(Value(name, kind))))
        return self._parameters[value.text][0]

    def number(self, value):
        """A number of the caller."""
        if value.is_constant:
            return value
        return Value(self._parameter(value.text, value.type), value.type)

    def text(self, text):
        """An index or a size of the caller."""
        if text.lstrip("-").isdigit():
            return text
        return self._known.get(text) or self._parameter(text, INT)

    def _parameter(self, argument, kind):
        if argument not in self._parameters:
            self._parameters[argument] = (f"p{len(self._parameters)}", kind)
        return self._parameters[argument][0]

    # ---- Elements and shapes.

    def element(self, value, indices):
        """The element of an array, a view or an expression of them; of arrays with fewer dimensions the last ones
        count. A number is one for all."""
        if not isinstance(value.type, Array):
            return self.number(value)
        indices = indices[len(indices) - value.type.rank:]
        if value.elements is not None:
            given = {node: self.element(each, indices) for node, each in value.elements.operands}
            if value.elements.base is not None:
                return self._chosen(value.elements.base, *given.values())
            return self.expressions.of_elements(value.elements.node, given)
        inside = self._inside(value)
        steps = [self._steps.get(axis.size) for axis in inside.view.axes]
        return views.at(inside, [f"({index} * {step})" if step else index for index, step in zip(indices, steps)])

    def _chosen(self, base, index):
        """The element of an array of one dimension at an index, which may count from the end."""
        inside = self._inside(base)
        text = index.as_type(INT)
        if not index.type.name.startswith("u"):
            text = f"{self.expressions.unit.helper('from_end', 'i64')}({text}, {inside.view.axes[0].size})"
        return views.at(inside, [text])

    def place(self, value, indices):
        """The element of an array that is written."""
        return views.at(self._inside(value), indices)

    def _inside(self, value):
        """The same view of the parameter."""
        name = self.array(value)
        view = views.of(value)
        axes = tuple(replace(axis, size="") if axis.dimension is None else axis.mapped(self.text)
                     for axis in view.axes)
        fixed = tuple((dimension, self.text(index)) for dimension, index in view.fixed)
        return Value(name, value.type, view=views.View(view.rank, axes, fixed))

    def shape(self, value):
        """The texts of its sizes; emits a check that those of all operands fit."""
        return [size or "1" for size in self._shape(value)]

    def _shape(self, value):
        if not isinstance(value.type, Array):
            return []
        if value.elements is None:
            return [axis.size for axis in self._inside(value).view.axes]
        found = [""] * value.type.rank
        for _, operand in value.elements.operands:
            self._fit(found, self._shape(operand))
        return found

    def _fit(self, found, shape):
        for position, size in enumerate(shape, start=len(found) - len(shape)):
            if not found[position]:
                found[position] = size
            elif size and size != found[position]:
                found[position] = self._common(found[position], size)

    def _common(self, one, other):
        """The size of a dimension that has both sizes."""
        if self.is_sequential:
            self.check(f"{one} == {other}", DIFFERENT)
        elif not self.stretches:
            self.same.append(f"{one} == {other}")
        else:
            common = f"d{len(self.lines)}"
            self.lines.append(f"let {common} = if {one} == 1 {{ {other} }} else {{ {one} }};")
            self.check(f"{other} == {common} || {other} == 1", DIFFERENT)
            self._may_stretch(one)
            self._may_stretch(other)
            return common
        return one

    def _may_stretch(self, size):
        if size not in self._steps and not size.startswith("d"):
            self._steps[size] = f"s{len(self.lines)}"
            self.lines.append(f"let {self._steps[size]} = if {size} == 1 {{ 0 }} else {{ 1 }};")

    def check_fits(self, shape, value):
        """Emits a check that a value fits into an array of this shape."""
        if not self.stretches:
            self._fit(list(shape), self._shape(value))
            return
        given = self._shape(value)
        for size, wanted in zip(given, shape[len(shape) - len(given):]):
            if size and size != wanted:
                self.check(f"{size} == {wanted} || {size} == 1", DIFFERENT)
                self._may_stretch(size)

    def check(self, condition, message):
        if not self.is_sequential:
            self.lines.append(f'assert({condition}, "ValueError: {message}");')
        else:
            name, kind = self._arrays[0]
            beyond = [f"{name}.dim({axis})" if kind.rank > 1 else f"{name}.len" for axis in range(kind.rank)]
            self.lines.append(f"if !({condition}) {{ let _ = {name}[{', '.join(beyond)}]; }}")

    # ---- The function.

    def loop(self, shape, body, reductions=""):
        """Adds a loop over all elements. `body(indices)` gives the lines for one."""
        indices = ["i", "j", "k"][:len(shape)]
        ranges = [f"{index} in 0..{size}" for index, size in zip(indices, shape)]
        if self.is_sequential:
            self.lines += [f"for {each} {{" for each in ranges] + body(indices) + ["}"] * len(ranges)
            return
        self.lines += self.expressions.unit.hints
        self.lines += [f"parallel for {', '.join(ranges)}{reductions and f' reduce({reductions})'} {{", *body(indices),
                       "}"]

    def call(self, kind=None, result=""):
        """The value of a call of the function with these lines; `result` is what it returns."""
        return Value(f"{self.name(kind, result)}({', '.join(self._parameters)})", kind)

    def name(self, kind, result):
        """The name of the function."""
        parameters = ", ".join(f"{name}: {text(given)}" for name, given in self._parameters.values())
        head = f"({parameters})" + (f" -> {text(kind)}" if kind else "")
        lines = self.lines + ([f"return {result};"] if result else [])
        return self.expressions.unit.kernel(self.expressions.version, self.node, head, lines)

    def begin_with(self, other, kind):
        """Lets another function with the same parameters take over where sizes differ."""
        call = f"{other}({', '.join(name for name, _ in self._parameters.values())})"
        taken = f"return {call};" if kind else f"{call}; return;"
        self.lines.insert(0, f"if !({' && '.join(dict.fromkeys(self.same))}) {{ {taken} }}")


def call_of(expressions, node, build):
    """The value of a call of the function whose lines `build(kernel)` adds. It gives the type and the text of the
    result; none, where there is no result."""
    kernel = Kernel(expressions, node)
    kind, result = build(kernel)
    if kernel.same:
        wide = Kernel(expressions, node, stretches=True)
        wide_kind, wide_result = build(wide)
        kernel.begin_with(wide.name(wide_kind, wide_result), kind)
    return kernel.call(kind, result)
