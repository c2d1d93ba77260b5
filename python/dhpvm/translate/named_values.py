# SPDX-License-Identifier: Apache-2.0
"""Values that get a name in an expression: `while (x := f(i)) > 0` and `if (n := len(a)) > 3`, as assignments before
it."""

from __future__ import annotations

import ast

from . import scopes


def take(statements):
    """The statements with an assignment for each name. Those that cannot be moved to the front stay, and are refused
    where they are translated."""
    made = []
    for statement in statements:
        for owner in (statement, *getattr(statement, "handlers", ())):
            for field in ("body", "orelse", "finalbody"):
                if getattr(owner, field, None):
                    setattr(owner, field, take(getattr(owner, field)))
        head = getattr(statement, "test", getattr(statement, "iter", None)) if scopes.parts(statement) else statement
        given = _movable(head) if head is not None else []
        before = [ast.copy_location(ast.Assign([each.target], each.value), each) for each in given]
        if given:
            _Taken(given).visit(statement)
        if given and isinstance(statement, ast.While):
            before.append(ast.If(ast.UnaryOp(ast.Not(), statement.test), [*statement.orelse, ast.Break()], []))
            statement.test, statement.orelse = ast.Constant(True), []
            before = [ast.copy_location(each, statement) for each in before]
            statement.body, before = [*before, *statement.body], []
        made += [ast.fix_missing_locations(each) for each in (*before, statement)]
    return made


def _movable(head):
    """The named values of an expression, or of a statement without blocks, if all of them are evaluated in any case,
    and nothing in front of them can see the difference."""
    named = sorted((each for each in ast.walk(head) if isinstance(each, ast.NamedExpr)), key=_position)
    names, targets = {each.target.id for each in named}, [each.target for each in named]
    sure = list(scopes.surely_evaluated(head)) if named else []
    for each in named:
        inside = list(ast.walk(each))
        if each not in sure or len(names) < len(named) or any(isinstance(part, ast.NamedExpr) for part in inside[1:]):
            return []
        for part in ast.walk(head):
            if part in inside or not isinstance(part, (ast.Call, ast.Name)) or _position(part) > _position(each):
                continue
            if each not in ast.walk(part) if isinstance(part, ast.Call) else part.id in names and part not in targets:
                return []
    return named


def _position(node):
    return node.lineno, node.col_offset


class _Taken(ast.NodeTransformer):
    """Puts the names in the places of their values."""

    def __init__(self, given):
        self._given = given

    def visit_NamedExpr(self, node):
        return ast.copy_location(ast.Name(node.target.id, ast.Load()), node) if node in self._given else node
