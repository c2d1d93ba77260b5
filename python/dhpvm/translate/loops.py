# SPDX-License-Identifier: Apache-2.0
"""For loops: over ranges and arrays, one after the other or in parallel."""

from __future__ import annotations

import ast

from .. import parallel
from . import calls, scopes
from .types import INT, UNKNOWN, Array, Scalar
from .values import Value
from .variables import Frame


class Loops:
    """The part of Statements that translates for loops."""

    def _for(self, node):
        if node.orelse:
            self.source.fail(node.orelse[0], "else after a loop cannot be compiled: use a variable")
        if isinstance(node.iter, ast.Call):
            if self._means(node.iter.func, parallel.prange):
                if self.scope.in_parallel:
                    self._over_range(node, node.iter)
                else:
                    self._parallel(node)
                return
            if self._means(node.iter.func, range):
                self._over_range(node, node.iter)
                return
            if self._means(node.iter.func, enumerate) and len(node.iter.args) == 1:
                self._over_array(node, node.iter.args[0], True)
                return
        self._over_array(node, node.iter, False)

    # ---- One after the other.

    def _range(self, call):
        """The texts of begin, end and step."""
        if call.keywords or not 1 <= len(call.args) <= 3 or isinstance(call.args[0], ast.Tuple):
            self.source.fail(call, "a range has one to three bounds")
        step = "1"
        if len(call.args) == 3:
            known = self.expressions.scalar(call.args[2])
            step = str(known.constant) if known.is_constant else known.as_type(INT)
        bounds = [self.expressions.integer(argument) for argument in call.args[:2]]
        return (bounds if len(bounds) == 2 else ["0", *bounds]) + [step]

    def _over_range(self, node, call):
        if not isinstance(node.target, ast.Name):
            self.source.fail(node.target, "the variable of a range is one name")
        begin, end, step = self._range(call)
        head = f"{begin}..{end}" + ("" if step == "1" else f" step {step}")
        name = node.target.id
        is_kept = name in scopes.stored(node.body) or scopes.is_read_after(self.source.tree, node, name)
        self.loop_depth += 1
        if is_kept:
            hidden = self.temporary()
            kind = self.scope.assign(node.target, name, INT)
            self.emit(f"for {hidden} in {head} {{", node)
            self.scope.open_block()
            self.emit(f"{self.scope.text(name)} = {Value(hidden, INT).as_type(kind)};", node)
            self.block(node.body)
        else:
            frame = Frame((node.lineno, node.col_offset), {name}, is_constant=True)
            self.scope.enter(frame)
            self.scope.define(frame.key, name, INT)
            self.emit(f"for {self.scope.text(name)} in {head} {{", node)
            self.scope.open_block()
            self.block(node.body)
            self.scope.leave()
        self.scope.close_block()
        self.emit("}", node)
        self.loop_depth -= 1

    def _over_array(self, node, iterated, is_enumerated):
        array = self.expressions.value(iterated)
        if array.type == UNKNOWN:
            return
        if not isinstance(array.type, Array) or array.type.rank - len(array.indices) != 1:
            self.source.fail(iterated, "a loop runs over range(...), prange(...), or an array of one dimension")
        targets = [node.target]
        if is_enumerated:
            if not isinstance(node.target, ast.Tuple) or len(node.target.elts) != 2:
                self.source.fail(node.target, "enumerate gives an index and an element")
            targets = node.target.elts
        if not all(isinstance(target, ast.Name) for target in targets):
            self.source.fail(node.target, "the variables of a loop are names")
        index = self.temporary()
        self.loop_depth += 1
        self.emit(f"for {index} in 0..{self.expressions.sizes(array)[0]} {{", node)
        self.scope.open_block()
        if is_enumerated:
            self.store_value(targets[0], Value(index, INT), node.target)
        element = f"{array.text}[{', '.join(array.indices + (index,))}]"
        self.store_value(targets[-1], Value(element, Scalar(array.type.element)), node.target)
        self.block(node.body)
        self.scope.close_block()
        self.emit("}", node)
        self.loop_depth -= 1

    # ---- In parallel.

    def _heads(self, node):
        """Variables and ranges of the rectangle that this loop and those directly inside it run over; and the body."""
        call, target = node.iter, node.target
        if len(call.args) == 1 and isinstance(call.args[0], ast.Tuple):
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            if len(names) != len(call.args[0].elts) or not 1 <= len(names) <= 3:
                self.source.fail(node, "prange((n, m)) gives as many indices as it has sizes, at most three")
            sizes = [self.expressions.integer(size) for size in call.args[0].elts]
            return [(name, ["0", size, "1"]) for name, size in zip(names, sizes)], node.body
        heads, body = [(target, self._range(call))], node.body
        while len(heads) < 3 and len(body) == 1 and isinstance(body[0], ast.For) and not body[0].orelse:
            inner = body[0]
            if not (isinstance(inner.iter, ast.Call) and self._means(inner.iter.func, parallel.prange)):
                break
            outer = {each.id for each, _ in heads if isinstance(each, ast.Name)}
            if any(scopes.loads(argument, name) for argument in inner.iter.args for name in outer) or \
                    any(isinstance(argument, ast.Tuple) for argument in inner.iter.args):
                break
            heads.append((inner.target, self._range(inner.iter)))
            body = inner.body
        return heads, body

    def _parallel(self, node):
        heads, body = self._heads(node)
        frame = Frame((node.lineno, node.col_offset), set(), is_constant=True)
        inner = Frame((node.lineno, node.col_offset, "own"), set())
        ranges, begins = [], []
        for target, (begin, end, step) in heads:
            if not isinstance(target, ast.Name):
                self.source.fail(target, "prange((n, m)) gives two indices; other ranges one")
            if scopes.is_read_after(self.source.tree, node, target.id):
                self.source.fail(node, f"'{target.id}' has no value behind a prange loop")
            frame.names.add(target.id)
            name = self.scope.text(target.id)
            if step == "1":
                ranges.append(f"{name} in {begin}..{end}")
                continue
            if not step.isdigit() or step == "0":
                self.source.fail(node, "the step of a prange is a positive constant")
            first, hidden = self.temporary(), self.temporary()
            self.emit(f"let {first} = {begin};", node)
            ranges.append(f"{hidden} in 0..({end} - {first} + {int(step) - 1}) / {step}")
            begins.append(f"let {name} = {first} + {hidden} * {step};")
        inner.reductions = self._sort_variables(node, body, frame.names, inner.names)
        self.scope.enter(frame)
        for name in frame.names:
            self.scope.define(frame.key, name, INT)
        reductions = ", ".join(f"{operator}: {self.scope.text(name)}" for name, operator in inner.reductions.items())
        for hint in self.unit.hints:
            self.emit(hint, node)
        self.emit(f"parallel for {', '.join(ranges)}" + (f" reduce({reductions})" if reductions else "") + " {", node)
        self._parallel_body(node, body, inner, begins)
        self.scope.leave()
        self.emit("}", node)

    def _parallel_body(self, node, body, inner, begins):
        self.scope.enter(inner)
        self.scope.open_block()
        depth, loops = self.scope.depth(), self.loop_depth
        self.scope.in_parallel, self.loop_depth = True, 0
        for line in begins:
            self.emit(line, node)
        at = len(self.lines)
        self.block(body)
        self.lines[at:at] = self._declarations(inner.key, depth, node)
        self.scope.in_parallel, self.loop_depth = False, loops
        self.scope.close_block()
        self.scope.leave()

    def _sort_variables(self, node, body, loop_variables, own):
        """Puts the variables that iterations assign into `own`, and returns the operators of the reductions."""
        reductions = {}
        tell = calls.is_min_or_max(self.source, self.scope.names())
        for name in scopes.stored(body) - loop_variables:
            if scopes.first_use(body, name) == "load":
                operator = scopes.reduction(body, name, tell)
                if operator is None:
                    self.source.fail(node, f"'{name}' passes a value from one iteration to the next, which run at the "
                                           f"same time: assign it first in the loop, or only ever use `{name} += ...`")
                reductions[name] = operator
                continue
            if scopes.is_read_after(self.source.tree, node, name):
                self.source.fail(node, f"'{name}' belongs to an iteration of this prange loop, and is read behind the "
                                       "loop: store it in an array, or make it a reduction")
            own.add(name)
        return reductions
