# SPDX-License-Identifier: Apache-2.0
"""Assignments: to variables, to elements, and to views of arrays."""

from __future__ import annotations

import ast

from ..fields import replace
from . import complex_numbers, dicts, dtypes, lists, optionals, records, scopes, selections, sets, structs, views, whole
from .stores import Stores
from .types import NONE, UNKNOWN, Array, Dict, List, Optional, Scalar, Set, Text, Tuple
from .values import MARK, Value, items_in, struct_of, tuple_of


class Assignments(Stores):
    """The part of Statements that translates assignments. `before_parallel` has what must hold for those of the prange
    loop around them."""

    def _assign(self, node):
        if len(node.targets) == 1 and isinstance(node.value, ast.IfExp) and (
                isinstance(node.targets[0], (ast.Tuple, ast.List)) or self.expressions.chooses_several(node.value)):
            return self.chosen(node.value, lambda value: ast.Assign(node.targets, value))
        if len(node.targets) == 1:
            self.store(node.targets[0], node.value)
            return
        is_new = isinstance(node.value, ast.List) or dicts.is_new(self, node.value)
        value = None if is_new else self.expressions.value(node.value)
        if (is_new or isinstance(value.type, (Array, List, Dict, Tuple))) and all(
                isinstance(target, ast.Name) for target in node.targets):
            self.store(node.targets[0], node.value)
            for target in node.targets[1:]:  # a = b = np.zeros(n): one array
                self.store(target, ast.copy_location(ast.Name(node.targets[0].id, ast.Load()), node))
            return
        if is_new:
            self.source.fail(node, "give this a name first, and assign that")
        if isinstance(value.type, Array):  # b = a[0] = a[:, 1] = x + y: one array, that each takes from the left
            value = self.expressions.named(node.value, value)
            value = self.held(node.value, value) if value.view is not None else self.kept(value, node)
        else:
            value = self.expressions.scalar(node.value)
        if isinstance(value.type, Scalar) and not value.is_constant:
            name = self.temporary()
            self.emit(f"let {name} = {value.text};", node)
            value = Value(name, value.type)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.store_value(target, value, node.value)
            elif isinstance(target, ast.Subscript):
                self._store_element(target, value, node.value)
            else:
                self.source.fail(target, "write an assignment for each variable")

    def _annassign(self, node):
        if node.value is not None:
            self.store(node.target, node.value)

    def store(self, target, value):
        if isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Name) and isinstance(value, ast.List):
            lists.make(self, target, value)
        elif isinstance(target, ast.Name) and lists.repeated(value):
            lists.make(self, target, *lists.repeated(value))
        elif isinstance(target, ast.Name) and dicts.is_new(self, value):
            dicts.make(self, target, value)
        elif isinstance(target, ast.Name):
            self.store_value(target, self.expressions.value(value), value)
        elif isinstance(target, ast.Subscript):
            # a[i] = [x, y] is a row, as a[i] = x, y.
            is_list = isinstance(value, ast.List)
            given = ast.copy_location(ast.Tuple(value.elts, ast.Load()), value) if is_list else value
            result = self.expressions.value(given)
            if MARK in result.text:  # what is assigned is evaluated before the place
                result = self.kept(result, value)
            self._store_element(target, result, value)
        elif isinstance(target, ast.Attribute):
            structs.store(self, target, self.expressions.value(value))
        else:
            self.source.fail(target, "only variables and elements of arrays can be assigned")

    # ---- Several at once.

    def _unpack(self, target, value):
        """x, y = y, x; m, n = a.shape; q, r = f(x)."""
        if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) and any(
                isinstance(each, ast.List) or dicts.is_new(self, each) for each in value.elts) and not any(
                scopes.loads(value, each.id) for each in ast.walk(target) if isinstance(each, ast.Name)):
            for each, item in zip(target.elts, value.elts):
                self.store(each, item)
            return
        if isinstance(value, (ast.Tuple, ast.List)):
            parts = [self.expressions.value(each) for each in value.elts]
            nodes = value.elts
        else:
            several = self.expressions.value(value)
            if several.type == UNKNOWN:
                return
            if isinstance(several.type, Array):
                several = self.expressions.named(value, several)
                if any(isinstance(each, ast.Starred) for each in target.elts):
                    self._unpack_array(target, several, value)
                    return
                parts = self._elements(target, several, value)
            elif isinstance(several.type, Tuple):
                parts = list(several.items) or self._results(several, value)
            else:
                self.source.fail(value, f"{several.type} cannot be unpacked: write each item, xs[0]")
            nodes = [value] * len(parts)
        self._store_parts(target, parts, nodes)

    def _elements(self, target, array, node):
        """The elements of an array for as many variables."""
        array, count = self.held(node, array), len(target.elts)
        self.emit(f'assert({views.sizes(array)[0]} == {count}, "ValueError: {count} variables for a row of another '
                  'size");', node)
        return [views.at(array, (str(position),)) for position in range(count)]

    def _unpack_array(self, target, array, node):
        """a, *rest, b = x: a list of what the others leave of the elements."""
        array = self.held(node, array)
        at, count = [isinstance(each, ast.Starred) for each in target.elts].index(True), len(target.elts) - 1
        size = views.sizes(array)[0]
        self.emit(f'assert({size} >= {count}, "ValueError: not enough values to unpack (expected at least {count})");',
                  node)
        if array.type.rank > 1:
            self.source.fail(target, "a row that takes the rest is a view: rest = x[1:]")
        others = ast.copy_location(ast.Tuple(target.elts[:at] + target.elts[at + 1:], ast.Store()), target)
        places = [str(i) for i in range(at)] + [f"({size} - {i})" for i in range(count - at, 0, -1)]
        rest = target.elts[at].value
        if not (isinstance(rest, ast.Name) and rest.id.startswith("_")):
            upper = ast.Constant(at - count) if at < count else None
            part = ast.Subscript(node, ast.Slice(ast.Constant(at), upper), ast.Load())
            part = views.subscript(self.expressions, ast.fix_missing_locations(ast.copy_location(part, node)), array)
            element = Scalar(array.type.element)
            self.store_value(rest, lists.of_array(self.expressions, node, part, element), target.elts[at])
        self._store_parts(others, [views.at(array, (place,)) for place in places], [node] * count)

    def _store_parts(self, target, parts, nodes):
        starred = [each for each in target.elts if isinstance(each, ast.Starred)]
        if starred and len(parts) >= len(target.elts) - 1:
            self._store_rest(target, starred[0], parts, nodes)
            return
        if len(parts) != len(target.elts):
            self.source.fail(target, f"{len(target.elts)} variables for {len(parts)} values")
        parts = [self.kept(part, node) for part, node in zip(parts, nodes)]
        for each, part, node in zip(target.elts, parts, nodes):
            if isinstance(each, ast.Name):
                self.store_value(each, part, node)
            elif isinstance(each, ast.Subscript):
                self._store_element(each, part, node)
            elif isinstance(each, ast.Attribute):
                structs.store(self, each, part)
            elif isinstance(each, (ast.Tuple, ast.List)):
                if isinstance(part.type, Array):
                    items = self._elements(each, self.expressions.named(node, part), node)
                    self._store_parts(each, items, [node] * len(items))
                elif part.type != UNKNOWN:
                    self._store_parts(each, part.items, [node] * len(part.items))
            else:
                self.source.fail(each, "only variables and elements of arrays can be assigned")

    def _store_rest(self, target, starred, parts, nodes):
        """first, *rest, last = t: a list of what the others leave."""
        at = target.elts.index(starred)
        end = len(parts) - (len(target.elts) - at - 1)
        rest = {ast.copy_location(ast.Name("rest'", ast.Load()), target): self.kept(part, node)
                for part, node in zip(parts[at:end], nodes[at:end])}
        others = ast.copy_location(ast.Tuple(target.elts[:at] + target.elts[at + 1:], ast.Store()), target)
        self._store_parts(others, parts[:at] + parts[end:], nodes[:at] + nodes[end:])
        made = ast.copy_location(ast.List(list(rest), ast.Load()), target)
        self.expressions.while_given(rest, lambda: self.store(starred.value, made))

    def _results(self, several, node):
        name = self.temporary()
        self.emit(f"let {name} = {several.text};", node)
        return list(items_in(name, several.type).items)

    def kept(self, value, node):
        """The value as it is now, whatever is assigned meanwhile. A view stays one."""
        if value.type == UNKNOWN or value.is_constant or value.view is not None or isinstance(value.type, Tuple):
            return value
        if isinstance(value.type, Array):
            value = self.expressions.named(node, value)
        name = self.temporary()
        self.emit(f"let {name} = {value.text};", node)
        return Value(name, value.type)

    # ---- Variables.

    def store_value(self, target, value, node):
        """Gives a variable a value."""
        if value.type == UNKNOWN:
            return
        node = dtypes.same_array(self.expressions, node)
        structs.check_name(self, value, node)
        if value.items:
            self._store_tuple(target, value, node)
            return
        if isinstance(value.type, Tuple):
            if not value.type.items:
                self.source.fail(node, "a tuple has items here: leave it out, or make a list, []")
            self._store_tuple(target, struct_of(value.type, self._results(value, node)), node)
            return
        if isinstance(value.type, (List, Dict)):
            self._store_list(target, value, node)
            return
        if value.type == NONE or isinstance(value.type, Optional) or (
                isinstance(value.type, Scalar) and isinstance(self.scope.type_of(target.id), Optional)):
            optionals.assign(self, target, value)
            return
        if isinstance(value.type, Text):
            advice = "use it where it is needed" if isinstance(value.type, Text) else "it has one name"
            self.source.fail(node, f"{value.type} cannot be kept in a variable: {advice}")
        if value.view is not None:
            self._store_view(target, value, dtypes.viewed(self.expressions, node))
            return
        kind = self.scope.assign(target, target.id, value.type)
        name = self.scope.text(target.id)
        if isinstance(kind, Scalar):
            self.emit(f"{name} = {value.as_type(kind)};", target)
            return
        value = self.expressions.named(node, value)
        if value.view is not None:
            self._store_view(target, value, node)
            return
        if self.expressions.is_sequential:
            self.source.fail(target, "arrays cannot be assigned to variables in a prange loop: use them directly")
        if isinstance(node, ast.IfExp):
            self.source.fail(node, "choose between arrays with if and else statements")
        self._alias(target, value, node)
        self._note_copied_view(target, node)
        if self.scope.declare_array(target, target.id):
            self.emit(f"var {name} = {value.text};", target)
        else:
            self.emit(f"{name} = {value.text};", target)

    def _store_list(self, target, value, node):
        """Another name for a list, set or dictionary, or the name of a new one."""
        if self.expressions.is_sequential:
            self.source.fail(target, "a prange loop makes and changes no lists: set elements of an array that is made "
                                     "before")
        base = views.base_of(node)
        if base is not None and base.id in self.scope.names():
            self.scope.alias(target.id, base.id)
        kind = self.scope.assign(target, target.id, value.type)
        own = lists if isinstance(kind, List) else sets
        text = own.adapted(self.expressions, node, value, kind)
        is_first = self.scope.declare_array(target, target.id)
        self.emit(f"{'var ' if is_first else ''}{self.scope.text(target.id)} = {text};", target)

    def _store_tuple(self, target, value, node):
        """shape = a.shape: its items stay what they are."""
        if UNKNOWN in [item.type for item in value.items]:
            return
        if records.is_record(value):
            value = records.of_items(value, [self.held(target, item) for item in value.items])
            base = views.base_of(node)
            if base is not None:
                self.scope.alias(target.id, base.id)
        is_in_block = self.scope.depth() > 1 and self.parallel is None and not records.is_record(value) and all(
            isinstance(item.type, Scalar) for item in value.items)
        is_in_block |= structs.is_struct(value) and not value.type.is_fixed and self._changes_fields(target.id)
        if is_in_block or self._is_assigned_again(target):
            self._store_items(target, value, node)
            return
        self._alias(target, value, node)
        self.scope.assign(target, target.id, value.type)
        self.scope.declare_view(target.id)
        self.scope.name_view(target.id, value if records.is_record(value) else
                             struct_of(value.type, [self.kept(item, node) for item in value.items]))

    def _changes_fields(self, name):
        """Whether b.x = 1 is among the statements."""
        return any(isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store) and isinstance(
            each.value, ast.Name) and each.value.id == name for each in ast.walk(self.source.tree))

    def _alias(self, target, value, node):
        """The variable is, or holds, the arrays that this node names."""
        if isinstance(node, ast.Tuple):
            for item, each in zip(value.items, node.elts):
                self._alias(target, item, dtypes.same_array(self.expressions, each))
            return
        base = views.base_of(node)
        if base is not None and any(map(_is_named, value.items or (value,))):
            self.scope.alias(target.id, base.id)

    def _store_items(self, target, value, node):
        """best = (i, x), where it is assigned elsewhere, too: each item is a variable of its own."""
        if records.is_record(value) or not all(isinstance(item.type, Scalar) for item in value.items) or \
                target.id in self.source.parameters:
            self.source.fail(target, f"'{target.id}' is a {value.type} here, and is assigned elsewhere, too: give it a "
                                     "name of its own")
        items = [self.kept(item, node) for item in value.items]
        kinds = self.scope.assign_parts(target, target.id, value.type)
        for position, (item, kind) in enumerate(zip(items, kinds)):
            name = self.scope.text(self.scope.part(target.id, position))
            self.emit(f"{name} = {item.as_type(kind)};", target)
            if self.parallel is not None:
                self.parallel.own.add(name)

    def _is_assigned_again(self, target):
        is_own = self.parallel is not None and self.scope.text(target.id) in self.parallel.own
        nodes = list(ast.walk(self.parallel.node if is_own else self.source.tree))
        in_place = [node.target for node in nodes if isinstance(node, ast.AugAssign)]
        stores = [each for each in nodes if isinstance(each, ast.Name) and each.id == target.id and
                  isinstance(each.ctx, ast.Store) and each not in in_place]
        # Variables of loops that nothing reads behind them are others in each loop.
        loops = [each for each in nodes if isinstance(each, ast.For) and
                 target.id in scopes.stored([ast.Expr(each.target)]) and
                 not scopes.is_read_after(self.source.tree, each, target.id)]
        return len(stores) > max(len(loops), 1) or target.id in self.source.parameters or target.id in self.chosen_names

    def _store_view(self, target, value, source):
        """A variable that is a view of an array: each has its own name, so that it is known which elements it has."""
        if self._is_assigned_again(target):
            self._store_copied_view(target, value, source)
            return
        self.scope.assign(target, target.id, value.type)
        self.scope.declare_view(target.id)
        self.scope.name_view(target.id, self.held(target, value))
        base = views.base_of(source)
        if base is not None:
            self.scope.alias(target.id, base.id)
        self._note_copied_view(target, source)

    def _store_copied_view(self, target, value, source):
        """y = x[1:], where y is assigned elsewhere, too: a copy, as long as neither is written."""
        base = views.base_of(source)
        if base is None and not self.expressions.is_sequential:  # of a new array
            self.store_value(target, whole.new_array(self.expressions, source, value), source)
            return
        if self.expressions.is_sequential:
            self.source.fail(target, f"'{target.id}' is a view of an array here, and is assigned elsewhere, too: give "
                                     "it a name of its own, or write .copy()")
        self.store_value(target, whole.new_array(self.expressions, source, value), source)
        self.scope.alias(target.id, base.id)
        self.scope.copied_view(source, base.id)

    def _note_copied_view(self, target, node):
        base = self.expressions.copied_view_of(node)
        if base is not None:
            self.scope.alias(target.id, base.id)
            self.scope.copied_view(node, base.id)

    def held(self, node, value):
        """An array or view as it is now, whatever is assigned to the names in it."""
        texts = {}

        def hold(text, can_be_array=False):
            if text.lstrip("-").isdigit() or (can_be_array and self.expressions.is_sequential):
                return text
            if self.parallel is not None and self.is_invariant(text):
                return text
            if text not in texts:
                texts[text] = self.temporary()
                self.emit(f"let {texts[text]} = {text};", node)
            return texts[text]

        name = hold(value.text, True)
        if value.view is None:
            return replace(value, text=name)
        axes = tuple(axis.mapped(hold) for axis in value.view.axes)
        fixed = tuple((dimension, hold(text)) for dimension, text in value.view.fixed)
        return replace(value, text=name, view=replace(value.view, axes=axes, fixed=fixed))

    # ---- In place.

    def _augassign(self, node):
        self.expressions.while_given(self._kept_indices(node.target), lambda: self._augment(node))

    def _kept_indices(self, target):
        """The values of indices that are computed once where an element is read and written: out[f(i)] += x."""
        kept, owners = {}, []
        while isinstance(target, ast.Subscript):
            owners.append(target)
            target = target.value
        for owner in reversed(owners):  # as Python evaluates t[f()][g()]
            nodes = owner.slice.elts if isinstance(owner.slice, ast.Tuple) else [owner.slice]
            if isinstance(self.expressions.value(owner.value).type, Dict):
                nodes = []  # see dicts.update_item
            for each in nodes:
                parts = (each.lower, each.upper, each.step) if isinstance(each, ast.Slice) else (each,)
                for part in filter(self._is_computed, parts):
                    value = self.expressions.value(part)
                    if isinstance(value.type, (Scalar, Array)) and value.elements is None:
                        kept[part] = self.kept(value, owner)
        return kept

    def _is_computed(self, node):
        """Whether an index should not be computed twice: for what it changes, or for the time that it takes."""
        return node is not None and any(
            (isinstance(each, ast.Call) and not self.means(each.func, len)) or
            isinstance(getattr(each, "op", None), (ast.Mod, ast.FloorDiv)) for each in ast.walk(node))

    def _augment(self, node):
        mask = selections.condition(self.expressions, node.target)
        if mask is not None:
            self._store_selected(node.target, *selections.updated_elements(self.expressions, node, mask))
            return
        if isinstance(node.target, ast.Subscript):
            base = self.expressions.value(node.target.value)
            if isinstance(base.type, Dict):
                if isinstance(base.type.value, List):
                    self._augment_collection(node, self.expressions.value(node.target))
                elif isinstance(base.type.value, Array):
                    self._augment_elements(node, self.held(node, self.expressions.value(node.target)))
                elif base.type.value != UNKNOWN or not isinstance(self.expressions.value(node.value).type, Array):
                    dicts.update_item(self, node, base)
                return
            node.target = self.expressions.with_indices(node.target)
            updated = ast.copy_location(ast.BinOp(node.target, node.op, node.value), node)
            old = self.expressions.value(node.target)
            if isinstance(old.type, Array) and self._selects(node.target):
                value = self.expressions.value(updated)
                self._check_in_place(node, old, value)
                self._store_chosen(node.target, value)
                return
        old = self.expressions.value(node.target)
        if optionals.is_number(old):
            old = optionals.number(self.expressions, old)
            self.store_value(node.target, self.expressions.operation(node, node.op, old, self.expressions.scalar(
                node.value)), node)
            return
        if isinstance(old.type, (List, Dict)):
            self._augment_collection(node, old)
        elif isinstance(old.type, Array):
            self._augment_elements(node, old)
        elif isinstance(node.target, ast.Name):
            self._augment_variable(node, old)
        elif isinstance(node.target, ast.Attribute):
            structs.store(self, node.target, self.expressions.operation(node, node.op, old, self.expressions.scalar(
                node.value)))
        else:
            self._note_written(node.target)
            value = self.expressions.operation(node, node.op, old, self.expressions.scalar(node.value))
            if isinstance(base.type, List):
                lists.store_item(self, node.target, value, node)
            elif UNKNOWN not in (old.type, value.type):
                self.emit(f"{old.text} = {value.as_type(old.type)};", node)

    def _augment_collection(self, node, old):
        """xs += ys and seen |= others, which change what other names have, too."""
        method = {(List, ast.Add): "extend", (Set, ast.BitOr): "update", (Dict, ast.BitOr): "update"}.get(
            (type(old.type), type(node.op)))
        if method is None:
            symbols = "+= only" if isinstance(old.type, List) else "|= only; write seen = seen - others"
            self.source.fail(node, f"a {old.type} is changed by {symbols}")
        call = ast.Call(ast.Attribute(node.target, method, ast.Load()), [node.value], [])
        self._expr(ast.fix_missing_locations(ast.copy_location(ast.Expr(ast.copy_location(call, node)), node)))

    def _augment_elements(self, node, place):
        """a += b, a[1:] *= 2."""
        value = self.expressions.value(ast.copy_location(ast.BinOp(node.target, node.op, node.value), node))
        if value.type == UNKNOWN:
            return
        self._check_in_place(node, place, value)
        self._note_written(node.target)
        self._store_elements(node.target, place, value, node.value)

    def _check_in_place(self, node, place, value):
        if value.type == UNKNOWN:
            return
        old, new = Scalar(place.type.element), Scalar(value.type.element)
        # As NumPy has it: to a number of a kind that comes later.
        order = [[kind.is_integer, kind.is_float, kind.is_complex].index(True) if kind.name != "bool" else -1
                 for kind in (old, new)]
        if order[1] > order[0] or (old.name == "bool" and new != old):
            self.source.fail(node, f"the result is {new}, and does not fit into an {place.type}: write a = a + b")

    def _augment_variable(self, node, old):
        name, operator = node.target.id, self.scope.reduction(node.target.id)
        value = self.expressions.scalar(node.value)
        result = self.expressions.operation(node, node.op, old, value)
        kind = self.scope.assign(node.target, name, result.type)
        if kind == UNKNOWN:  # it gets its first value further down
            return
        if operator is None:
            self.emit(f"{self.scope.text(name)} = {result.as_type(kind)};", node)
        elif isinstance(kind, Scalar) and kind.is_complex:
            negative = "-" * isinstance(node.op, ast.Sub)
            _, update = complex_numbers.accumulator(self.expressions, kind, operator)
            self.emit(update(self.scope.text(name), f"({negative}{value.as_type(kind)})"), node)
        elif isinstance(kind, Scalar):
            symbol = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}.get(type(node.op), operator)
            self.emit(f"{self.scope.text(name)} {symbol}= {value.as_type(kind)};", node)


def _is_named(value):
    """Whether it is an array, or a tuple with one, that is not made where it stands: x[order] is made by a call."""
    if value.items:
        return any(map(_is_named, value.items))
    return isinstance(value.type, Array) and value.elements is None and not value.text.endswith(")")
