# SPDX-License-Identifier: Apache-2.0
"""Statements of Python as statements of the language, of one function for one combination of types."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import replace

from . import advice, dicts, list_functions, lists, optionals, parameters, scopes
from .assignments import Assignments
from .expressions import Expressions
from .loops import Loops
from .types import (BOOL, KEY_TEXT, NONE, UNKNOWN, Array, Dict, Given, List, Named, Optional, Record, Scalar, Text,
                    Tuple, Unconvertible, join, literal, outward, text)
from .values import Value, quoted, tuple_of
from .views import PassedView, base_of
from .variables import Variables
from .whole import new_array


class Statements(Assignments, Loops):
    """Translates a function, pass after pass, until no type changes any more."""

    def __init__(self, source, unit, types, version):
        self.source, self.unit, self.types, self.version = source, unit, types, version
        self.scope = Variables(source)
        self.expressions = Expressions(source, unit, self.scope, version)
        self.lines = []
        self.loops, self.before_parallel, self._with_reductions, self.parallel = [], [], set(), None
        self.expressions.statements = self

    def run(self):
        """The lines of the function's body: (depth, text, line of the Python code)."""
        for _ in range(20):
            self.scope.begin_pass()
            self.lines, self._next_temporary = [], 0
            self.version.kernels.clear()
            self._parameters()
            result = self.version.result
            if not self.block(self.source.tree.body):
                self._end(self.source.tree.body[-1])
            if not self.scope.has_changed and result == self.version.result:
                break
        else:
            self.source.fail(self.source.tree, "the types of its variables do not settle: give them different names")
        self.scope.check_copied_views()
        if self.version.result == UNKNOWN:
            for each in ast.walk(self.source.tree):
                if isinstance(each, ast.Return) and each.value is not None:
                    self.source.fail(each, "the type of this result is not known: return a number before the function "
                                           "calls itself")
            self.version.result = NONE
        skipped = set(self.source.parameters) - self.scope.assigned_parameters
        return self._declarations(0, 1, self.source.tree, skipped) + self.lines

    def _end(self, node):
        """What is behind the last statement returns None."""
        if self.version.is_entry and self.version.result not in (NONE, UNKNOWN):
            self.emit(f"return{self._absent(self._note_result(node, NONE))};", node)

    def _parameters(self):
        """Those that are assigned are copied first: parameters of the language cannot be."""
        assigned = scopes.stored(self.source.tree.body)
        replaced = scopes.stored(self.source.tree.body, in_place=False)
        for name, kind in zip(self.source.parameters, self.types):
            if name in assigned and isinstance(kind, Scalar):
                self.scope.assigned_parameters.add(name)
                joined = self.scope.assign(self.source.tree, name, kind)
                given = Value(self.scope.parameter_text(name), kind)
                self.emit(f"{self.scope.text(name)} = {given.as_type(joined)};", self.source.tree)
            elif name in replaced and isinstance(kind, (Array, List, Dict)):
                self.scope.assigned_parameters.add(name)
                self.scope.assign(self.source.tree, name, kind)
                self.scope.declare_array(self.source.tree, name)
                self.emit(f"var {self.scope.text(name)} = {self.scope.parameter_text(name)};", self.source.tree)
            elif isinstance(kind, (PassedView, Tuple)):
                value = parameters.value(self.scope.text(name), kind)
                self.scope.define(0, name, value.type)
                self.scope.name_view(name, value)
            else:
                self.scope.define(0, name, kind)

    def _declarations(self, key, depth, node, skipped=frozenset()):
        found = [(depth, f"var {self.scope.text(name)}: {kind.name};", node.lineno)
                 for name, kind in self.scope.scalars(key) if name not in skipped]
        for name, kind in self.scope.used_everywhere() if key == 0 else ():
            sizes = ", ".join("0" * kind.rank) if isinstance(kind, Array) else ""
            if isinstance(kind, Optional):
                self.unit.module("map")
                number = "f64" if kind.kind == UNKNOWN else kind.kind.name
                made = f"Map<i64, {number}>().get(0)"  # null
            else:
                made = f"{self.unit.type_text(kind)}({sizes})"
            found.append((depth, f"var {self.scope.text(name)} = {made};", node.lineno))
        return found

    # ---- Lines.

    def emit(self, text, node):
        self.lines.append((self.scope.depth(), text, node.lineno))

    def temporary(self):
        self._next_temporary += 1
        return f"_t{self._next_temporary}"

    def block(self, statements):
        """Translates statements. Whether nothing is reached behind them; what would be is left out."""
        for statement in statements:
            method = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if method is None:
                name = type(statement).__name__
                instead = advice.STATEMENTS.get(name, "leave it out, or do it outside of the function")
                self.source.fail(statement, f"{name} statements cannot be compiled: {instead}")
            try:
                if method(statement):
                    return True
            except Unconvertible as error:
                self.source.fail(statement, str(error))
        return False

    def braces(self, head, statements, node):
        """A statement with a block."""
        self.emit(head + " {", node)
        self.scope.open_block()
        self.block(statements)
        self.scope.close_block()
        self.emit("}", node)

    # ---- Control flow.

    def _if(self, node):
        known = self.expressions.known_test(node.test)
        if known is not None:
            return self.block(node.body if known else node.orelse)
        self.emit(f"if {self.expressions.test(node.test)} {{", node)
        self.scope.open_block()
        is_end = self.block(node.body)
        self.scope.close_block()
        if node.orelse:
            self.emit("} else {", node.orelse[0])
            self.scope.open_block()
            is_end = self.block(node.orelse) and is_end
            self.scope.close_block()
        self.emit("}", node)
        return is_end and bool(node.orelse)

    def chosen(self, node, statement):
        """The statement with one of the two values of a conditional expression, as an if statement."""
        branches = [[ast.copy_location(statement(value), value)] for value in (node.body, node.orelse)]
        return self._if(ast.copy_location(ast.If(node.test, *branches), node))

    def _pass(self, node):
        pass

    def _return(self, node):
        if self.scope.in_parallel:
            self.source.fail(node, "a prange loop runs all of its iterations: return cannot leave it")
        if isinstance(node.value, ast.IfExp) and any(
                isinstance(each, ast.Tuple) for each in (node.value.body, node.value.orelse)):
            return self.chosen(node.value, ast.Return)
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            result = self._note_result(node, NONE)
            self.emit(f"return{self._absent(result)};", node)
        elif self.version.is_entry and isinstance(node.value, ast.Dict) and node.value.keys and all(
                isinstance(each, ast.Constant) and isinstance(each.value, str) for each in node.value.keys):
            self._return_several(node, node.value.values, [self.expressions.value(each) for each in node.value.values],
                                 tuple(each.value for each in node.value.keys))
        elif isinstance(node.value, ast.Tuple):
            self._return_several(node, node.value.elts, [self.expressions.value(each) for each in node.value.elts])
        else:
            value = self.expressions.value(node.value)
            value = self._given(node.value, value) or value
            if optionals.is_number(value):
                self._return_optional(node, value)
                return True
            if isinstance(value.type, Tuple) and not value.items:
                value = tuple_of(self._results(value, node))
            if value.items:
                self._return_several(node, [node.value] * len(value.items), value.items)
            elif value.type != UNKNOWN:
                self._check_results(node, [value])
                value = self._result(node.value, value)
                result = self._note_result(node, value.type)
                self.emit(f"return {self._as_result(value, result, node)};", node)
        return True

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

    def _return_several(self, node, parts, values, names=None):
        value = self._results_of(node, parts, values)
        if value is None:
            return
        if names is not None:
            value = replace(value, type=Named(value.type.items, names))
        result = self._note_result(node, value.type)
        self.emit(f"return {self._as_result(value, result, node)};", node)

    def _results_of(self, node, parts, values):
        """The tuple of these values as they can be returned; None if a type is not known yet."""
        found = []
        for value, part in zip(values, parts):
            if value.type == UNKNOWN:
                return None
            if isinstance(value.type, Tuple) and not value.items:
                value = tuple_of(self._results(value, node))
            if value.items and not isinstance(value.type, Record):
                inner = part.elts if isinstance(part, (ast.Tuple, ast.List)) else [part] * len(value.items)
                found.append(self._results_of(node, inner, value.items))
                continue
            if optionals.is_number(value) or (value.type == NONE and self.version.is_entry):
                self.source.fail(node, "a result that may be None stands alone: return -1 or float('nan') for it among "
                                       "others")
            value = self._given(part, value) or self._result(part, value)
            self._check_results(node, [value])
            found.append(value)
        return None if None in found else tuple_of(found)

    def _check_results(self, node, values):
        for value in values:
            kind = value.type
            if not isinstance(kind, (Scalar, Array, Given, List, Dict)) and kind != NONE:
                self.source.fail(node, "a function returns numbers, arrays, lists and dictionaries, several of "
                                       f"them as one tuple, and this is {kind}")
            inner = kind.element if isinstance(kind, List) else kind.value if isinstance(kind, Dict) else None
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
        name = base_of(node) or self.expressions.copied_view_of(node)
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
                if isinstance(kind, (Array, PassedView, Tuple))}

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
        if not self.version.is_entry or (NONE not in (old, kind) and Optional not in (type(old), type(kind))) or \
                UNKNOWN in (old, kind) or old == kind:
            return join(old, kind)
        there = [each.kind if isinstance(each, Optional) else each for each in (old, kind) if each != NONE]
        joined = there[0] if len(there) == 1 else join(*there)
        return None if joined is None else Optional(joined)

    def _absent(self, kind):
        """The text behind `return` where a result of this type is None."""
        if not isinstance(kind, Optional):
            return ""
        return f" {self.unit.struct(outward(kind))}(false, {self._default(outward(kind.kind))})"

    def _default(self, kind):
        if isinstance(kind, Tuple):
            return f"{self.unit.struct(kind)}({', '.join(map(self._default, kind.items))})"
        if isinstance(kind, Array):
            return f"{kind.text}({', '.join('0' * kind.rank)})"
        return literal(0, text(kind))

    def _as_result(self, value, kind, node):
        """The text of a result of this type."""
        if isinstance(kind, Optional):
            return f"{self.unit.struct(outward(kind))}(true, {self._as_result(value, kind.kind, node)})"
        if isinstance(kind, Tuple) and value.items:
            parts = [self._as_result(item, each, node) for item, each in zip(value.items, kind.items)]
            struct = outward(kind) if self.version.is_entry else kind
            return f"{self.unit.struct(struct)}({', '.join(parts)})"
        if isinstance(kind, (List, Dict)):
            return self._as_collection(value, kind, node)
        return value.as_type(kind) if isinstance(kind, Scalar) else value.text

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

    # ---- The rest.

    def _expr(self, node):
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node.value, (ast.Yield, ast.YieldFrom, ast.Await)):
            self.source.fail(node, "generators and coroutines cannot be compiled: fill an array, and return it")
        if not isinstance(node.value, ast.Call):
            self.source.fail(node, "this has no effect")
        if isinstance(node.value.func, ast.Name) and self.means(node.value.func, print):
            self._print(node)
            return
        out = [each for each in node.value.keywords if each.arg == "out"]
        if out:
            self._store_out(node, out[0])
            return
        value = self.expressions.value(node.value)
        self.emit(f"{value.text};" if value.type == NONE else f"let _ = {value.text};", node)

    def _store_out(self, node, out):
        """np.sqrt(a, out=b), as b[...] = np.sqrt(a)."""
        call = ast.copy_location(ast.Call(node.value.func, node.value.args,
                                          [each for each in node.value.keywords if each is not out]), node)
        try:
            self.source.meaning(call.func, self.scope.names())
        except LookupError:
            if not isinstance(call.func, ast.Attribute):  # a method of an array
                self.source.fail(node, "this has no out=")
        place, value = self.expressions.value(out.value), self.expressions.value(call)
        if UNKNOWN in (place.type, value.type):
            return
        if not isinstance(place.type, Array) or base_of(out.value) is None:
            self.source.fail(node, "out is an array that has a name, or a view of one")
        self._check_in_place(node, place, value)
        whole_array = ast.Subscript(out.value, ast.Constant(Ellipsis), ast.Store())
        self._store_element(ast.fix_missing_locations(ast.copy_location(whole_array, node)), value, call)

    def means(self, node, thing):
        """Whether the name is that of this thing."""
        try:
            return self.source.meaning(node, self.scope.names()) is thing
        except LookupError:
            return False

    def _print(self, node):
        if self.expressions.is_sequential:
            self.source.fail(node, "a prange loop cannot print")
        if node.value.keywords:
            self.source.fail(node, "print takes what it prints here, and no keywords")
        self.emit(f"print({', '.join(map(self._printed, node.value.args))});", node)

    def _printed(self, node):
        """The text of an argument of print."""
        if isinstance(node, ast.JoinedStr):
            parts = [self._formatted(each) if isinstance(each, ast.FormattedValue) else
                     quoted(each.value)[1:-1].replace("{", "{{").replace("}", "}}") for each in node.values]
            return f'f"{"".join(parts)}"'
        value = self.expressions.value(node)
        if isinstance(value.type, Text):
            return quoted(value.constant)
        value = self.expressions.scalar(node)
        if value.type != UNKNOWN and value.type.is_complex:
            self.source.fail(node, "a complex number is printed by its parts: print(z.real, z.imag)")
        return f'(if {value.text} {{ "True" }} else {{ "False" }})' if value.type == BOOL else value.text

    def _formatted(self, node):
        """A number in a formatted text, which the language formats as Python does."""
        spec = ast.unparse(node.format_spec)[2:-1] if node.format_spec else ""
        if node.conversion != -1 or not re.fullmatch(r"(\.\d+[fe])?", spec):
            self.source.fail(node, "numbers are formatted as {x}, {x:.3f} or {x:.3e} here")
        if isinstance(self.expressions.value(node.value).type, Text):
            return self._printed(node.value)[1:-1]
        return f"{{{self._printed(node.value)}{spec and ':'}{spec}}}"

    def _assert(self, node):
        if self.expressions.is_sequential:
            self.source.fail(node, "a prange loop cannot assert: check before the loop")
        message = f"assert {ast.unparse(node.test)}"
        if isinstance(node.msg, ast.Constant) and isinstance(node.msg.value, str):
            message = node.msg.value
        kind = "ValueError" if self.source.is_ours else "AssertionError"
        self.emit(f"assert({self.expressions.test(node.test)}, {quoted(f'{kind}: {message}')});", node)

    def _raise(self, node):
        if self.expressions.is_sequential:
            self.source.fail(node, "a prange loop cannot raise: set a flag in an array")
        self.emit(f"trap({quoted(self._raised(node))});", node)
        return True

    def _raised(self, node):
        """The message of the trap, "ValueError: too small": dhpvm.errors makes this exception of it."""
        exception = node.exc
        if exception is None:
            self.source.fail(node, "raise stands with an exception: raise ValueError(\"..\")")
        if not isinstance(exception, ast.Call):
            return f"{ast.unparse(exception)}: "
        texts = [each.value if isinstance(each, ast.Constant) else ast.unparse(each) for each in exception.args]
        return f"{ast.unparse(exception.func)}: {', '.join(map(str, texts))}"

    # ---- Statements that have no effect on numbers.

    def _delete(self, node):
        for target in node.targets:
            base = self.expressions.value(target.value) if isinstance(target, ast.Subscript) else None
            if base is not None and isinstance(base.type, Dict):
                dicts.delete_item(self, target, base)
            elif base is not None and isinstance(base.type, List):
                self._delete_from_list(target)
            elif not isinstance(target, ast.Name):
                self.source.fail(node, "only variables can be deleted; elements of an array cannot")

    def _delete_from_list(self, target):
        """del xs[i]."""
        if isinstance(target.slice, ast.Slice):
            self.source.fail(target, "a part of a list cannot be deleted: write xs = xs[:i] + xs[j:]")
        call = ast.Call(ast.Attribute(target.value, "pop", ast.Load()), [target.slice], [])
        self._expr(ast.fix_missing_locations(ast.copy_location(ast.Expr(ast.copy_location(call, target)), target)))

    def _import(self, node):
        pass  # source.py has its names

    _importfrom = _import

    def _with(self, node):
        """with np.errstate(..): numbers never warn."""
        for item in node.items:
            call = item.context_expr
            if item.optional_vars or not isinstance(call, ast.Call) or not self.means(
                    call.func, getattr(sys.modules.get("numpy"), "errstate", self)):
                self.source.fail(node, "With statements cannot be compiled, except np.errstate: open and close "
                                       "outside")
        return self.block(node.body)
