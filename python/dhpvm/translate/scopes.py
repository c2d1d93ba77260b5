# SPDX-License-Identifier: Apache-2.0
"""Finds the variables of a parallel loop that belong to an iteration, and those that are reductions."""

from __future__ import annotations

import ast

REDUCTIONS = {ast.Add: "+", ast.Sub: "+", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}


def stored(nodes, in_place=True):
    """The names that these statements assign, loop variables included; with or without those of `x += y` alone."""
    walked = [node for statement in nodes for node in ast.walk(statement)]
    updated = set() if in_place else {node.target for node in walked if isinstance(node, ast.AugAssign)}
    return {node.id for node in walked
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in updated}


def loads(node, name):
    return any(isinstance(each, ast.Name) and each.id == name and isinstance(each.ctx, ast.Load)
               for each in ast.walk(node))


def surely_evaluated(node):
    """The nodes of a statement without blocks, or of an expression, that are evaluated whenever it is."""
    yield node
    if isinstance(node, ast.BoolOp):
        found = node.values[:1]
    elif isinstance(node, ast.IfExp):
        found = [node.test]
    elif isinstance(node, ast.Compare):
        found = [node.left, node.comparators[0]]
    elif isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Delete)):
        found = []
    elif isinstance(node, ast.Call):  # not what functions in this one capture: they may not read it
        found = [node.func, *node.args, *(each.value for each in node.keywords if not (each.arg or "").startswith("'"))]
    elif isinstance(node, ast.Assert):
        found = [node.test]
    else:
        found = ast.iter_child_nodes(node)
    for each in found:
        yield from surely_evaluated(each)


def parts(statement):
    """The lists of statements in a statement."""
    found = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
    return [each for each in (*found, *(handler.body for handler in getattr(statement, "handlers", ()))) if each]


def has_break(statements):
    """Whether these statements of a loop leave it by break."""
    return any(isinstance(each, ast.Break) or any(map(has_break, [each.orelse] if isinstance(
        each, (ast.For, ast.While)) else parts(each))) for each in statements)


def has_continue(statements):
    """Whether these statements of a loop go on with its next turn."""
    return any(isinstance(each, ast.Continue) or any(map(has_continue, [each.orelse] if isinstance(
        each, (ast.For, ast.While)) else parts(each))) for each in statements)


def first_use(statements, name):
    """'load' if a value of the variable from before these statements may be read in them, 'store' if they assign it
    first, None if neither is sure."""
    for statement in statements:
        found = _first_use_of(statement, name)
        if found:
            return found
    return None


def _first_use_of(statement, name):
    if isinstance(statement, ast.If):
        if loads(statement.test, name):
            return "load"
        branches = [first_use(statement.body, name), first_use(statement.orelse, name)]
        return "load" if "load" in branches else "store" if branches == ["store", "store"] else None
    if isinstance(statement, (ast.For, ast.While)):
        head = statement.iter if isinstance(statement, ast.For) else statement.test
        if loads(head, name):
            return "load"
        if isinstance(statement, ast.For) and name in stored([ast.Expr(statement.target)]):
            return None
        uses = (first_use(statement.body, name), first_use(statement.orelse, name))
        return "load" if "load" in uses else None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name) and statement.target.id == name:
        return "load"
    if loads(statement, name):
        return "load"
    return "store" if name in stored([statement]) else None


def reduction(body, name, is_min_or_max):
    """The operator of a reduction, '+' for example, if the statements update the variable by nothing else and read it
    nowhere else. `is_min_or_max(call)` tells 'min' and 'max' calls from others."""
    operators, updates = set(), 0
    uses = sum(isinstance(node, ast.Name) and node.id == name for statement in body for node in ast.walk(statement))
    for statement in body:
        for node in ast.walk(statement):
            found = _update(node, name, is_min_or_max)
            if found:
                operators.add(found[0])
                updates += found[1]
    return operators.pop() if len(operators) == 1 and updates == uses else None


