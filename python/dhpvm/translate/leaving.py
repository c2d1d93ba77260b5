# SPDX-License-Identifier: Apache-2.0
"""`return`, `break` and `continue` in a `try` with `finally`: they leave a loop around the rest of the `try`, and jump
behind the statements of `finally`, by a number that says which of them it was."""

from __future__ import annotations

import ast

from . import scopes


def replace(statements, new_name):
    """The statements without such jumps. `new_name(base)` is the name of a new variable."""
    made = []
    for statement in statements:
        for owner in (statement, *getattr(statement, "handlers", ())):
            for field in ("body", "orelse", "finalbody"):
                if getattr(owner, field, None) and not isinstance(owner, (ast.FunctionDef, ast.expr)):
                    setattr(owner, field, replace(getattr(owner, field), new_name))
        made += _Left(statement, new_name).statements() if jump_out_of(statement) else [statement]
    return made


def jump_out_of(node):
    """The first statement that jumps out of a `try` with `finally`; None where there is none."""
    if not isinstance(node, ast.Try) or not node.finalbody:
        return None
    parts = [part for part in scopes.parts(node) if part is not node.finalbody]
    return next((jump for part in parts for jump in _jumps(part, False)), None)


def _jumps(statements, in_loop):
    """The statements that leave these, which may be those of a loop."""
    for each in statements:
        if isinstance(each, ast.Return) or (isinstance(each, (ast.Break, ast.Continue)) and not in_loop):
            yield each
        is_loop = isinstance(each, (ast.For, ast.While))
        for part in scopes.parts(each) if not isinstance(each, ast.FunctionDef) else ():
            yield from _jumps(part, in_loop or (is_loop and part is each.body))


class _Left:
    """A `try` that is left. `exits` has what is done behind it, by numbers from 1 on."""

    def __init__(self, node, new_name):
        self._node, self._new_name = node, new_name
        self._left, self._exits = new_name("left"), []

    def statements(self):
        node = self._node
        is_end = _ends(node.body + node.orelse) and all(_ends(each.body) for each in node.handlers)
        for each in (node, *node.handlers):
            each.body = self._block(each.body, False)
        node.orelse = self._block(node.orelse, False)
        inside = [ast.copy_location(ast.Try(node.body, node.handlers, node.orelse, []), node)] if node.handlers else \
            node.body
        around = ast.While(ast.Constant(True), [*inside, ast.Break()], [])
        exits = [ast.If(self._is_left(number + 1), [each], []) for number, each in enumerate(self._exits)]
        if is_end:
            exits[-1] = self._exits[-1]
        made = [self._leave(0), ast.Try([around], [], [], node.finalbody), *exits]
        return [ast.fix_missing_locations(ast.copy_location(each, node)) for each in made]

    def _leave(self, number):
        return ast.Assign([ast.Name(self._left, ast.Store())], ast.Constant(number))

    def _is_left(self, number):
        return ast.Compare(ast.Name(self._left, ast.Load()), [ast.Eq()], [ast.Constant(number)])

    def _block(self, statements, in_loop):
        made = []
        for each in statements:
            if isinstance(each, ast.Return) or (isinstance(each, (ast.Break, ast.Continue)) and not in_loop):
                made += [ast.fix_missing_locations(ast.copy_location(part, each)) for part in self._jump(each)]
                continue
            is_loop = isinstance(each, (ast.For, ast.While))
            returns = is_loop and any(_jumps(each.body, True))
            for owner in (each, *getattr(each, "handlers", ())):
                for field in ("body", "orelse", "finalbody"):
                    if getattr(owner, field, None) and not isinstance(owner, (ast.FunctionDef, ast.expr)):
                        inside = in_loop or (is_loop and field == "body")
                        setattr(owner, field, self._block(getattr(owner, field), inside))
            made.append(each)
            if returns:
                test = ast.Compare(ast.Name(self._left, ast.Load()), [ast.NotEq()], [ast.Constant(0)])
                made.append(ast.fix_missing_locations(ast.copy_location(ast.If(test, [ast.Break()], []), each)))
        return made

    def _jump(self, node):
        """The statements that replace a jump."""
        before, value = [], getattr(node, "value", None)
        if value is not None and not isinstance(value, ast.Constant):
            result = self._new_name("result")
            before.append(ast.Assign([ast.Name(result, ast.Store())], value))
            node = ast.copy_location(ast.Return(ast.copy_location(ast.Name(result, ast.Load()), value)), node)
        self._exits.append(node)
        return [*before, self._leave(len(self._exits)), ast.Break()]


def _ends(statements):
    """Whether nothing is reached behind these statements."""
    last = statements[-1] if statements else None
    if isinstance(last, ast.If):
        return _ends(last.body) and _ends(last.orelse)
    if isinstance(last, ast.Try):
        return _ends(last.body + last.orelse) and all(_ends(each.body) for each in last.handlers)
    return isinstance(last, (ast.Return, ast.Raise, ast.Break, ast.Continue))
