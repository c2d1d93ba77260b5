# SPDX-License-Identifier: Apache-2.0
"""Statements of Python as statements of the language, of one function for one combination of types."""

from __future__ import annotations

import ast
import builtins
import re
import sys

from ..errors import TranslationError
from . import advice, dicts, parameters, scopes, texts
from .assignments import Assignments
from .expressions import Expressions
from .handlers import Handlers
from .loops import Loops
from .returns import Returns
from .types import BOOL, NONE, UNKNOWN, Array, Dict, List, Listed, Optional, Scalar, Text, Tuple, Unconvertible
from .values import MARK, Value, quoted
from .views import PassedView, base_of
from .variables import Variables


class Statements(Assignments, Handlers, Loops, Returns):
    """Translates a function, pass after pass, until no type changes any more."""

    def __init__(self, source, unit, types, version):
        self.source, self.unit, self.types, self.version = source, unit, types, version
        self.scope = Variables(source)
        self.expressions = Expressions(source, unit, self.scope, version)
        self.lines = []
        self.loops, self.before_parallel, self._with_reductions, self.parallel = [], [], set(), None
        self.handlers, self.caught = [], []
        self._evaluated = set()  # marks of calls in the lines of a statement
        self.chosen_names = set()  # of variables that a conditional expression gives one of two values
        self.expressions.statements = self

    def run(self):
        """The lines of the function's body: (depth, text, line of the Python code)."""
        for _ in range(20):
            self.scope.begin_pass()
            self.lines, self._next_temporary, self.returned = [], 0, []
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
        self.scope.check_lists()
        if self.version.result == UNKNOWN:
            for each in self.returned:
                if each.value is not None:
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
            elif isinstance(kind, Listed):
                self.scope.take_list(self.source.tree, name, List(kind.element))
                made = parameters.listed(self.unit, self.scope.parameter_text(name), kind)
                self.emit(f"var {self.scope.text(name)} = {made};", self.source.tree)
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
        for mark in re.findall(f"{MARK}(\\d+){MARK}", text):
            if mark in self._evaluated:
                self.source.fail(node, "a call in this would be evaluated twice: give its result a name first")
            self._evaluated.add(mark)
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
            outer, self._evaluated = self._evaluated, set()
            try:
                if method(statement):
                    return True
            except Unconvertible as error:
                self.source.fail(statement, str(error))
            finally:
                self._evaluated = outer
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
        self.chosen_names |= scopes.stored(branches[0])
        return self._if(ast.copy_location(ast.If(node.test, *branches), node))

    def _pass(self, node):
        pass

    # ---- The rest.

    def _expr(self, node):
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if isinstance(node.value, (ast.Yield, ast.YieldFrom, ast.Await)):
            self.source.fail(node, "a generator is compiled where a loop goes over it, for x in f(..), or list(f(..)): "
                                   "here fill an array or a list, and return it")
        if not isinstance(node.value, ast.Call):
            self.source.fail(node, "this has no effect")
        if isinstance(node.value.func, ast.Name) and self.means(node.value.func, print):
            self._print(node)
            return
        out = [each for each in node.value.keywords if each.arg == "out"] or self._last_is_out(node.value)
        if out:
            self._store_out(node, out[0])
            return
        value = self.expressions.value(node.value)
        if value.type == UNKNOWN and "(" in value.text:  # a function calls itself, or one that calls it
            self.emit(self.version.alone(value.text), node)
            return
        self.emit(f"{value.text};" if value.type == NONE else f"let _ = {value.text};", node)

    def _last_is_out(self, call):
        """np.add(a, b, c): the array behind the operands, as a keyword."""
        try:
            function = self.source.meaning(call.func, self.scope.names())
        except LookupError:
            return []
        if not isinstance(function, getattr(sys.modules.get("numpy"), "ufunc", ())) or \
                len(call.args) != function.nin + 1:
            return []
        return [ast.keyword("out", call.args[-1])]

    def _store_out(self, node, out):
        """np.sqrt(a, out=b), as b[...] = np.sqrt(a)."""
        operands = [each for each in node.value.args if each is not out.value]
        call = ast.copy_location(ast.Call(node.value.func, operands,
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
        return self.means_any(node, (thing,))

    def means_any(self, node, things):
        """Whether the name is that of one of these things."""
        try:
            meant = self.source.meaning(node, self.scope.names())
        except LookupError:
            return False
        return any(meant is each for each in things)

    def _print(self, node):
        if self.expressions.is_sequential:
            self.source.fail(node, "a prange loop cannot print")
        given = {each.arg: getattr(each.value, "value", None) for each in node.value.keywords if each.arg != "flush"}
        if set(given) - {"sep", "end"} or not all(isinstance(each, str) for each in given.values()):
            self.source.fail(node, "print takes what it prints here, and sep and end as texts")
        if not given:
            self.emit(f"print({', '.join(map(self._printed, node.value.args))});", node)
            return
        parts = [self._in_text(each) for each in node.value.args]
        begin, end = (quoted(given.get(*each))[1:-1].replace("{", "{{").replace("}", "}}")
                      for each in (("sep", " "), ("end", "\n")))
        self.unit.module("io")
        self.emit(f'io.write(f"{begin.join(parts)}{end}");', node)

    def _in_text(self, node):
        """An argument of print as a part of a formatted text."""
        text = self._printed(node)
        if text.startswith('f"'):
            return text[2:-1]
        if text.startswith('"'):
            return text[1:-1].replace("{", "{{").replace("}", "}}")
        name = self.temporary()
        self.emit(f"let {name} = {text};", node)
        return f"{{{name}}}"

    def _printed(self, node):
        """The text of an argument of print."""
        node = texts.joined(self, node) or node
        if isinstance(node, ast.JoinedStr):
            parts = [self._formatted(each) if isinstance(each, ast.FormattedValue) else
                     quoted(each.value)[1:-1].replace("{", "{{").replace("}", "}}") for each in node.values]
            return f'f"{"".join(parts)}"'
        if texts.is_formatting(node):
            self._fail_format(node)
        said = self.said_by(node)
        if said is not None:
            return said
        value = self.expressions.value(node)
        if isinstance(value.type, Text):
            return quoted(value.constant)
        value = self.expressions.scalar(node)
        if value.type != UNKNOWN and value.type.is_complex:
            self.source.fail(node, "a complex number is printed by its parts: print(z.real, z.imag)")
        return f'(if {value.text} {{ "True" }} else {{ "False" }})' if value.type == BOOL else value.text

    def _formatted(self, node):
        """A number in a formatted text, which the language formats as Python does."""
        kind = self.expressions.value(node.value).type
        spec = texts.specification(node, getattr(kind, "is_integer", False))
        is_repr = node.conversion == ord("r")
        if node.conversion not in (-1, ord("r"), ord("s")) or spec is None or (spec and (
                kind == BOOL or isinstance(kind, Text) or node.conversion != -1)) or (is_repr and kind == BOOL):
            self._fail_format(node)
        if isinstance(kind, Text):
            written = quoted(repr(kind.value) if is_repr else kind.value)
            return written[1:-1].replace("{", "{{").replace("}", "}}")
        if is_repr and isinstance(kind, Scalar) and not kind.is_weak:
            return f"np.{kind}({{{self._printed(node.value)}}})"
        return f"{{{self._printed(node.value)}{spec and ':'}{spec}}}"

    def _fail_format(self, node):
        self.source.fail(node, "this format is not one of the numbers here: {x}, {x:8.3f}, {x:.3e}, {x:g} and {n:5d} "
                               "are, and what % and format(..) have for these")

    def _assert(self, node):
        kind = "ValueError" if self.source.is_ours else "AssertionError"
        given = ast.Constant(f"assert {ast.unparse(node.test)}") if node.msg is None else node.msg
        text = self._fixed(node, self._message(kind, [given]))
        self.emit(f"assert({self.expressions.test(node.test)}, {text});", node)

    def _raise(self, node):
        self.emit(f"trap({self._fixed(node, self._raised(node))});", node)
        return True

    def _fixed(self, node, text):
        """The text of an exception, which holds no numbers in a prange loop."""
        if self.expressions.is_sequential and not text.startswith('"'):
            self.source.fail(node, "in a prange loop the text of an exception is the same for all iterations: leave "
                                   "the numbers out of it")
        return text

    def _raised(self, node):
        """The message of the trap, "ValueError: too small": dhpvm.errors makes this exception of it."""
        exception = node.exc
        again = self.raised_again(node)
        if again is not None:
            return again
        if exception is None:
            self.source.fail(node, "raise stands with an exception: raise ValueError(\"..\")")
        if not isinstance(exception, ast.Call):
            return self._message(self._name_of_exception(exception), [])
        return self._message(self._name_of_exception(exception.func), exception.args)

    def _name_of_exception(self, node):
        """Its class is noted, so that clauses for the classes that it is derived from catch it."""
        try:
            meant = self.source.meaning(node, self.scope.names())
        except LookupError:
            meant = None
        if not isinstance(meant, type) or not issubclass(meant, BaseException):
            return ast.unparse(node)
        if getattr(builtins, meant.__name__, None) is not meant and meant not in self.unit.raised:
            self.unit.raised[meant] = True
            self.scope.has_changed = True
        return meant.__name__

    def _message(self, kind, nodes):
        """The text of a message in the language. Numbers in f"n is {n}" and its kin are put in; others stand as they
        are written."""
        written = [each.value if isinstance(each, ast.Constant) else ast.unparse(each) for each in nodes]
        text = texts.joined(self, nodes[0]) if len(nodes) == 1 else None
        if text is not None:
            try:
                return f'f"{quoted(kind)[1:-1]}: {self._printed(text)[2:]}'
            except TranslationError:
                pass  # a format that numbers do not have here
        return quoted(f"{kind}: {', '.join(map(str, written))}")

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
