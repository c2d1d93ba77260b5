# SPDX-License-Identifier: Apache-2.0
"""Exceptions that are caught: `try` with `except`, `else` and `finally`, as blocks of the language that catch traps."""

from __future__ import annotations

import ast
import builtins

from ..fields import Fields
from . import scopes

# Where these are caught, what Python raises in more cases than compiled code does is checked as Python does it.
OBSERVED = (IndexError, OverflowError, ValueError, ZeroDivisionError)
# The name of the exception that a trap stands for, in front of its text, as dhpvm.errors has it.
_NAMED = """fn _exception(error: Error) -> str => match error.kind {
    IndexOutOfRange => f"IndexError: {error.message}",
    DivisionByZero => f"ZeroDivisionError: {error.message}",
    NegativeLength => f"ValueError: {error.message}",
    else => if error.message.starts_with("List: index ") { f"IndexError: {error.message}" } else { error.message },
};"""
_IS = """fn _is_exception(text: str, name: str) -> bool => text == name || text.starts_with(f"{name}: ");"""

_SAID = """fn _said(text: str) -> str {
    let at = text.find(": ");
    return if at < 0 { "" } else { text.slice(at + 2, text.len) };
}"""


class Handler(Fields):
    """The except clause around a statement: the text of the variable with the exception, and its name in Python."""

    text: str
    name: str | None


class Handlers:
    """The part of Statements that translates `try`. `handlers` has the except clauses around a statement, innermost
    last, `caught` the classes of exceptions that the try statements around it catch."""

    def _try(self, node):
        if self.expressions.is_sequential:
            self.source.fail(node, "a prange loop catches no exceptions: set a flag in an array")
        if not node.finalbody:
            return self._try_except(node)
        failure = self.temporary()
        self.emit(f"var {failure} = \"\";", node)
        self.emit("try {", node)
        self.scope.open_block()
        self._try_except(node) if node.handlers else self.block(node.body)
        self.scope.close_block()
        self._catch(node, lambda text: self.emit(f"{failure} = {text};", node))
        is_end = self.block(node.finalbody)
        if not is_end:
            self.emit(f'if {failure} != "" {{ trap({failure}); }}', node)
        return is_end

    def _try_except(self, node):
        classes = [self._classes(each) for each in node.handlers]
        passed = self.temporary() if node.orelse else None
        if passed:
            self.emit(f"var {passed} = false;", node)
        self.emit("try {", node)
        self.scope.open_block()
        self.caught.append([each for several in classes for each in several])
        is_end = self.block(node.body)
        self.caught.pop()
        if passed and not is_end:
            self.emit(f"{passed} = true;", node)
        self.scope.close_block()
        ends = []
        self._catch(node, lambda text: ends.append(self._dispatch(node, classes, text)))
        if passed:
            self.braces(f"if {passed}", node.orelse, node.orelse[0])
        if is_end and ends[0]:
            self.emit('trap("");', node)  # nothing comes here
            return True
        return False

    def _catch(self, node, body):
        """The block behind one that may trap; `body` gets the text of the exception."""
        error, text = self.temporary(), self.temporary()
        self.emit(f"}} catch {error} {{", node)
        self.scope.open_block()
        self.emit(f"let {text} = {self.unit.function('_exception', _NAMED)}({error});", node)
        body(text)
        self.scope.close_block()
        self.emit("}", node)

    def _dispatch(self, node, classes, text):
        """The clauses that are for the exception with this text. Whether nothing is reached behind any of them."""
        ends, depth, is_all = True, 0, False
        for handler, own in zip(node.handlers, classes):
            self._check_name(handler)
            is_all = any(each in (Exception, BaseException) for each in own)
            if not is_all:
                self.emit(f"if {self._is_one(text, own)} {{", handler)
                self.scope.open_block()
            self.handlers.append(Handler(text, handler.name))
            ends = self.block(handler.body) and ends
            self.handlers.pop()
            if is_all:
                break
            self.scope.close_block()
            self.emit("} else {", handler)
            depth += 1
        if not is_all:
            self.emit(f"trap({text});", node)
        for _ in range(depth):
            self.emit("}", node)
        return ends

    def _classes(self, handler):
        """The classes of exceptions that a clause catches."""
        if handler.type is None:
            return [BaseException]
        found = []
        for each in handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]:
            try:
                meant = self.source.meaning(each, self.scope.names())
            except LookupError:
                meant = None
            if not isinstance(meant, type) or not issubclass(meant, BaseException):
                self.source.fail(handler, f"'{ast.unparse(each)}' is no class of exceptions: write except ValueError")
            found.append(meant)
        return found

    def _is_one(self, text, classes):
        """The text of a test whether the exception is one of these classes, or of those derived from them."""
        own = self.unit.function("_is_exception", _IS)
        names = [each.__name__ for each in classes]
        names += [name for name, each in vars(builtins).items() if isinstance(each, type) and
                  issubclass(each, tuple(classes))]
        names += [each.__name__ for each in self.unit.raised if issubclass(each, tuple(classes))]
        return " || ".join(f'{own}({text}, "{name}")' for name in dict.fromkeys(names))

    def _check_name(self, handler):
        """An exception has no value here, but can be raised again, and printed."""
        nodes = [each for inner in handler.body for each in ast.walk(inner)]
        used = {part for each in nodes if isinstance(each, ast.Raise) for part in (each.exc, each.cause)}
        used |= {part for each in nodes if isinstance(each, ast.Call) and self.means(each.func, print)
                 for part in each.args}
        used |= {each.value for each in nodes if isinstance(each, ast.FormattedValue)}
        for each in nodes:
            if isinstance(each, ast.Name) and each.id == handler.name and each not in used:
                self.source.fail(each, "an exception can be raised again and printed here: write what else depends on "
                                       "it in clauses of their own, except ValueError")

    def said_by(self, node):
        """The text of what the exception that the node names says; None for other nodes."""
        for handler in reversed(self.handlers):
            if isinstance(node, ast.Name) and node.id == handler.name:
                return f"{self.unit.function('_said', _SAID)}({handler.text})"
        return None

    def raised_again(self, node):
        """The text of the exception of the clause around it that `raise` and `raise error` raise again; None for
        others."""
        name = node.exc.id if isinstance(node.exc, ast.Name) else None
        for handler in reversed(self.handlers):
            if node.exc is None or (name is not None and name == handler.name):
                return handler.text
        return None

    def catches(self, kind):
        """Whether an exception of this class would be caught by this function, or by one that calls it."""
        return kind in self.version.caught or any(issubclass(kind, each) for classes in self.caught for each in classes)
