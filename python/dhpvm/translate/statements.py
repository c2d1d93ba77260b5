# SPDX-License-Identifier: Apache-2.0
"""Statements of Python as statements of the language, of one function for one combination of types."""

from __future__ import annotations

import ast

from . import scopes, whole
from .expressions import Expressions
from .loops import Loops
from .types import NONE, UNKNOWN, Array, Scalar, Tuple, join
from .values import Value
from .variables import Variables


class Statements(Loops):
    """Translates a function, pass after pass, until no type changes any more."""

    def __init__(self, source, unit, types, version):
        self.source, self.unit, self.types, self.version = source, unit, types, version
        self.scope = Variables(source)
        self.expressions = Expressions(source, unit, self.scope)
        self.expressions.temporary = self.temporary
        self.lines = []
        self.loop_depth = 0

    def run(self):
        """The lines of the function's body: (depth, text, line of the Python code)."""
        for _ in range(20):
            self.scope.begin_pass()
            self.lines, self._next_temporary = [], 0
            self._parameters()
            result = self.version.result
            self.block(self.source.tree.body)
            if not self.scope.has_changed and result == self.version.result:
                break
        else:
            self.source.fail(self.source.tree, "the types of its variables do not settle: give them different names")
        if self.version.result == UNKNOWN:
            self.version.result = NONE
        skipped = set(self.source.parameters) - self.scope.assigned_parameters
        return self._declarations(0, 1, self.source.tree, skipped) + self.lines

    def _parameters(self):
        """Those that are assigned are copied first: parameters of the language cannot be."""
        assigned = scopes.stored(self.source.tree.body)
        for name, kind in zip(self.source.parameters, self.types):
            if name in assigned and isinstance(kind, Scalar):
                self.scope.assigned_parameters.add(name)
                joined = self.scope.assign(self.source.tree, name, kind)
                given = Value(self.scope.parameter_text(name), kind)
                self.emit(f"{self.scope.text(name)} = {given.as_type(joined)};", self.source.tree)
            else:
                self.scope.define(0, name, kind)

    def _declarations(self, key, depth, node, skipped=frozenset()):
        return [(depth, f"var {self.scope.text(name)}: {kind.name};", node.lineno)
                for name, kind in self.scope.scalars(key) if name not in skipped]

    # ---- Lines.

    def emit(self, text, node):
        self.lines.append((self.scope.depth(), text, node.lineno))

    def temporary(self):
        self._next_temporary += 1
        return f"_t{self._next_temporary}"

    def block(self, statements):
        for statement in statements:
            method = getattr(self, f"_{type(statement).__name__.lower()}", None)
            if method is None:
                self.source.fail(statement, f"{type(statement).__name__} statements cannot be compiled")
            method(statement)

    def braces(self, head, statements, node):
        """A statement with a block."""
        self.emit(head + " {", node)
        self.scope.open_block()
        self.block(statements)
        self.scope.close_block()
        self.emit("}", node)

    # ---- Assignments.

    def _assign(self, node):
        if len(node.targets) == 1:
            self.store(node.targets[0], node.value)
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
                self._store_element(target, node.value, value)
            else:
                self.source.fail(target, "write an assignment for each variable")

    def _annassign(self, node):
        if node.value is not None:
            self.store(node.target, node.value)

    def store(self, target, value):
        if isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target, value)
        elif isinstance(target, ast.Name):
            self.store_value(target, self._any_value(value), value)
        elif isinstance(target, ast.Subscript):
            self._store_element(target, value)
        else:
            self.source.fail(target, "only variables and elements of arrays can be assigned")

    def _any_value(self, node):
        """An expression, which may be one of whole arrays."""
        if whole.is_whole(self.expressions, node):
            return whole.new_array(self, node)
        return self.expressions.value(node)

    def _unpack(self, target, value):
        """x, y = y, x; m, n = a.shape; q, r = f(x)."""
        if isinstance(value, (ast.Tuple, ast.List)):
            parts = [self.expressions.value(each) for each in value.elts]
            nodes = value.elts
        else:
            whole = self.expressions.value(value)
            if whole.type == UNKNOWN:
                return
            if not isinstance(whole.type, Tuple):
                self.source.fail(value, f"{whole.type} cannot be unpacked")
            nodes = [value] * len(whole.type.items)
            if whole.indices:
                parts = [Value(text, kind) for text, kind in zip(whole.indices, whole.type.items)]
            else:
                name = self.temporary()
                self.emit(f"let {name} = {whole.text};", value)
                parts = [Value(f"{name}.x{i}", kind) for i, kind in enumerate(whole.type.items)]
        if len(parts) != len(target.elts):
            self.source.fail(target, f"{len(target.elts)} variables for {len(parts)} values")
        for i, part in enumerate(parts):
            if part.type not in (UNKNOWN,) and not part.is_constant and isinstance(value, (ast.Tuple, ast.List)):
                name = self.temporary()
                self.emit(f"let {name} = {part.text};", value)
                parts[i] = Value(name, part.type)
        for each, part, node in zip(target.elts, parts, nodes):
            if isinstance(each, ast.Name):
                self.store_value(each, part, node)
            elif isinstance(each, ast.Subscript):
                self._store_element(each, node, part)
            else:
                self.source.fail(each, "tuples in tuples cannot be compiled")

    def store_value(self, target, value, node):
        """Gives a variable a value."""
        if value.type == UNKNOWN:
            return
        if value.type == NONE or isinstance(value.type, Tuple):
            self.source.fail(node, f"{value.type} cannot be kept in a variable: unpack it into several")
        kind = self.scope.assign(target, target.id, value.type)
        name = self.scope.text(target.id)
        if isinstance(kind, Scalar):
            self.emit(f"{name} = {value.as_type(kind)};", target)
            return
        if self.scope.in_parallel:
            self.source.fail(target, "arrays cannot be assigned to variables in a prange loop: use them directly")
        value = self.expressions.whole_array(node, value)
        if isinstance(node, ast.Name):
            self.scope.alias(target.id, node.id)
        elif isinstance(node, ast.IfExp):
            self.source.fail(node, "choose between arrays with if and else statements")
        if self.scope.declare_array(target, target.id):
            self.emit(f"var {name} = {value.text};", target)
        elif target.id in self.source.parameters:
            self.source.fail(target, f"'{target.id}' is a parameter: give the array another name, {target.id}2 = ...")
        else:
            self.emit(f"{name} = {value.text};", target)

    def _store_element(self, target, node, value=None):
        if ast.unparse(target.slice) == ":":
            self._fill(target, node)
            return
        element = self._element(target)
        value = self.expressions.scalar(node) if value is None else value
        if element.type != UNKNOWN:
            self.emit(f"{element.text} = {value.as_type(element.type)};", target)

    def _fill(self, target, node):
        """a[:] = x."""
        array = self.expressions.whole_array(target.value, self.expressions.value(target.value))
        if isinstance(array.type, Array) and whole.leaves(self.expressions, node):
            self._store_whole(target, target.value, array, node)
            return
        value = self.expressions.scalar(node)
        if array.type == UNKNOWN:
            return
        if self.scope.in_parallel:
            self.source.fail(target, "in a prange loop elements are set one by one: write a loop")
        self._note_written(target)
        self.emit(f"{array.text}.fill({value.as_type(Scalar(array.type.element))});", target)

    def _store_whole(self, target, name, array, node):
        """a[:] = b + c; the same elements are read and written, so that a may be among the others."""
        self._note_written(target)
        element = Scalar(array.type.element)
        # An element that is read on its own may be one that the loop has written.
        made = None
        if any(isinstance(each, ast.Subscript) for each in ast.walk(node)):
            made = whole.new_array(self, node)
            if made.type == UNKNOWN:
                return

        def store(indices):
            if made is None:
                value = whole.element(self.expressions, node, indices)
            else:
                value = Value(f"{made.text}[{', '.join(indices)}]", Scalar(made.type.element))
            if value.type != UNKNOWN:
                self.emit(f"{array.text}[{', '.join(indices)}] = {value.as_type(element)};", target)

        others = whole.leaves(self.expressions, node) if made is None else [(node, made)]
        whole.loop(self, target, [(name, array), *others], store)

    def _element(self, target):
        """The place of an element that is written."""
        element = self.expressions.value(target)
        if isinstance(element.type, Array):
            self.source.fail(target, "a row cannot be assigned: write a loop over its elements")
        self._note_written(target)
        return element

    def _note_written(self, target):
        """The array that is written, however its element is named."""
        base = target
        while isinstance(base, ast.Subscript):
            base = base.value
        if isinstance(base, ast.Name):
            self.scope.written(base.id)

    def _augassign(self, node):
        if isinstance(node.target, ast.Name):
            old = self.expressions.value(node.target)
            if isinstance(old.type, Array):
                name = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
                result = ast.copy_location(ast.BinOp(name, node.op, node.value), node)
                self._store_whole(node.target, name, old, result)
                return
            name, operator = node.target.id, self.scope.reduction(node.target.id)
            value = self.expressions.scalar(node.value)
            result = self.expressions.operation(node, node.op, old, value)
            kind = self.scope.assign(node.target, name, result.type)
            if operator is None:
                self.emit(f"{self.scope.text(name)} = {result.as_type(kind)};", node)
            elif isinstance(kind, Scalar):
                symbol = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}.get(type(node.op), operator)
                self.emit(f"{self.scope.text(name)} {symbol}= {value.as_type(kind)};", node)
            return
        element = self._element(node.target)
        value = self.expressions.operation(node, node.op, element, self.expressions.scalar(node.value))
        if UNKNOWN not in (element.type, value.type):
            self.emit(f"{element.text} = {value.as_type(element.type)};", node)

    # ---- Control flow.

    def _if(self, node):
        self.emit(f"if {self.expressions.test(node.test)} {{", node)
        self.scope.open_block()
        self.block(node.body)
        self.scope.close_block()
        if node.orelse:
            self.emit("} else {", node.orelse[0])
            self.scope.open_block()
            self.block(node.orelse)
            self.scope.close_block()
        self.emit("}", node)

    def _while(self, node):
        if node.orelse:
            self.source.fail(node.orelse[0], "else after a loop cannot be compiled: use a variable")
        self.loop_depth += 1
        self.braces(f"while {self.expressions.test(node.test)}", node.body, node)
        self.loop_depth -= 1

    def _break(self, node):
        if self.loop_depth == 0:
            self.source.fail(node, "a prange loop runs all of its iterations: break cannot leave it")
        self.emit("break;", node)

    def _continue(self, node):
        self.emit("continue;", node)

    def _pass(self, node):
        pass

    def _return(self, node):
        if self.scope.in_parallel:
            self.source.fail(node, "a prange loop runs all of its iterations: return cannot leave it")
        if node.value is None or (isinstance(node.value, ast.Constant) and node.value.value is None):
            self._note_result(node, NONE)
            self.emit("return;", node)
        elif isinstance(node.value, ast.Tuple):
            values = [self._any_value(each) for each in node.value.elts]
            if UNKNOWN in [value.type for value in values]:
                return
            for value, each in zip(values, node.value.elts):
                self._check_result(each, value)
            result = self._note_result(node, Tuple(tuple(value.type for value in values)))
            texts = [value.as_type(kind) if isinstance(kind, Scalar) else value.text
                     for value, kind in zip(values, result.items)]
            self.emit(f"return {self.unit.struct(result)}({', '.join(texts)});", node)
        else:
            value = self._any_value(node.value)
            if value.type == UNKNOWN:
                return
            self._check_result(node.value, value)
            result = self._note_result(node, value.type)
            self.emit(f"return {value.as_type(result) if isinstance(result, Scalar) else value.text};", node)

    def _check_result(self, node, value):
        if isinstance(value.type, Array):
            self.expressions.whole_array(node, value)
            if isinstance(node, ast.Name):
                same = self.scope.same_arrays(node.id) & set(self.source.parameters)
                if same:
                    self.source.fail(node, f"the caller has '{sorted(same)[0]}' already: return nothing, or "
                                           f"{node.id}.copy()")

    def _note_result(self, node, kind):
        result = join(self.version.result, kind)
        if result is None:
            self.source.fail(node, f"this returns {kind}, and another return {self.version.result}: a function has one "
                                   "type of result")
        self.version.result = result
        return result

    # ---- The rest.

    def _expr(self, node):
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        if not isinstance(node.value, ast.Call):
            self.source.fail(node, "this has no effect")
        if isinstance(node.value.func, ast.Name) and self._means(node.value.func, print):
            self._print(node)
            return
        value = self.expressions.value(node.value)
        self.emit(f"{value.text};" if value.type == NONE else f"let _ = {value.text};", node)

    def _means(self, node, thing):
        try:
            return self.source.meaning(node, self.scope.names()) is thing
        except LookupError:
            return False

    def _print(self, node):
        if self.scope.in_parallel:
            self.source.fail(node, "a prange loop cannot print")
        texts = []
        for argument in node.value.args:
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                texts.append(quoted(argument.value))
            else:
                texts.append(self.expressions.scalar(argument).text)
        self.emit(f"print({', '.join(texts)});", node)

    def _assert(self, node):
        if self.scope.in_parallel:
            self.source.fail(node, "a prange loop cannot assert: check before the loop")
        message = quoted(f"assert {ast.unparse(node.test)}")
        if isinstance(node.msg, ast.Constant) and isinstance(node.msg.value, str):
            message = quoted(node.msg.value)
        self.emit(f"assert({self.expressions.test(node.test)}, {message});", node)

    def _raise(self, node):
        if self.scope.in_parallel:
            self.source.fail(node, "a prange loop cannot raise: set a flag in an array")
        self.emit(f"trap({quoted(ast.unparse(node.exc) if node.exc else 'raise')});", node)


def quoted(text):
    """Text as the language writes it."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
    return '"' + "".join(escapes.get(character, character) for character in text) + '"'
