# SPDX-License-Identifier: Apache-2.0
"""For loops over arrays, and over enumerate and zip of them, in each other."""

from __future__ import annotations

import ast
import sys

from . import creation, dicts, lists, records, scopes, views
from .types import INT, UNKNOWN, Array, Dict, List, Scalar
from .values import Value


def _is_changed(call, body):
    """Whether the statements of a loop assign a variable that a bound of its range has."""
    return any(scopes.loads(call, name) for name in scopes.stored(body))


class Items:
    """The number of turns of a loop, and its variables in each. `stores` are targets, functions that
    give their values for the number of the turn, and the nodes that these come from. `is_known`: whether types are.
    `is_live`: whether the number of turns may change in the loop. `body` are its statements."""

    def __init__(self, statements, body):
        self.statements, self._body = statements, body
        self.sizes, self.stores, self.is_known, self.is_live = [], [], True, False

    @property
    def size(self):
        """The text of the number of turns: that of the shortest."""
        text = self.sizes[0] if self.sizes else "0"
        for size in dict.fromkeys(self.sizes[1:]):
            if size != text:
                text = f"{self.statements.unit.module('math')}.min({text}, {size})"
        return text

    def add(self, target, iterated):
        """The target takes the items of this expression."""
        if self._is_backwards(iterated):  # range(n)[::-1]
            iterated = ast.copy_location(ast.Call(ast.Name("reversed", ast.Load()), [iterated.value], []), iterated)
            self._reversed(target, iterated)
            return
        call = iterated if isinstance(iterated, ast.Call) else None
        if call is not None and self.statements.means(call.func, enumerate):
            self._enumerate(target, call)
        elif call is not None and self.statements.means(call.func, zip):
            self._zip(target, call)
        elif call is not None and self.statements.means(call.func, range):
            self._range(target, call)
        elif call is not None and self.statements.means(call.func, reversed):
            self._reversed(target, call)
        elif call is not None and self._is_numpys(call, "ndindex"):
            sizes = call.args[0].elts if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple) else call.args
            sizes = [each.value if isinstance(each, ast.Starred) else each for each in sizes]
            given = [self.statements.expressions.value(each) for each in sizes]
            given = list(given[0].items) if len(given) == 1 and given[0].items else given
            if not given or any(not isinstance(each.type, Scalar) or not each.type.is_integer for each in given):
                self._fail(call, "np.ndindex takes sizes or a shape")
            self._indices(target, [self.statements.kept(each, call).as_type(INT) for each in given])
        elif call is not None and self._is_numpys(call, "ndenumerate") and len(call.args) == 1:
            places, item = self._targets(target, 2, "np.ndenumerate gives a tuple of indices and an element")
            self._all(item, call.args[0], places)
        elif call is not None and self._dictionary_of(call) is not None:
            dicts.add_entries(self, target, iterated, self._dictionary_of(call), call.func.attr)
        elif isinstance(iterated, ast.Attribute) and iterated.attr == "flat":
            self._all(target, iterated.value)
        else:
            self._array(target, iterated)

    def _dictionary_of(self, call):
        """d of d.items() and d.values(); None for other calls."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("items", "values") or \
                not isinstance(call.func.value, ast.Name) or call.args or call.keywords:
            return None
        found = self.statements.expressions.value(call.func.value)
        return found if isinstance(found.type, Dict) else None

    def _is_backwards(self, node):
        """range(n)[::-1]."""
        return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Call) and \
            self.statements.means(node.value.func, range) and ast.unparse(node.slice) == "::-1"

    def _is_numpys(self, call, name):
        return self.statements.means(call.func, getattr(sys.modules.get("numpy"), name, self))

    def _indices(self, target, sizes):
        """The target takes the indices of an array with these sizes, in their order."""
        self.sizes.append(f"({' * '.join(sizes)})")
        names = "i, j, k"[:max(2, 3 * len(sizes) - 2)]
        targets = self._targets(target, len(sizes), f"{len(sizes)} indices come at a time: for {names} in ..")
        for position, each in enumerate(targets):
            self.stores.append((each, lambda turn, at=position: Value(_index(turn, sizes, at), INT), each))

    def _all(self, target, iterated, places=None):
        """All elements of an array, in the order of their indices."""
        array = self.statements.expressions.value(iterated)
        if array.type == UNKNOWN:
            self.is_known = False
            return
        if not isinstance(array.type, Array):
            self._fail(iterated, f"this is no array but {array.type}")
        array = self.statements.held(iterated, self.statements.expressions.named(iterated, array))
        sizes = views.sizes(array)
        if places is None:
            self.sizes.append(f"({' * '.join(sizes)})")
        else:
            self._indices(places, sizes)
        self.stores.append((target, lambda turn: views.at(
            array, [_index(turn, sizes, at) for at in range(len(sizes))]), iterated))

    def _fail(self, node, message):
        self.statements.source.fail(node, message)

    def _targets(self, target, count, message):
        if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != count:
            self._fail(target, message)
        return target.elts

    def _enumerate(self, target, call):
        start = call.args[1:] + [each.value for each in call.keywords if each.arg == "start"]
        if not call.args or len(start) > 1 or len(call.args) + len(call.keywords) != 1 + len(start):
            self._fail(call, "enumerate takes what it runs over, and where it starts")
        index, item = self._targets(target, 2, "enumerate gives an index and an element")
        first = self.statements.expressions.integer(start[0]) if start else None
        if first and not first.lstrip("-").isdigit():
            first = self.statements.kept(Value(first, INT), call).text
        self.stores.append((index, lambda turn: Value(f"({first} + {turn})" if first else turn, INT), index))
        self.add(item, call.args[0])

    def _zip(self, target, call):
        if not call.args or call.keywords or any(isinstance(each, ast.Starred) for each in call.args):
            self._fail(call, "zip takes one or more arrays by position here")
        targets = self._targets(target, len(call.args), f"zip gives {len(call.args)} elements at a time")
        for each, iterated in zip(targets, call.args):
            self.add(each, iterated)

    def _range(self, target, call, is_reversed=False):
        begin, end, step = self.statements.range(call)
        if _is_changed(call, self._body):
            begin, step = (self.statements.kept(Value(text, INT), call).text for text in (begin, step))
        size = f"{self.statements.unit.helper('range_len', 'i64')}({begin}, {end}, {step})"
        if step == "1" and begin == "0":
            size = f"{self.statements.unit.module('math')}.max({end}, 0)"
        self.sizes.append(size)

        if is_reversed and _is_changed(call, self._body):
            size = self.sizes[-1] = self.statements.kept(Value(size, INT), call).text

        def value(turn):
            place = f"({size} - 1 - {turn})" if is_reversed else turn
            return Value(f"({begin} + {place} * {step})", INT)

        self.stores.append((target, value, target))

    def _reversed(self, target, call):
        given = call.args[0] if len(call.args) == 1 and not call.keywords else call
        if isinstance(given, ast.Call) and self.statements.means(given.func, range):
            self._range(target, given, True)
            return
        if isinstance(given, ast.Call):
            self._fail(call, "reversed takes a range or an array here")
        whole = ast.Slice(None, None, ast.UnaryOp(ast.USub(), ast.Constant(1)))
        backwards = ast.copy_location(ast.Subscript(given, whole, ast.Load()), given)
        self._array(target, ast.fix_missing_locations(backwards))

    def _numbers(self, target, iterated, values):
        """for k in (1, 2, 5), for i, j in ((0, 1), (1, 0)): as Python's own numbers."""
        if UNKNOWN in [value.type for value in values]:
            self.is_known = False
            return
        if isinstance(target, (ast.Tuple, ast.List)):
            for value in values:
                if len(value.items) != len(target.elts):
                    self._fail(target, f"{len(target.elts)} variables for {len(value.items) or 1} values")
            for position, each in enumerate(target.elts):
                self._numbers(each, iterated, [value.items[position] for value in values])
            return
        for value in values:
            if not isinstance(value.type, Scalar):
                self._fail(iterated, f"a loop over a tuple runs over numbers here, and this has {value.type}: give "
                                     "each item a variable, for i, j in ..")
        self.sizes.append(str(len(values)))
        self.stores.append((target, self._number_of_turn(iterated, values), target))

    def _number_of_turn(self, iterated, values):
        """The function that gives the number for the text of a turn: by its step, by comparisons, or from an array."""
        expressions = self.statements.expressions
        kind = creation.common_type([value.type for value in values])
        numbers = [value.constant for value in values]
        if kind == INT and all(value.is_constant for value in values):
            steps = {after - before for before, after in zip(numbers, numbers[1:])} or {0}
            if len(steps) == 1:
                return lambda turn: Value(f"({numbers[0]} + {turn} * ({steps.copy().pop()}))", INT)
        if len(values) <= 16:
            kept = [self.statements.kept(value, iterated) for value in values]
            return lambda turn: expressions.one_of(iterated, turn, kept)
        array = self.statements.held(iterated, creation.of_numbers(expressions, iterated, values, kind.name))
        return lambda turn: Value(views.at(array, (turn,)).text, kind)

    def _list(self, target, iterated, value):
        """All items that are in a list at their turn."""
        if value.type.element == UNKNOWN:
            self.is_known = False
            return
        found = self.statements.temporary()
        self.statements.emit(f"let {found} = {value.text};", iterated)
        if lists.may_change_size(self.statements, self._body, value.type):
            self.is_live = True
            self.sizes.append(f"{found}.len()")
            items = found
        else:
            size, items = self.statements.temporary(), self.statements.temporary()
            self.statements.emit(f"let {size} = {found}.len();", iterated)
            self.statements.emit(f"let {items} = {found}.items;", iterated)
            self.sizes.append(size)
        lists.add_items(self, target, iterated, lambda turn: f"{items}[{turn}]", value.type.element)

    def _array(self, target, iterated):
        expressions = self.statements.expressions
        if isinstance(iterated, (ast.Tuple, ast.List)) and iterated.elts:
            self._numbers(target, iterated, [expressions.value(each) for each in iterated.elts])
            return
        array = expressions.value(iterated)
        if isinstance(array.type, List):
            self._list(target, iterated, array)
            return
        if isinstance(array.type, Dict):
            dicts.add_entries(self, target, iterated, array)
            return
        if records.is_record(array):
            if array.type.rank != 1:
                self._fail(iterated, "a loop runs over records of one dimension")
            array = records.of_items(array, [self.statements.held(iterated, item) for item in array.items])
            self.sizes.append(views.sizes(array.items[0])[0])
            self.stores.append((target, lambda turn: records.at(array, turn), iterated))
            return
        if array.items:
            self._numbers(target, iterated, array.items)
            return
        if isinstance(array.type, Array):
            array = self.statements.held(iterated, expressions.named(iterated, array))
        if array.type == UNKNOWN:
            self.is_known = False
            return
        if not isinstance(array.type, Array):
            self._fail(iterated, "a loop runs over range(...), prange(...), arrays, or enumerate and zip of these")
        self.sizes.append(views.sizes(array)[0])
        if isinstance(target, ast.Name):
            self.stores.append((target, lambda turn: views.at(array, (turn,)), iterated))
            return
        if not isinstance(target, (ast.Tuple, ast.List)) or array.type.rank != 2 or not all(
                isinstance(each, ast.Name) for each in target.elts):
            self._fail(target, "the variables of a loop are names, several for the rows of an array of two dimensions")
        width, count = views.sizes(array)[1], len(target.elts)
        self.statements.emit(
            f'assert({width} == {count}, "ValueError: {count} variables for rows of another size");', target)
        for position, each in enumerate(target.elts):
            self.stores.append((each, lambda turn, at=str(position): views.at(array, (turn, at)), iterated))


def _index(turn, sizes, position):
    """The text of an index in an array with these sizes, for the number of an element."""
    behind = " * ".join(sizes[position + 1:])
    index = f"{turn} / ({behind})" if behind else turn
    return f"({index})" if position == 0 else f"({index} % {sizes[position]})"
