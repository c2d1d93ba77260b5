# SPDX-License-Identifier: Apache-2.0
"""Expressions of Python as expressions of the language."""

from __future__ import annotations

import ast
import sys

from . import (advice, calls, complex_numbers, creation, dicts, dtypes, elementwise, generators, lists, optionals,
               records, sets, structs, unassigned, views, whole)
from .comparisons import Comparisons
from .operators import Operators
from .types import BOOL, GENERATOR, INT, NUMPY_NAMES, UNKNOWN, Array, Dict, List, Record, Scalar, Set, Tuple, literal
from .values import NOTHING, Value, constant, tuple_of


class Expressions(Comparisons, Operators):
    """Translates the expressions of one function. `scope` has its variables, `unit` the functions that it calls."""

    def __init__(self, source, unit, scope, version):
        self.source, self.unit, self.scope, self.version = source, unit, scope, version
        self._given = {}  # values of nodes that are known already
        self.is_element = False
        self.least = None  # what is known of its integers: see places.py
        self.statements = None  # that these expressions are in

    @property
    def is_sequential(self):
        """Whether this runs in an iteration of a prange loop: of this function, or of one that calls it."""
        return self.scope.in_parallel or self.version.is_sequential

    def fail(self, node, message):
        self.source.fail(node, message)

    # ---- Types of expressions.

    def value(self, node):
        """Any expression."""
        if node in self._given:
            return self._given[node]
        known = self._known(node)
        if known is not None:
            return known
        operands = {each: self.value(each) for each in elementwise.operands(self, node)}
        if any(isinstance(value.type, Set) for value in operands.values()) and isinstance(node, ast.BinOp):
            return sets.combined(self, node, list(operands.values()))
        if any(isinstance(value.type, List) for value in operands.values()):
            if any(isinstance(value.type, Array) for value in operands.values()):
                operands = {each: lists.as_array(value) for each, value in operands.items()}
            else:
                found = lists.combined(self, node, list(operands.values()))
                if found is not None:
                    return found
        if any(isinstance(value.type, Array) for value in operands.values()):
            return elementwise.combine(self, node, operands)
        return self._with(node, operands, False)

    def given(self, node, inner, value):
        """The value of a node in which an inner one has this value."""
        return self.while_given({inner: value}, lambda: self.value(node))

    def while_given(self, values, work):
        """What `work` returns while nodes have these values."""
        before, self._given = self._given, {**self._given, **values}
        try:
            return work()
        finally:
            self._given = before

    def of_elements(self, node, operands):
        """An operator or a function, for elements of its operands."""
        return self._with(node, operands, True)

    def _with(self, node, operands, is_element):
        before = self._given, self.is_element
        self._given, self.is_element = {**self._given, **operands}, is_element
        try:
            method = getattr(self, f"_{type(node).__name__.lower()}", None)
            if method is None:
                self.fail(node, advice.of_expression(node))
            return method(node)
        finally:
            self._given, self.is_element = before

    def copied_view_of(self, node, is_returned=False):
        """The name of the array that this shares memory with in NumPy, where it is a copy: x of x.reshape(2, 3)."""
        if not isinstance(node, ast.expr) or not any(
                isinstance(each, ast.Call) or getattr(each, "attr", "") in complex_numbers.PARTS
                for each in ast.walk(node)):
            return None
        from . import library  # which needs NumPy

        return library.shared_array(self, node, is_returned)

    def named(self, node, value):
        """An array or view; the elements of an expression are computed."""
        return whole.new_array(self, node, value) if value.elements is not None else value

    def scalar(self, node):
        """An expression that is a number or bool."""
        value = self.value(node)
        if optionals.is_number(value):
            return optionals.number(self, value)
        if value.type != UNKNOWN and not isinstance(value.type, Scalar):
            if isinstance(value.type, Array):
                self.fail(node, f"a number is needed here, and this is an {value.type}: write a loop over the elements")
            if isinstance(value.type, Record):
                self.fail(node, "a number is needed here, and this is a record: name its field, p['x']")
            self.fail(node, f"a number is needed here, and this is {value.type}")
        return value

    def integer(self, node):
        """The text of an expression that is an index, a length or a bound."""
        value = self.scalar(node)
        if value.type != UNKNOWN and not value.type.is_integer:
            self.fail(node, f"an integer is needed here, and this is {value.type}: write int(...)")
        return value.as_type(INT)

    def test(self, node):
        """The text of a condition. Numbers are true if they are not 0."""
        if node not in self._given and isinstance(node, ast.BoolOp):
            symbol = " && " if isinstance(node.op, ast.And) else " || "
            return "(" + symbol.join(self.test(each) for each in node.values) + ")"
        if node not in self._given and isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"(!{self.test(node.operand)})"
        value = self.value(node)
        if isinstance(value.type, (List, Dict)):
            return f"({value.text}.len() > 0)"
        if optionals.is_number(value):
            return optionals.is_true(self, value)
        value = self.scalar(node)
        if value.type in (BOOL, UNKNOWN):
            return value.as_type(BOOL)
        return f"({value.text} != {literal(0, value.type.name)})"

    def known_test(self, node):
        """Whether a condition is known to hold for these types, `out is None` for example; None if it is not known."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            known = self.known_test(node.operand)
            return None if known is None else not known
        if isinstance(node, ast.BoolOp):
            deciding = isinstance(node.op, ast.Or)
            for each in node.values:
                known = self.known_test(each)
                if known is not (not deciding):
                    return known
            return not deciding
        if any(isinstance(each, ast.BinOp) or (isinstance(each, ast.Call) and each is not node)
               for each in ast.walk(node)) or (isinstance(node, ast.Call) and not self._is_isinstance(node)):
            return None
        value = self.value(node)
        return bool(value.constant) if value.is_constant else None

    def _is_isinstance(self, node):
        return isinstance(node.func, ast.Name) and node.func.id == "isinstance" not in self.scope.names()

    def _known(self, node):
        """The value of an expression that can be computed now: constants of the surroundings."""
        if isinstance(node, ast.Constant):
            found = constant(node.value) or _constants(node.value)
            if found is None:
                self.fail(node, f"{node.value!r} cannot be compiled: numbers and bools can")
            return found
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            return None
        try:
            meant = self.source.meaning(node, self.scope.names())
        except LookupError:
            return None
        found = constant(meant) or _constants(meant) or self._captured(meant)
        if found is None:
            kind = type(meant).__name__
            what = "pass it as an argument" if hasattr(meant, "shape") else \
                "it may change later; write it as a tuple, or as np.array(..)" if isinstance(meant, list) else \
                "numbers, tuples and arrays of the surroundings can; pass the numbers in it as arguments"
            self.fail(node, f"'{ast.unparse(node)}' is of type {kind} and cannot be compiled here: {what}")
        return found

    def _captured(self, meant):
        """An array of the surroundings; None for other objects."""
        dtype = getattr(meant, "dtype", None)
        own, rank = NUMPY_NAMES.get(getattr(dtype, "name", None)), getattr(meant, "ndim", 0)
        if own is None or not dtype.isnative or not 1 <= rank <= 3:
            return None
        kind = Array(own, rank)
        return Value(self.unit.capture(self.version, meant, kind), kind)

    # ---- Names and elements.

    def _name(self, node):
        if node.id == generators.SHARED and self.version.takes_shared_generator(self.unit):
            return Value(generators.SHARED_TEXT, GENERATOR)
        if node.id not in self.scope.names():
            self.fail(node, f"'{node.id}' is not defined")
        value = self.scope.read(node)
        return self._where_given(value, node) if hasattr(node, "flag") else value

    def _where_given(self, value, node):
        """A variable that may have no value here: a number is tested where it is read."""
        if value.items and type(value.type) is Tuple:
            return tuple_of(self._where_given(item, node) for item in value.items)
        if not isinstance(value.type, Scalar) or value.is_constant:
            return value
        name = f"_given_{self.scope.text(node.id)}_{value.type.name}"
        error = getattr(node, "missing", f"UnboundLocalError: {unassigned.message(node.id)}")
        given = self.unit.function(name, f'fn {name}(is_given: bool, x: {value.type.name}) -> {value.type.name} {{\n'
                                         f'    assert(is_given, "{error}");\n    return x;\n}}')
        return Value(f"{given}({self.scope.text(node.flag)}, {value.text})", value.type)

    def _attribute(self, node):
        if isinstance(node.value, ast.Call):
            limit = dtypes.limit(self, node)
            if limit is not None:
                return limit
        base = self.value(node.value)
        if base.type == UNKNOWN:
            return NOTHING
        if records.is_record(base):
            if node.attr in base.type.names or node.attr not in ("shape", "size", "ndim"):
                return records.field(self, node, base, node.attr)
            base = base.items[0]
        if structs.is_struct(base):
            return structs.field(self, node, base)
        if isinstance(base.type, Scalar) and node.attr in complex_numbers.PARTS:
            return complex_numbers.part(self, node, base)
        if isinstance(base.type, Array):
            if node.attr == "size":
                return Value(f"({' * '.join(whole.sizes(self, node, base))})", INT)
            if node.attr == "ndim":
                return constant(base.type.rank)
            if node.attr == "shape":
                return tuple_of(Value(size, INT) for size in whole.sizes(self, node, base))
            if node.attr == "T":
                base = self.named(node, base)
                views.check_repeatable(self, node, base.text)
                return views.transposed(base)
        self.fail(node, f"'.{node.attr}' of {base.type} cannot be compiled; .shape, .size, .ndim and .T of arrays can")

    def _subscript(self, node):
        if isinstance(node.value, ast.Attribute) and node.value.attr in ("r_", "c_"):
            from . import joins  # which needs NumPy

            found = joins.joined_by_brackets(self, node)
            if found is not None:
                return found
        base = self.value(node.value)
        if base.type == UNKNOWN:
            return NOTHING
        if records.is_record(base):
            return records.subscript(self, node, base)
        if isinstance(base.type, Tuple):
            return self._item(node, base)
        if isinstance(base.type, List):
            return lists.item(self, node, base)
        if isinstance(base.type, Dict):
            return dicts.item(self, node, base)
        if not isinstance(base.type, Array):
            self.fail(node, f"this is no array but {base.type}")
        base = self.named(node, base)
        if isinstance(node.slice, ast.Call) and self.statements.means(
                node.slice.func, getattr(sys.modules.get("numpy"), "ix_", self)):
            from . import indexing  # which needs NumPy

            return indexing.chosen_block(self, node, base)
        node = self.with_indices(node)
        if isinstance(node.slice, ast.Tuple):
            return self._several_indices(node, base)
        if not isinstance(node.slice, (ast.Slice, ast.Constant)):
            index = self.index(node.slice)
            if isinstance(index.type, Array):
                from . import indexing  # which needs NumPy

                return indexing.chosen(self, node, base, index)
        return views.subscript(self, node, base)

    def index(self, node):
        """The index in brackets, or an argument of a function of NumPy; a list is an array there."""
        if isinstance(node, ast.List) and node.elts and not any(isinstance(each, ast.Starred) for each in node.elts):
            items, shape = creation.items(self, node)
            return self.array_of(node, [self.scalar(each) for each in items], shape)
        return self.array_of(node, []) if isinstance(node, ast.List) else lists.as_array(self.value(node))

    def array(self, node):
        """An argument of a function of NumPy: lists and tuples of numbers are arrays there."""
        value = self.index(node)
        if value.items and all(isinstance(item.type, Scalar) or item.type == UNKNOWN for item in value.items):
            return self.array_of(node, value.items)
        return value

    def array_of(self, node, values, shape=None):
        """The array that NumPy makes of these numbers."""
        if UNKNOWN in [value.type for value in values]:
            return NOTHING
        for value in values:
            if not isinstance(value.type, Scalar):
                self.fail(node, f"a list of numbers is needed here, and this has {value.type}")
        name = creation.common_type([Scalar(value.type.name) for value in values]).name if values else "i64"
        return creation.of_numbers(self, node, values, name, shape)

    def with_indices(self, node):
        """a[p] with a tuple p, as a[p[0], p[1]]."""
        if not isinstance(node.slice, (ast.Name, ast.Subscript)) or not self.value(node.slice).items:
            return node
        given = [ast.Subscript(node.slice, ast.Constant(i), ast.Load())
                 for i in range(len(self.value(node.slice).items))]
        made = ast.Subscript(node.value, ast.Tuple(given, ast.Load()), node.ctx)
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def array_indices(self, node):
        """The positions of the arrays among several indices."""
        return [position for position, each in enumerate(node.slice.elts) if isinstance(each, ast.List) or
                (not isinstance(each, (ast.Slice, ast.Constant)) and isinstance(self.value(each).type, Array))]

    def under_slice(self, node, base, position):
        """The view under the other indices, with the whole axis in the place of this one; and whether that axis is not
        its first."""
        given = list(node.slice.elts)
        given[position] = ast.Slice()
        whole_axis = ast.copy_location(ast.Subscript(node.value, ast.Tuple(given, ast.Load()), ast.Load()), node)
        return views.subscript(self, whole_axis, base), any(isinstance(each, ast.Slice) for each in given[:position])

    def _several_indices(self, node, base):
        """a[i, 1:], and a[:, order] with one array among them: that is chosen from the view under the others."""
        arrays = self.array_indices(node)
        if len(arrays) not in (1, 2) or self.is_sequential:
            return views.subscript(self, node, base)
        from . import indexing  # which needs NumPy

        if len(arrays) == 2:
            values = [self.index(node.slice.elts[position]) for position in arrays]
            if UNKNOWN in [value.type for value in values]:
                return NOTHING
            if len(node.slice.elts) > 2:
                self.fail(node, "two arrays as indices are rows and columns of two dimensions here: write a loop")
            return indexing.chosen_pairs(self, node, base, values)
        index = self.index(node.slice.elts[arrays[0]])
        if index.type == UNKNOWN:
            return NOTHING
        view, is_second = self.under_slice(node, base, arrays[0])
        if not is_second:
            return indexing.chosen(self, node, view, index)
        chosen = indexing.chosen(self, node, views.transposed(view), index)
        return whole.new_array(self, node, views.transposed(chosen))

    def _item(self, node, several):
        """An item of a tuple, or a part of it."""
        if isinstance(node.slice, ast.Slice):
            return self._part(node, several)
        position = self._known(node.slice) or self.scalar(node.slice)
        if not several.items:  # of a struct
            kinds = several.type.items
            if not position.is_constant or not -len(kinds) <= position.constant < len(kinds):
                self.fail(node, f"this has {len(kinds)} items, which are named by constants: t[0]")
            at = position.constant % len(kinds)
            return Value(f"{several.text}.x{at}", kinds[at])
        if not position.is_constant:
            if position.type == UNKNOWN:
                return NOTHING
            return self.one_of(node, self.integer(node.slice), several.items)
        if not position.type.is_integer or not -len(several.items) <= position.constant < len(several.items):
            self.fail(node, f"a tuple of {len(several.items)} items has none at {position.constant}")
        return several.items[position.constant]

    def _part(self, node, several):
        """a.shape[:2]: a tuple of these items."""
        bounds = [None if each is None else self.scalar(each) for each in (
            node.slice.lower, node.slice.upper, node.slice.step)]
        if not several.items or any(each is not None and not (each.is_constant and each.type == INT)
                                    for each in bounds):
            self.fail(node, "a part of a tuple is named by constants, t[1:]; give a tuple that a call returns a name "
                            "first")
        return tuple_of(several.items[slice(*(each and each.constant for each in bounds))])

    def one_of(self, node, position, items):
        """The number at a position, whose text may be evaluated several times, in a list of a few."""
        if UNKNOWN in [item.type for item in items]:
            return NOTHING
        if len({len(item.items) for item in items}) == 1 and items[0].items and not any(map(records.is_record, items)):
            return tuple_of(self.one_of(node, position, parts) for parts in zip(*(item.items for item in items)))
        if not all(isinstance(item.type, Scalar) for item in items):
            self.fail(node, "an item of a tuple that holds more than numbers is named by a constant: t[0]")
        views.check_repeatable(self, node, position)
        found = items[-1]
        for at, item in reversed(list(enumerate(items[:-1]))):
            found = self.choice(f"{position} == {at}", item, found)
        return found

    def _list(self, node):
        return lists.literal(self, node)

    def _set(self, node):
        return sets.literal(self, node)

    def keys_of(self, node, value):
        """The keys of a dictionary, as an array; None for other values."""
        if not isinstance(value.type, Dict):
            return None
        keys = ast.copy_location(ast.Call(ast.Attribute(node, "keys", ast.Load()), [], []), node)
        return dicts.method(self, keys, value)

    def _tuple(self, node):
        items = []
        for each in node.elts:
            given = self.value(each.value) if isinstance(each, ast.Starred) else None
            if given is not None and not given.items and given.type != UNKNOWN:
                self.fail(each, f"a tuple takes the items of another one, (*a.shape, 3), and this is {given.type}")
            items += [self.value(each)] if given is None else given.items or [NOTHING]
        return tuple_of(items)

    def _call(self, node):
        return calls.call(self, node)


def _constants(meant):
    """A tuple of numbers and of such tuples, as a value; None for other objects. Bytes are one of numbers."""
    meant = tuple(meant) if isinstance(meant, bytes) and meant else meant
    items = [constant(each) or _constants(each) for each in meant] if isinstance(meant, tuple) else [None]
    return None if None in items else tuple_of(items)