class Reductions(ast.NodeTransformer):
    """Writes `s = s + x` as `s += x`, and `if x > m: m = x` as `m = max(m, x)`, which have the same results."""

    def visit_Assign(self, node):
        target, value = node.targets[0], node.value
        if len(node.targets) != 1 or not isinstance(target, ast.Name) or not isinstance(value, ast.BinOp) or \
                type(value.op) not in REDUCTIONS:
            return node
        sides = (value.left, value.right) if isinstance(value.op, ast.Sub) else (value.left, value.right, value.left)
        for old, other in zip(sides, sides[1:]):
            if isinstance(old, ast.Name) and old.id == target.id and not loads(other, target.id):
                return ast.copy_location(ast.AugAssign(target, value.op, other), node)
        return node

    def visit_If(self, node):
        self.generic_visit(node)
        test, only = node.test, node.body[0]
        if node.orelse or len(node.body) != 1 or not isinstance(only, ast.Assign) or len(only.targets) != 1 or \
                not isinstance(only.targets[0], ast.Name) or not isinstance(test, ast.Compare) or \
                type(test.ops[0]) not in (ast.Gt, ast.Lt) or len(test.ops) != 1:
            return node
        name, sides = only.targets[0].id, [test.left, test.comparators[0]]
        is_name = [isinstance(side, ast.Name) and side.id == name for side in sides]
        if sum(is_name) != 1 or loads(only.value, name) or ast.dump(sides[is_name[0]]) != ast.dump(only.value):
            return node
        # The name that stands on the right is replaced by what is greater.
        is_greater = (type(test.ops[0]) is ast.Gt) == is_name[1]
        function = ast.Name("max" if is_greater else "min", ast.Load())
        call = ast.Call(function, [ast.Name(name, ast.Load()), only.value], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Assign(only.targets, call), node))


def _update(node, name, is_min_or_max):
    """The operator of an update, and how many uses of the name it has."""
    if isinstance(node, ast.AugAssign):
        if isinstance(node.target, ast.Name) and node.target.id == name and type(node.op) in REDUCTIONS:
            return REDUCTIONS[type(node.op)], 1
    elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
        if node.targets[0].id == name and isinstance(node.value, ast.Call) and len(node.value.args) == 2:
            kind = is_min_or_max(node.value)
            if kind and isinstance(node.value.args[0], ast.Name) and node.value.args[0].id == name:
                return kind, 2
    return None


def is_read_after(function, loop, name):
    """Whether what the loop assigns may be read behind it."""
    position = (loop.end_lineno, loop.end_col_offset)
    updated = [node.target for node in ast.walk(function) if isinstance(node, ast.AugAssign)]
    enclosing = [node for node in ast.walk(function) if isinstance(node, (ast.For, ast.While)) and node is not loop
                 and (node.lineno, node.col_offset) < (loop.lineno, loop.col_offset)
                 and (node.end_lineno, node.end_col_offset) >= position]
    for body in [function.body] + [node.body for node in enclosing]:
        first = next((use for use in _uses(body, name, position if body is function.body else (0, 0))
                      if not _is_inside(use, loop)), None)
        if first is not None and (isinstance(first.ctx, ast.Load) or first in updated):
            return True
    return False


def _is_inside(use, loop):
    return (loop.lineno, loop.col_offset) <= (use.lineno, use.col_offset) < (loop.end_lineno, loop.end_col_offset)


def _uses(body, name, begin):
    """Uses of the name from a position on, as they are evaluated: what is assigned comes after its value."""
    return [each for statement in body for each in _evaluated(statement) if isinstance(each, ast.Name) and
            each.id == name and (each.lineno, each.col_offset) >= begin]


def _evaluated(node):
    """The nodes in a statement in the order in which they are evaluated."""
    yield node
    parts = list(ast.iter_child_nodes(node))
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        parts.remove(node.value)
        parts.insert(0, node.value)
    elif isinstance(node, ast.For):
        parts = [node.iter, node.target, *node.body, *node.orelse]
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
        parts = [*node.generators, *(each for each in parts if each not in node.generators)]
    elif isinstance(node, ast.comprehension):
        parts = [node.iter, node.target, *node.ifs]
    for each in parts:
        yield from _evaluated(each)
