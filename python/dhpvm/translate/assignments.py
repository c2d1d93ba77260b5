# SPDX-License-Identifier: Apache-2.0
"""Assignments: to variables, to elements, and to views of arrays."""

from __future__ import annotations

import ast
from dataclasses import replace

from . import complex_numbers, dicts, lists, optionals, records, scopes, selections, sets, views, whole
from .types import NONE, UNKNOWN, Array, Dict, List, Optional, Scalar, Set, Text, Tuple
from .values import Value, quoted, tuple_of


class Assignments:
    """The part of Statements that translates assignments. `before_parallel` has what must hold for those of the prange
    loop around them."""

    def _assign(self, node):
        if len(node.targets) == 1:
            self.store(node.targets[0], node.value)
            return
        value = self.expressions.value(node.value)
        if isinstance(value.type, Array) and all(isinstance(target, ast.Name) for target in node.targets):
            self.store_value(node.targets[0], value, node.value)
            for target in node.targets[1:]:  # a = b = np.zeros(n): one array
                first = ast.copy_location(ast.Name(node.targets[0].id, ast.Load()), node)
                self.store_value(target, self.expressions.value(first), first)
            return
        value = self.expressions.scalar(node.value)
        if value.type != UNKNOWN and not value.is_constant:
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
            self._store_element(target, self.expressions.value(given), value)
        else:
            self.source.fail(target, "only variables and elements of arrays can be assigned")

    # ---- Several at once.

    def _unpack(self, target, value):
        """x, y = y, x; m, n = a.shape; q, r = f(x)."""
        if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts) and all(
                isinstance(each, ast.List) for each in value.elts):
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
                parts = self._elements(target, self.expressions.named(value, several), value)
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

    def _store_parts(self, target, parts, nodes):
        if len(parts) != len(target.elts):
            self.source.fail(target, f"{len(target.elts)} variables for {len(parts)} values")
        parts = [self.kept(part, node) for part, node in zip(parts, nodes)]
        for each, part, node in zip(target.elts, parts, nodes):
            if isinstance(each, ast.Name):
                self.store_value(each, part, node)
            elif isinstance(each, ast.Subscript):
                self._store_element(each, part, node)
            elif isinstance(each, (ast.Tuple, ast.List)):
                if isinstance(part.type, Array):
                    items = self._elements(each, self.expressions.named(node, part), node)
                    self._store_parts(each, items, [node] * len(items))
                elif part.type != UNKNOWN:
                    self._store_parts(each, part.items, [node] * len(part.items))
            else:
                self.source.fail(each, "only variables and elements of arrays can be assigned")

    def _results(self, several, node):
        name = self.temporary()
        self.emit(f"let {name} = {several.text};", node)
        return list(_items_in(name, several.type).items)

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
        if value.items:
            self._store_tuple(target, value, node)
            return
        if isinstance(value.type, Tuple):
            self._store_tuple(target, tuple_of(self._results(value, node)), node)
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
            self._store_view(target, value, node)
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
        if isinstance(node, ast.Name):
            self.scope.alias(target.id, node.id)
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
        if is_in_block or self._is_assigned_again(target):
            self._store_items(target, value, node)
            return
        self.scope.assign(target, target.id, value.type)
        self.scope.declare_view(target.id)
        self.scope.name_view(target.id, value if records.is_record(value) else
                             tuple_of([self.kept(item, node) for item in value.items]))

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
        return len(stores) > max(len(loops), 1) or target.id in self.source.parameters

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

    # ---- Elements and views.

    def _store_element(self, target, value, node):
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
        index = self.expressions.index(target.slice)
        if not isinstance(index.type, Array) or (index.type.element == "bool" and not isinstance(value.type, Array)):
            return False
        from . import library  # which needs NumPy

        array = self.expressions.value(target.value)
        if UNKNOWN not in (array.type, value.type):
            self._note_written(target)
            self.emit(f"{library.store_chosen(self.expressions, target, array, index, value)};", target)
        return True

    def _store_under_arrays(self, target, value):
        """a[rows, columns] = b, a[:, order] = b; False if no index is an array."""
        from . import library  # which needs NumPy

        array = self.expressions.value(target.value)
        if not isinstance(array.type, Array) or not self.expressions.array_indices(target):
            return False
        text = library.store_under_arrays(self.expressions, target, array, value)
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

    # ---- In place.

    def _augassign(self, node):
        mask = selections.condition(self.expressions, node.target)
        if mask is not None:
            self._store_selected(node.target, *selections.updated_elements(self.expressions, node, mask))
            return
        if isinstance(node.target, ast.Subscript):
            base = self.expressions.value(node.target.value)
            if isinstance(base.type, Dict):
                if isinstance(base.type.value, List):
                    self._augment_collection(node, self.expressions.value(node.target))
                else:
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
        else:
            self._note_written(node.target)
            value = self.expressions.operation(node, node.op, old, self.expressions.scalar(node.value))
            if UNKNOWN not in (old.type, value.type):
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
        if operator is None:
            self.emit(f"{self.scope.text(name)} = {result.as_type(kind)};", node)
        elif isinstance(kind, Scalar) and kind.is_complex:
            negative = "-" * isinstance(node.op, ast.Sub)
            _, update = complex_numbers.accumulator(self.expressions, kind, operator)
            self.emit(update(self.scope.text(name), f"({negative}{value.as_type(kind)})"), node)
        elif isinstance(kind, Scalar):
            symbol = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}.get(type(node.op), operator)
            self.emit(f"{self.scope.text(name)} {symbol}= {value.as_type(kind)};", node)


def _items_in(text, kind):
    """The value in a struct for a tuple, or for an item of one."""
    if not isinstance(kind, Tuple):
        return Value(text, kind)
    return tuple_of(_items_in(f"{text}.x{i}", item) for i, item in enumerate(kind.items))


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
    return _places(to) != _places(of)


def _places(view):
    return [(axis.dimension, axis.begin, axis.step) for axis in view.axes], sorted(view.fixed)
