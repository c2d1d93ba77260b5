# SPDX-License-Identifier: Apache-2.0
"""Assignments to elements and views of arrays, and to what conditions and indices select."""

from __future__ import annotations

import ast
import re

from . import complex_numbers, dicts, lists, optionals, records, selections, views, whole
from .types import UNKNOWN, Array, Dict, List, Scalar
from .values import quoted


class Stores:
    """The part of Statements that stores in arrays."""

    def _store_element(self, target, value, node):
        if optionals.is_number(value):
            value = optionals.number(self.expressions, value)
        if isinstance(self.expressions.value(target.value).type, List):
            lists.store_item(self, target, value, node)
            return
        if isinstance(self.expressions.value(target.value).type, Dict):
            dicts.store_item(self, target, value, node)
            return
        target = self.expressions.with_indices(target)
        if self._store_chosen(target, self._as_array(value, node) if self._selects(target) else value):
            return
        mask = selections.condition(self.expressions, target)
        if mask is not None:
            self._store_selected(target, *selections.new_elements(self.expressions, target, mask, value))
            return
        place = self.expressions.value(target)
        if UNKNOWN in (place.type, value.type):
            return
        self._note_written(target)
        if records.is_record(place):
            self._store_record(target, place, value, node)
        elif value.items and isinstance(place.type, Array) and place.type.rank == 1 and \
                all(isinstance(item.type, Scalar) for item in value.items):
            self._store_row(target, place, value, node)
        elif isinstance(place.type, Array):
            self._store_elements(target, place, value, node)
        elif not isinstance(value.type, Scalar):
            self.source.fail(node, f"a number is needed here, and this is {value.type}")
        else:
            self.emit(f"{place.text} = {value.as_type(place.type)};", target)

    def _store_row(self, target, place, value, node):
        """a[i] = x, y: a row of two elements."""
        items, size = [self.kept(item, node) for item in value.items], views.sizes(place)[0]
        self.emit(f'assert({size} == {len(items)}, "ValueError: {len(items)} values for a row of another size");', node)
        for position, item in enumerate(items):
            element = ast.copy_location(ast.Subscript(target, ast.Constant(position), ast.Store()), target)
            self._store_element(ast.fix_missing_locations(element), item, node)

    def _store_record(self, target, place, value, node):
        """p[i] = q[j]."""
        if not records.is_record(value) or value.type.names != place.type.names or place.type.rank or value.type.rank:
            self.source.fail(node, "a record is set to another one with the same fields; set its fields one by one")
        for name in place.type.names:
            to, of = (records.field(self.expressions, target, each, name) for each in (place, value))
            self.emit(f"{to.text} = {of.as_type(to.type)};", target)

    def _selects(self, target):
        """Whether arrays are among the indices."""
        if isinstance(target.slice, ast.Tuple):
            return bool(self.expressions.array_indices(target))
        return not isinstance(target.slice, (ast.Slice, ast.Constant)) and isinstance(
            self.expressions.index(target.slice).type, Array)

    def _as_array(self, value, node):
        """The numbers of a tuple as an array; other values are returned as they are."""
        return self.expressions.array_of(node, value.items) if value.items and not records.is_record(value) else value

    def _store_chosen(self, target, value):
        """a[order] = b, a[a > 0] = b; False if it is something else."""
        if isinstance(target.slice, ast.Tuple):
            return self._store_under_arrays(target, value)
        if isinstance(target.slice, (ast.Slice, ast.Constant)):
            return False
        index, array = self.expressions.index(target.slice), self.expressions.value(target.value)
        if not isinstance(index.type, Array) or (index.type.element == "bool" and not isinstance(value.type, Array) and
                                                 getattr(array.type, "rank", 0) == index.type.rank):
            return False
        from . import indexing  # which needs NumPy

        if UNKNOWN not in (array.type, value.type):
            self._note_written(target)
            self.emit(f"{indexing.store_chosen(self.expressions, target, array, index, value)};", target)
        return True

    def _store_under_arrays(self, target, value):
        """a[rows, columns] = b, a[:, order] = b; False if no index is an array."""
        from . import indexing  # which needs NumPy

        array = self.expressions.value(target.value)
        if not isinstance(array.type, Array) or not self.expressions.array_indices(target):
            return False
        text = indexing.store_under_arrays(self.expressions, target, array, value)
        if text is not None:
            self._note_written(target)
            self.emit(f"{text};", target)
        return True

    def _store_selected(self, target, array, value):
        """a[a > 2] = 0, as all elements of a, of which others keep their value."""
        if UNKNOWN not in (array.type, value.type):
            self._note_written(target)
            self._store_elements(target, array, value, target.value)

    def _store_elements(self, target, place, value, node):
        """a[1:-1] = b + c. All is read before it is written."""
        self._check_stored(target, place, value, node)
        if place.view is None and isinstance(value.type, Scalar):
            self.emit(f"{place.text}.fill({value.as_type(Scalar(place.type.element))});", target)
            return
        others = [leaf for leaf in whole.leaves(value) if _may_overlap(place, leaf)]
        if not others:
            self.emit(f"{whole.store(self.expressions, target, place, value)};", target)
            return
        is_certain = any(leaf.text == place.text for leaf in others)
        if self.expressions.is_sequential:
            message = "in a prange loop this reads elements that it has written: take the values from another array"
            if is_certain or not self.scope.in_parallel:
                self.source.fail(target, message)
            self.before_parallel += [f"assert({place.text} != {leaf.text}, {quoted(message)});" for leaf in others]
            self.emit(f"{whole.store(self.expressions, target, place, value)};", target)
            return
        copied = whole.store(self.expressions, target, place, whole.new_array(self.expressions, node, value))
        if is_certain:
            self.emit(f"{copied};", target)
            return
        same = " || ".join(dict.fromkeys(f"{place.text} == {leaf.text}" for leaf in others))
        self.emit(f"if {same} {{", target)
        self.emit(f"{copied};", target)
        self.emit("} else {", target)
        self.emit(f"{whole.store(self.expressions, target, place, value)};", target)
        self.emit("}", target)

    def _check_stored(self, target, place, value, node):
        if self.scope.in_parallel and place.view is None:
            self.source.fail(target, "in a prange loop elements are computed one by one: write a loop")
        if isinstance(value.type, Array) and value.type.rank > place.type.rank:
            self.source.fail(node, f"an {value.type} does not fit into {place.type.rank} dimensions")
        if not isinstance(value.type, (Array, Scalar)):
            self.source.fail(node, f"a number or an array is needed here, and this is {value.type}")

    def _note_written(self, target):
        """The array that is written, however its element is named."""
        base = views.base_of(target)
        if any(getattr(each, "attr", "") in complex_numbers.PARTS for each in _owners(target)):
            self.source.fail(target, "a part of a complex number cannot be assigned: write "
                                     "z[i] = complex(x, z[i].imag)")
        if base is None:
            self.source.fail(target, "this writes to the result of a call: give the array a name first")
        self.scope.written(base.id, target)


def _owners(node):
    """The nodes of what an element or view is one of, from the outside: a.T[0], a.T, a."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        yield node
        node = node.value


def _may_overlap(place, leaf):
    """Whether storing an element may change another element that is read."""
    to, of = views.of(place), views.of(leaf)
    if place.type.element != leaf.type.element or to.rank != of.rank:
        return False
    return _places(place, to) != _places(leaf, of)


def _places(value, view):
    """Which elements these are, in the same words for each array. The size says whether a dimension may stretch."""
    own = re.compile(rf"\b{re.escape(value.text)}\.")
    return [(axis.dimension, own.sub(".", axis.begin), axis.step, own.sub(".", axis.size)) for axis in view.axes], \
        sorted(view.fixed)
