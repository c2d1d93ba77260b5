# SPDX-License-Identifier: Apache-2.0
"""For loops over arrays, and over enumerate and zip of them, in each other."""

from __future__ import annotations

import ast

from . import views
from .types import INT, UNKNOWN, Array
from .values import Value


class Items:
    """How many turns a loop has, and what its variables are in each. `stores` are targets, functions that
    give their values for the number of the turn, and the nodes that these come from. `is_known`: whether types are."""

    def __init__(self, statements):
        self.statements = statements
        self.sizes, self.stores, self.is_known = [], [], True

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
        call = iterated if isinstance(iterated, ast.Call) else None
        if call is not None and self.statements.means(call.func, enumerate):
            self._enumerate(target, call)
        elif call is not None and self.statements.means(call.func, zip):
            self._zip(target, call)
        elif call is not None and self.statements.means(call.func, range):
            self._range(target, call)
        else:
            self._array(target, iterated)

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
        self.stores.append((index, lambda turn: Value(f"({first} + {turn})" if first else turn, INT), index))
        self.add(item, call.args[0])

    def _zip(self, target, call):
        if not call.args or call.keywords or any(isinstance(each, ast.Starred) for each in call.args):
            self._fail(call, "zip takes one or more arrays by position here")
        targets = self._targets(target, len(call.args), f"zip gives {len(call.args)} elements at a time")
        for each, iterated in zip(targets, call.args):
            self.add(each, iterated)

    def _range(self, target, call):
        begin, end, step = self.statements.range(call)
        if step == "1" and begin == "0":
            self.sizes.append(f"{self.statements.unit.module('math')}.max({end}, 0)")
        else:
            self.sizes.append(f"{self.statements.unit.helper('range_len', 'i64')}({begin}, {end}, {step})")
        self.stores.append((target, lambda turn: Value(f"({begin} + {turn} * {step})", INT), target))

    def _array(self, target, iterated):
        expressions = self.statements.expressions
        array = expressions.value(iterated)
        if isinstance(array.type, Array):
            array = self.statements.held(iterated, expressions.named(iterated, array))
        if array.type == UNKNOWN:
            self.is_known = False
            return
        if not isinstance(array.type, Array):
            self._fail(iterated, "a loop runs over range(...), prange(...), arrays, or enumerate and zip of these")
        if not isinstance(target, ast.Name):
            self._fail(target, "the variables of a loop are names")
        self.sizes.append(views.sizes(array)[0])
        self.stores.append((target, lambda turn: views.at(array, (turn,)), iterated))
