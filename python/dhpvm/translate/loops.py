# SPDX-License-Identifier: Apache-2.0
"""Loops: while, and over ranges and arrays, one after the other or in parallel."""

from __future__ import annotations

import ast
import re

from .. import parallel
from ..fields import Fields
from . import calls, complex_numbers, scopes, views
from .iterables import Items
from .places import may_count_down
from .types import INT, Array, Record, Scalar, Text
from .values import Value, constant
from .variables import Frame


# Nodes of the syntax tree: more of them take longer to compile than they save.
MAXIMUM_UNROLLED = 3000


class ParallelLoop(Fields):
    """The prange loop around a statement: texts of an iteration's place and of the number of iterations, for each
    dimension; what differs from one iteration to the next: names, and temporaries from a number on."""

    places: list
    counts: list
    own: set
    first_temporary: int
    node: ast.For


class Loops:
    """The part of Statements that translates loops. `loops` has those around a statement, innermost last: the variable
    that says whether it was left early, None where nobody asks."""

    def _for(self, node):
        if isinstance(node.iter, ast.Call) and self.means(node.iter.func, parallel.prange) and \
                not self.expressions.is_sequential:
            self._parallel(node)
        elif isinstance(node.iter, ast.Call) and (self.means(node.iter.func, range) or
                                                  self.means(node.iter.func, parallel.prange)):
            self._over_range(node, node.iter)
        else:
            self._over_items(node)

    # ---- One after the other.

    def _while(self, node):
        self._loop(f"while {self.expressions.test(node.test)}", node)
        return self.expressions.known_test(node.test) is True and not scopes.has_break(node.body)

    def _loop(self, head, node, begin=lambda: None):
        """A loop, with the statements of its else. `begin` emits what comes before its body."""
        left_early = self.temporary() if node.orelse else None
        if left_early:
            self.emit(f"var {left_early} = false;", node)
        self.loops.append(left_early)
        self.emit(head + " {", node)
        self.scope.open_block()
        begin()
        self.block(node.body)
        self.scope.close_block()
        self.emit("}", node)
        self.loops.pop()
        if left_early:
            self.braces(f"if !{left_early}", node.orelse, node.orelse[0])

    def _break(self, node):
        if not self.loops:
            self.source.fail(node, "a prange loop runs all of its iterations: break cannot leave it")
        if self.loops[-1]:
            self.emit(f"{self.loops[-1]} = true;", node)
        self.emit("break;", node)

    def _continue(self, node):
        self.emit("continue;", node)

    def range(self, call):
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
        turns = self._few_turns(node)
        if turns is not None:
            self._write_out(node, turns)
            return
        begin, end, step = self.range(call)
        if len(call.args) == 3 and may_count_down(self.expressions, call.args[2]):
            self._over_either_way(node, begin, end, step)
            return
        head = f"{begin}..{end}" + ("" if step == "1" else f" step {step}")
        name = node.target.id
        if name in scopes.stored(node.body + node.orelse) or scopes.is_read_after(self.source.tree, node, name):
            hidden = self.temporary()
            self._loop(f"for {hidden} in {head}", node, lambda: self.store_value(node.target, Value(hidden, INT), node))
            return
        frame = Frame((node.lineno, node.col_offset), {name}, is_constant=True)
        self.scope.enter(frame)
        self.scope.define(frame.key, name, INT)
        self._loop(f"for {self.scope.text(name)} in {head}", node)
        self.scope.leave()

    def _over_either_way(self, node, begin, end, step):
        """A loop over a range whose step counts up or down, as it is when the loop begins."""
        first, by, turn = self.temporary(), self.temporary(), self.temporary()
        self.emit(f"let {first} = {begin};", node)
        self.emit(f"let {by} = {step};", node)
        self.emit(f'assert({by} != 0, "ValueError: range() arg 3 must not be zero");', node)
        turns = f"{self.unit.helper('range_len', 'i64')}({first}, {end}, {by})"
        self._loop(f"for {turn} in 0..{turns}", node,
                   lambda: self.store_value(node.target, Value(f"({first} + {turn} * {by})", INT), node))

    # ---- Written out: a row around a few constant turns is straight code then, which is vectorised along the row.

    def _few_turns(self, node):
        """The values of a loop in a prange loop that is worth writing out, for k in range(-2, 3) for example; else
        None."""
        turns = self._constant_turns(node) if self.scope.in_parallel else None
        size = None if turns is None else self._written_out(node.body)
        return None if size is None or len(turns) * size > MAXIMUM_UNROLLED else turns

    def _constant_turns(self, node):
        if node.orelse or not isinstance(node.target, ast.Name) or not isinstance(node.iter, ast.Call) or \
                not self.means(node.iter.func, range) or not 1 <= len(node.iter.args) <= 3:
            return None
        name, bounds = node.target.id, [self.expressions.value(each) for each in node.iter.args]
        if not all(bound.is_constant and bound.type == INT for bound in bounds) or 0 in [
                bound.constant for bound in bounds[2:]] or name in scopes.stored(node.body) or \
                scopes.is_read_after(self.source.tree, node, name):
            return None
        return range(*(bound.constant for bound in bounds))

    def _written_out(self, statements):
        """The number of nodes of the syntax tree when all loops are unrolled; None if one cannot be."""
        sizes = []
        for statement in statements:
            if isinstance(statement, ast.For):
                turns, size = self._constant_turns(statement), self._written_out(statement.body)
                sizes.append(None if None in (turns, size) else len(turns) * size)
            elif isinstance(statement, ast.If):
                sizes += [_count(statement.test), self._written_out(statement.body),
                          self._written_out(statement.orelse)]
            elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Pass)):
                sizes.append(_count(statement))
            else:
                return None
        return None if None in sizes else sum(sizes)

    def _write_out(self, node, turns):
        frame = Frame((node.lineno, node.col_offset), {node.target.id}, is_constant=True)
        self.scope.enter(frame)
        self.scope.define(frame.key, node.target.id, INT)
        for turn in turns:
            self.scope.name_view(node.target.id, constant(turn))
            self.block(node.body)
        self.scope.forget_view(node.target.id)
        self.scope.leave()

    # ---- Over a tuple of arrays or texts: a turn for each, written out, since each is another type or view.

    def _over_tuple(self, node):
        """for a in (x, y), for a, w in ((x, 1), (y, 2)): False if there are neither arrays nor texts in
        the tuple."""
        is_literal = isinstance(node.iter, (ast.Tuple, ast.List))
        if not is_literal and not isinstance(node.iter, ast.Name):
            return False
        values = [self.expressions.value(each) for each in node.iter.elts] if is_literal else \
            self.expressions.value(node.iter).items
        if isinstance(node.iter, ast.Name) and isinstance(self.expressions.value(node.iter).type, Record) or not any(
                map(_is_written_out, values)):
            return False
        names = scopes.stored([ast.Expr(node.target)])
        if node.orelse or scopes.has_break(node.body) or scopes.has_continue(node.body):
            self.source.fail(node, "a loop over arrays has a turn for each here, and no break, continue or else: write "
                                   "if in it, or a function that it calls")
        again = names & scopes.stored(node.body)
        if again or any(scopes.is_read_after(self.source.tree, node, name) for name in names):
            self.source.fail(node, f"'{min(again or names)}' is a name for each array of this loop in turn: give what "
                                   "is assigned, or read behind the loop, a name of its own")
        frame = Frame((node.lineno, node.col_offset), names, is_constant=True)
        self.scope.enter(frame)
        for value, part in zip(values, node.iter.elts if is_literal else [node.iter] * len(values)):
            self._bind(frame, node.target, value, part)
            if self.block(node.body):
                break
        for name in names:
            self.scope.forget_view(name)
        self.scope.leave()
        return True

    def _bind(self, frame, target, value, node):
        """Makes the variables of a loop names of these values."""
        if isinstance(target, ast.Name):
            value = self.held(node, self.expressions.named(node, value)) if isinstance(value.type, Array) else \
                self.kept(value, node)
            self.scope.define(frame.key, target.id, value.type)
            self.scope.name_view(target.id, value)
            base = views.base_of(node)
            if base is not None:
                self.scope.alias(target.id, base.id)
            return
        if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != len(value.items):
            self.source.fail(target, f"this takes {len(value.items) or 1} values")
        parts = node.elts if isinstance(node, (ast.Tuple, ast.List)) else [node] * len(value.items)
        for each, item, part in zip(target.elts, value.items, parts):
            self._bind(frame, each, item, part)

    def _over_items(self, node):
        if self._over_tuple(node):
            return
        items = Items(self, node.body)
        items.add(node.target, node.iter)
        if not items.is_known:  # yet; what stays so is empty
            self.block(node.orelse)
            return
        turn = self.temporary()

        following = self.temporary() if items.is_live else None
        if following:
            self.emit(f"var {following} = 0;", node)

        def begin():
            if following:
                self.emit(f"let {turn} = {following};", node)
                self.emit(f"{following} += 1;", node)
            for target, value, iterated in items.stores:
                self.store_value(target, value(turn), iterated)

        self._loop(f"while {following} < {items.size}" if following else f"for {turn} in 0..{items.size}", node, begin)

    # ---- In parallel.

    def _heads(self, node):
        """Variables and ranges of the rectangle that this loop and those directly inside it run over; and the body."""
        call, target = node.iter, node.target
        sizes = self._rectangle(call.args[0]) if len(call.args) == 1 else []
        if sizes:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            if len(names) != len(sizes) or not 1 <= len(names) <= 3:
                self.source.fail(node, "prange((n, m)) gives as many indices as it has sizes, at most three")
            return [(name, ["0", size, "1"]) for name, size in zip(names, sizes)], node.body
        if node.orelse:
            self.source.fail(node.orelse[0], "a prange loop is never left early: write what stands in else behind it")
        heads, body = [(target, self.range(call))], node.body
        while len(heads) < 3 and len(body) == 1 and isinstance(body[0], ast.For) and not body[0].orelse:
            inner = body[0]
            if not (isinstance(inner.iter, ast.Call) and self.means(inner.iter.func, parallel.prange)):
                break
            outer = {each.id for each, _ in heads if isinstance(each, ast.Name)}
            if any(scopes.loads(argument, name) for argument in inner.iter.args for name in outer) or \
                    any(isinstance(argument, ast.Tuple) for argument in inner.iter.args):
                break
            heads.append((inner.target, self.range(inner.iter)))
            body = inner.body
        return heads, body

    def _rectangle(self, node):
        """The sizes in prange((n, m)) or prange(a.shape); none for a number."""
        if isinstance(node, ast.Tuple):
            return [self.expressions.integer(size) for size in node.elts]
        return [item.as_type(INT) for item in self.expressions.value(node).items]

    def _parallel(self, node):
        if node not in self._with_reductions:
            self._with_reductions.add(node)
            node.body = [scopes.Reductions().visit(each) for each in node.body]
        heads, body = self._heads(node)
        frame = Frame((node.lineno, node.col_offset), set(), is_constant=True)
        inner = Frame((node.lineno, node.col_offset, "own"), set())
        ranges, begins, places, counts = [], [], [], []
        for target, (begin, end, step) in heads:
            if not isinstance(target, ast.Name):
                self.source.fail(target, "prange((n, m)) gives two indices; other ranges one")
            if scopes.is_read_after(self.source.tree, node, target.id):
                self.source.fail(node, f"'{target.id}' has no value behind a prange loop")
            frame.names.add(target.id)
            name = self.scope.text(target.id)
            if step == "1":
                ranges.append(f"{name} in {begin}..{end}")
                places.append(name if begin == "0" else f"({name} - {begin})")
                counts.append(end if begin == "0" else f"({end} - {begin})")
                continue
            if not step.isdigit() or step == "0":
                self.source.fail(node, "the step of a prange is a positive constant")
            first, hidden = self.temporary(), self.temporary()
            self.emit(f"let {first} = {begin};", node)
            places.append(hidden)
            counts.append(f"(({end} - {first} + {int(step) - 1}) / {step})")
            ranges.append(f"{hidden} in 0..{counts[-1]}")
            begins.append(f"let {name} = {first} + {hidden} * {step};")
        inner.reductions = self._sort_variables(node, body, frame.names, inner.names)
        self.scope.enter(frame)
        for name in frame.names:
            self.scope.define(frame.key, name, INT)
        reductions = ", ".join(f"{self._reduced_by(name, operator)}: {self.scope.text(name)}"
                               for name, operator in inner.reductions.items())
        at, depth = len(self.lines), self.scope.depth()
        for hint in self.unit.hints:
            self.emit(hint, node)
        self.emit(f"parallel for {', '.join(ranges)}" + (f" reduce({reductions})" if reductions else "") + " {", node)
        own = {self.scope.text(each) for each in frame.names | inner.names | set(inner.reductions)}
        self.parallel = ParallelLoop(places, counts, own, self._next_temporary, node)
        self._parallel_body(node, body, inner, begins)
        self.parallel = None
        self.lines[at:at] = [(depth, text, node.lineno) for text in dict.fromkeys(self.before_parallel)]
        self.before_parallel.clear()
        self.scope.leave()
        self.emit("}", node)

    def _reduced_by(self, name, operator):
        """The operator of a reduction as the language has it, or the function for a complex variable."""
        kind = self.scope.type_of(name)
        if not isinstance(kind, Scalar) or not kind.is_complex or operator not in ("+", "*"):
            return operator
        return complex_numbers.accumulator(self.expressions, kind, operator)[0]

    def _parallel_body(self, node, body, inner, begins):
        self.scope.enter(inner)
        self.scope.open_block()
        depth, loops = self.scope.depth(), self.loops
        self.scope.in_parallel, self.loops = True, []
        for line in begins:
            self.emit(line, node)
        at = len(self.lines)
        self.block(body)
        self.lines[at:at] = self._declarations(inner.key, depth, node)
        self.scope.in_parallel, self.loops = False, loops
        self.scope.close_block()
        self.scope.leave()

    def scratch(self, node, element, sizes):
        """An array of an iteration's own, as a row of one that is made before the prange loop; None if its size differs
        between iterations, or if there are too many dimensions."""
        loop = self.parallel
        if loop is None or len(loop.places) + len(sizes) > 3 or not all(map(self.is_invariant, sizes + loop.counts)):
            return None
        name, rank, used = self.temporary(), len(loop.places) + len(sizes), len(loop.places)
        math = self.unit.module("math")
        counts = [f"{math}.max({count}, 0)" for count in loop.counts]
        self.before_parallel.append(f"let {name} = [{element}, {rank}]({', '.join(counts + list(sizes))});")
        axes = tuple(views.Axis(used + i, size) for i, size in enumerate(sizes))
        return Value(name, Array(element, len(sizes)), view=views.View(rank, axes, tuple(enumerate(loop.places))))

    def is_invariant(self, text):
        """Whether a size is the same in all iterations of the prange loop, and without effects."""
        for word in re.findall(r"[A-Za-z_]\w*", text):
            number = re.fullmatch(r"_t(\d+)", word)
            if word in self.parallel.own or (number and int(number[1]) > self.parallel.first_temporary):
                return False
        return not re.search(r"__\d+\(", text)

    def _sort_variables(self, node, body, loop_variables, own):
        """Puts the variables that iterations assign into `own`, and returns the operators of the reductions."""
        reductions = {}
        tell = calls.is_min_or_max(self.source, self.scope.names())
        for name in scopes.stored(body) - loop_variables:
            if scopes.first_use(body, name) == "load":
                operator = scopes.reduction(body, name, tell)
                if operator is None:
                    self.source.fail(node, f"'{name}' passes a value from one iteration to the next, which run at the "
                                           f"same time: assign it first in the loop, or only ever use `{name} += ...` "
                                           f"or `{name} = max({name}, ...)`, or write range")
                reductions[name] = operator
                continue
            if scopes.is_read_after(self.source.tree, node, name):
                self.source.fail(node, f"'{name}' belongs to an iteration of this prange loop, and is read behind the "
                                       "loop: store it in an array, or make it a reduction")
            own.add(name)
        return reductions



def _is_written_out(value):
    """Whether a value is an array or a text, or a tuple with one: each is another type or view."""
    return isinstance(value.type, (Array, Text)) or (not isinstance(value.type, Record) and any(
        map(_is_written_out, value.items)))


def _count(node):
    return sum(1 for _ in ast.walk(node))
