# SPDX-License-Identifier: Apache-2.0
"""Functions of the language that a function of Python calls for its expressions of whole arrays."""

from __future__ import annotations

from dataclasses import replace

from . import views
from .types import INT, Array, text
from .values import Value

DIFFERENT = ("arrays of different shapes cannot be combined; a dimension of size 1 stretches if it is written as one, "
             "a[:, 0][:, None]")


class Kernel:
    """Loops over the elements of arrays. Operands are parameters, so that each is evaluated once.

    In a prange loop its own loops run one after the other, and what does not fit is an index beyond the array: a
    parallel loop has no texts for errors."""

    def __init__(self, expressions, node):
        self.expressions, self.node = expressions, node
        self.is_sequential = expressions.is_sequential
        self.lines = []
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
            return self.expressions.of_elements(value.elements.node, given)
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
                self.check(f"{found[position]} == {size}", DIFFERENT)

    def check_fits(self, shape, value):
        """Emits a check that a value fits into an array of this shape."""
        self._fit(list(shape), self._shape(value))

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
        parameters = ", ".join(f"{name}: {text(given)}" for name, given in self._parameters.values())
        head = f"({parameters})" + (f" -> {text(kind)}" if kind else "")
        lines = self.lines + ([f"return {result};"] if result else [])
        name = self.expressions.unit.kernel(self.expressions.version, self.node, head, lines)
        return Value(f"{name}({', '.join(self._parameters)})", kind)
