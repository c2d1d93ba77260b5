# SPDX-License-Identifier: Apache-2.0
"""Results of functions: what `return` gives to Python, or to the compiled function that calls."""

from __future__ import annotations

import ast

from ..fields import replace
from . import dicts, dtypes, list_functions, lists, optionals, structs
from .types import (FLOAT, INT, KEY_TEXT, MIXED, NONE, UNKNOWN, Array, Dict, Given, List, Listed, Named, Optional,
                    Record, Scalar, Set, Struct, Tuple, join, join_results, literal, outward, text)
from .values import Value, struct_of, tuple_of
from .views import PassedView, base_of
from .whole import new_array


class Returns:
    """The part of Statements that translates `return`. `returned` has the statements that may be reached."""

    def _return(self, node):
        self.returned.append(node)
        if self.scope.in_parallel:
            self.source.fail(node, "a prange loop runs all of its iterations: return cannot leave it")
        if isinstance(node.value, ast.IfExp) and (self._is_mixed(node.value) or
                                                  self.expressions.chooses_several(node.value)):
            return self.chosen(node.value, ast.Return)
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            result = self._note_result(node, NONE)
            self.emit(f"return{self._absent(result)};", node)
        elif self.version.is_entry and isinstance(node.value, ast.Dict) and node.value.keys and all(
                isinstance(each, ast.Constant) and isinstance(each.value, str) for each in node.value.keys):
            self._return_several(node, node.value.values, [self.expressions.value(each) for each in node.value.values],
                                 tuple(each.value for each in node.value.keys))
        elif isinstance(node.value, ast.Tuple) and not any(isinstance(each, ast.Starred) for each in node.value.elts):
            if not node.value.elts:
                self.source.fail(node, "a tuple that is returned has items: return None, or -1")
            self._return_several(node, node.value.elts, [self.expressions.value(each) for each in node.value.elts])
        else:
            part = dtypes.same_array(self.expressions, node.value)
            value = self.expressions.value(part)
            value = self._given(part, value) or value
            if optionals.is_number(value):
                self._return_optional(node, value)
                return True
            self._check_struct(node, value)
            if isinstance(value.type, Tuple) and not value.items:
                value = struct_of(value.type, self._results(value, node))
            if value.items:
                self._return_several(node, _items_of(part, len(value.items)), value.items, of_class=value.type)
            elif value.type != UNKNOWN:
                self._check_results(node, [value])
                value = self._result(part, value)
                result = self._note_result(node, value.type)
                self.emit(f"return {self._as_result(value, result, node)};", node)
        return True

    def _is_mixed(self, node):
        """Whether a conditional expression is an integer or a float, which Python gets as it is."""
        if not self.version.is_entry or self.expressions.known_test(node.test) is not None:
            return False
        return join_results(*(self.expressions.value(each).type for each in (node.body, node.orelse))) == MIXED

    def _return_optional(self, node, value):
        """A number that may be None."""
        if not self.version.is_entry:
            self.source.fail(node, "a function that compiled code calls returns no None: use -1 or float('nan')")
        name = self.temporary()
        self.emit(f"let {name} = {value.text};", node)
        result = self._note_result(node, value.type)
        there = Value(optionals.number(self.expressions, Value(name, value.type)).text, value.type.kind)
        if isinstance(result, Optional):
            is_none = optionals.is_none(self.expressions, Value(name, value.type))
            self.emit(f"if {is_none} {{ return{self._absent(result)}; }}", node)
            self.emit(f"return {self._as_result(there, result, node)};", node)

    def _return_several(self, node, parts, values, names=None, of_class=None):
        if any(map(_has_collection, values)) and any(
                isinstance(each, ast.Call) for part in parts for each in ast.walk(part)):
            # Lists are taken when all is evaluated: `return xs, xs.pop()`.
            values = [self._as_evaluated(value, part) for value, part in zip(values, parts)]
        value = self._results_of(node, parts, values)
        if value is None:
            return
        if names is not None:
            value = replace(value, type=Named(value.type.items, names))
        value = struct_of(of_class, value.items) if names is None else value
        result = self._note_result(node, value.type)
        self.emit(f"return {self._as_result(value, result, node)};", node)

    def _as_evaluated(self, value, node):
        """The value, with what can be a temporary as one."""
        if value.items and not isinstance(value.type, Record):
            return tuple_of(self._as_evaluated(item, node) for item in value.items)
        return value if isinstance(value.type, (List, Dict)) else self.kept(value, node)

    def _results_of(self, node, parts, values):
        """The tuple of these values as they can be returned; None if a type is not known yet."""
        found = []
        for value, part in zip(values, parts):
            if value.type == UNKNOWN:
                return None
            part = dtypes.same_array(self.expressions, part)
            self._check_struct(node, value)
            if isinstance(value.type, Tuple) and not value.items:
                value = struct_of(value.type, self._results(value, node))
            if value.items and not isinstance(value.type, Record):
                inner = part.elts if isinstance(part, (ast.Tuple, ast.List)) and len(part.elts) == len(
                    value.items) else _items_of(part, len(value.items))
                several = self._results_of(node, inner, value.items)
                found.append(several and struct_of(value.type, several.items))
                continue
            if optionals.is_number(value) or (value.type == NONE and self.version.is_entry):
                if not self.version.is_entry:
                    self.source.fail(node, "a function that compiled code calls returns no None: use -1 or "
                                           "float('nan')")
                found.append(value if value.type != NONE else Value("null", Optional(UNKNOWN)))
                continue
            value = self._given(part, value) or self._result(part, value)
            self._check_results(node, [value])
            found.append(value)
        return None if None in found else tuple_of(found)

    def _check_struct(self, node, value):
        """A namedtuple or dataclass of the caller goes to functions, and comes from none."""
        if structs.is_struct(value) and value.type.maker is None:
            self.source.fail(node, f"a {value.type} that the caller has made cannot be returned: return a tuple of its "
                                   "fields, or make a new one of them")

    def _check_results(self, node, values):
        for value in values:
            kind = value.type
            if not isinstance(kind, (Scalar, Array, Given, List, Dict)) and kind != NONE:
                self.source.fail(node, "a function returns numbers, arrays, lists and dictionaries, several of "
                                       f"them as one tuple, and this is {kind}")
            if isinstance(kind, Set) and isinstance(kind.key, Struct):
                self.source.fail(node, f"a set of a {kind.key} cannot be returned: return a list of them, sorted(s)")
            inner = kind.element if isinstance(kind, List) else kind.value if isinstance(kind, Dict) else None
            if isinstance(inner, Struct) and inner.maker is None and self.version.is_entry:
                self.source.fail(node, f"a {inner} that the caller has made cannot be returned: return its fields")
            nested = isinstance(inner, List) and not isinstance(inner.known.element, Scalar)
            if self.version.is_entry and (nested or (isinstance(kind, Dict) and kind.key == KEY_TEXT)):
                self.source.fail(node, f"this {kind} cannot be returned to Python: return arrays of what is in it")

    def _given(self, node, value):
        """The value of a parameter that Python gets back as the object that it has passed; None for other values."""
        if not self.version.is_entry or not isinstance(node, ast.Name) or node.id not in self.source.parameters or \
                node.id in self.scope.assigned_parameters or not isinstance(value.type, (Array, Record)):
            return None
        return Value("0", Given(self.source.parameters.index(node.id), value.type))

    def _own(self, node, value):
        """A variable that may still be the array of a parameter: a copy of it if it is."""
        same = [name for name in self.source.parameters
                if name in self.scope.same_arrays(node.id) and self.scope.type_of(name) == value.type]
        tests = " || ".join(f"{value.text} == {self.scope.parameter_text(name)}" for name in same)
        return replace(value, text=f"(if {tests} {{ {value.text}.copy() }} else {{ {value.text} }})")

    def _result(self, node, value):
        """The value as it can be returned: an array that the caller does not have."""
        if not isinstance(value.type, Array):
            return value
        if isinstance(node, ast.Name) and node.id in self.scope.assigned_parameters and value.view is None:
            return self._own(node, value)
        name = base_of(node) or self.expressions.copied_view_of(node, is_returned=True)
        # Elements that an array chooses, x[order], are a new array; the parts of complex numbers are none in NumPy.
        is_part = value.elements is not None and isinstance(value.elements.node, ast.Attribute)
        if name is not None and (value.elements is None or is_part) and (
                not value.text.endswith(")") or base_of(node) is None):
            same = self.scope.same_arrays(name.id)
            same = same & self._given_arrays() or same - self.scope.names()
            if same and same <= self.scope.assigned_parameters and isinstance(node, ast.Name) and value.view is None:
                return self._own(node, value)
            if same:
                advice = "" if value.view is not None else "return nothing, or "
                self.source.fail(node, f"the caller has '{sorted(same)[0]}' already: {advice}"
                                       f"{ast.unparse(node)}.copy()")
        return value if value.view is None and value.elements is None else new_array(self.expressions, node, value)

    def _given_arrays(self):
        """The parameters that are arrays."""
        return {name for name, kind in zip(self.source.parameters, self.types)
                if isinstance(kind, (Array, Listed, PassedView, Tuple))}

    def _note_result(self, node, kind):
        result = self._joined_result(kind)
        if result is None and Given in map(type, (kind, self.version.result)):
            self.source.fail(node, "a function returns its argument always or never: write .copy() behind it")
        if result is None:
            is_inner = NONE in (kind, self.version.result)
            advice = "; -1 or float('nan') can stand for no number that another function gets" * is_inner
            self.source.fail(node, f"this returns {kind}, and another return {self.version.result}: a function has one "
                                   f"type of result{advice}")
        self.version.result = result
        return result

    def _joined_result(self, kind):
        """The type of all results so far. Python gets a value or None; compiled functions get one type."""
        old = self.version.result
        if not self.version.is_entry:
            return join(old, kind)
        if (NONE not in (old, kind) and Optional not in (type(old), type(kind))) or \
                UNKNOWN in (old, kind) or old == kind:
            return join_results(old, kind)
        there = [each.kind if isinstance(each, Optional) else each for each in (old, kind) if each != NONE]
        joined = there[0] if len(there) == 1 else join_results(*there)
        return None if joined is None else Optional(joined)

    def _absent(self, kind):
        """The text behind `return` where a result of this type is None."""
        if not isinstance(kind, Optional):
            return ""
        return f" {self.unit.struct(outward(kind))}(false, {self._default(outward(kind).items[1])})"

    def _default(self, kind):
        if isinstance(kind, Tuple):
            return f"{self.unit.struct(kind)}({', '.join(map(self._default, kind.items))})"
        if isinstance(kind, Array):
            return f"{kind.text}({', '.join('0' * kind.rank)})"
        return literal(0, text(kind))

    def _as_result(self, value, kind, node):
        """The text of a result of this type."""
        if isinstance(kind, Optional):
            return self._as_optional(value, kind, node)
        if kind == MIXED:
            parts = ("true", value.as_type(INT), literal(0, "f64")) if value.type.is_integer else (
                "false", literal(0, "i64"), value.as_type(FLOAT))
            return f"{self.unit.struct(outward(kind))}({', '.join(parts)})"
        if isinstance(kind, Tuple) and value.items:
            parts = [self._as_result(item, each, node) for item, each in zip(value.items, kind.items)]
            struct = outward(kind) if self.version.is_entry else kind
            return f"{self.unit.struct(struct)}({', '.join(parts)})"
        if isinstance(kind, (List, Dict)):
            return self._as_collection(value, kind, node)
        return value.as_type(kind) if isinstance(kind, Scalar) else value.text

    def _as_optional(self, value, kind, node):
        """The text of a result that may be None: whether it is there, and the value."""
        struct = self.unit.struct(outward(kind))
        if not isinstance(value.type, Optional):
            return f"{struct}(true, {self._as_result(value, kind.kind, node)})"
        if value.type.kind == UNKNOWN:
            return f"{struct}(false, {self._default(outward(kind).items[1])})"
        there = Value(optionals.number(self.expressions, value).text, value.type.kind)
        is_none = optionals.is_none(self.expressions, value)
        return f"(if {is_none} {{ {struct}(false, {self._default(outward(kind).items[1])}) }} else {{ " \
               f"{struct}(true, {self._as_result(there, kind.kind, node)}) }})"

    def _as_collection(self, value, kind, node):
        """The text of a list or dictionary as a result: Python gets arrays of what is in it."""
        if isinstance(kind, List):
            value = Value(lists.adapted(self.expressions, node.value, value, kind), kind)
        if not self.version.is_entry:
            return value.text
        name = self.temporary()
        self.emit(f"let {name} = {value.text};", node)
        value = Value(name, value.type)
        parts = list_functions.parts(self.expressions, value) if isinstance(kind, List) else dicts.parts(
            self.expressions, value)
        return f"{self.unit.struct(outward(kind))}({', '.join(parts)})"


def _has_collection(value):
    return isinstance(value.type, (List, Dict)) or any(map(_has_collection, value.items))


def _items_of(node, count):
    """The nodes of the items of a tuple: t[0], t[1] of t."""
    return [ast.copy_location(ast.Subscript(node, ast.Constant(position), ast.Load()), node)
            for position in range(count)]
