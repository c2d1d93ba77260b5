# SPDX-License-Identifier: Apache-2.0
"""Indices below 0, which count from the end. An index costs a comparison then, and a parallel loop no longer knows
which elements its iterations use: so only those do that are seen to be below 0, those outside of loops, and those whose
IndexError would be caught."""

from __future__ import annotations

import ast
import math

from .. import parallel
from .types import INT


def from_end(expressions, node, index, size):
    """The text of an index, where one below 0 may count from the end of a dimension of this size."""
    if index.type.name.startswith("u") or not _may_be_negative(expressions, node):
        return index.text
    return f"{expressions.unit.helper('from_end', 'i64')}({index.as_type(INT)}, {size})"


def _least(expressions, node):
    if expressions.least is None:
        expressions.least = Least(expressions)
    return expressions.least.of(node)


def may_count_down(expressions, node):
    """Whether the step of a range, which is no constant, is not seen to be above or equal to 0."""
    if expressions.scalar(node).is_constant or expressions.scalar(node).type.name.startswith("u"):
        return False
    least = _least(expressions, node)
    return least is None or least < 0


def _may_be_negative(expressions, node):
    least = _least(expressions, node)
    if least is not None:
        return least < 0
    statements = expressions.statements
    if statements.catches(IndexError):
        return True
    return expressions.version.is_entry and not statements.loops and not expressions.scope.in_parallel


class Least:
    """The least value of an integer expression as far as it is seen in the function: of loops over ranges, and of what
    is assigned once. None if it is not."""

    def __init__(self, expressions):
        self._expressions, self._seen = expressions, set()
        self._stores = None  # nodes that assign variables, by name, and the statements

    def _stores_of(self, name):
        if self._stores is None:
            self._stores = {}
            for statement in ast.walk(self._expressions.source.tree):
                if isinstance(statement, ast.stmt):
                    for each in _own_names(statement):
                        self._stores.setdefault(each.id, []).append((each, statement))
        return self._stores.get(name, ())

    def of(self, node):
        if isinstance(node, ast.Constant):
            return node.value if isinstance(node.value, int) else None
        if isinstance(node, ast.Name):
            return self._of_name(node)
        if isinstance(node, ast.UnaryOp):
            return self._of_unary(node)
        if isinstance(node, ast.BinOp):
            return self._of_binary(node)
        if isinstance(node, ast.IfExp):
            return _smaller([self.of(node.body), self.of(node.orelse)])
        return None

    def _of_unary(self, node):
        if isinstance(node.op, ast.UAdd):
            return self.of(node.operand)
        if isinstance(node.operand, ast.Constant):
            return -node.operand.value if isinstance(node.op, ast.USub) else None
        return -math.inf if isinstance(node.op, (ast.USub, ast.Invert)) else None

    def _of_binary(self, node):
        left, right = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.Mod):
            return self._of_remainder(right)
        if isinstance(node.op, ast.Add) and None not in (left, right):
            return left + right
        is_constant = isinstance(node.right, ast.Constant) and isinstance(node.right.value, int)
        if isinstance(node.op, ast.Sub) and left is not None and is_constant:
            return left - node.right.value
        if isinstance(node.op, ast.Sub) and None not in (left, right):
            return -math.inf  # what has a least value may be large
        if isinstance(node.op, ast.Mult) and None not in (left, right) and min(left, right) >= 0:
            return left * right
        if isinstance(node.op, ast.RShift) and left is not None and left >= 0:
            return 0
        if isinstance(node.op, ast.FloorDiv) and None not in (left, right):
            return 0 if min(left, right) >= 0 else -math.inf
        return None

    def _of_remainder(self, divisor):
        """It has the sign of the divisor, which is a length as a rule. Where an IndexError would be caught, this has to
        be known."""
        if divisor is None:
            return None if self._expressions.statements.catches(IndexError) else 0
        return 0 if divisor >= 0 else -math.inf

    def _of_name(self, node):
        known = self._expressions.value(node)
        if known.is_constant:
            return known.constant if isinstance(known.constant, int) else None
        source = self._expressions.source
        if node.id in self._seen or node.id in source.parameters:
            return None
        self._seen.add(node.id)
        found = [dict((id(target), least) for target, least in self._stored(statement, node.id)).get(id(each))
                 for each, statement in self._stores_of(node.id)]
        self._seen.discard(node.id)
        return _smaller(found)

    def _stored(self, statement, name):
        """What a statement assigns to the variable: its nodes there, and the least values."""
        if isinstance(statement, ast.For):
            return self._of_loop(statement.target, statement.iter, name)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            return self._assigned(statement.targets[0], statement.value, name)
        return []

    def _assigned(self, target, value, name):
        if isinstance(target, ast.Name):
            return [(target, self.of(value))] if target.id == name else []
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            return [each for pair in zip(target.elts, value.elts) for each in self._assigned(*pair, name)]
        return []

    def _of_loop(self, target, iterated, name):
        """Of the variable of a loop: over a range, over numbers that are written out, or of enumerate."""
        means = self._expressions.statements.means
        if isinstance(iterated, (ast.Tuple, ast.List)):
            return [each for item in iterated.elts for each in self._assigned(target, item, name)]
        if not isinstance(iterated, ast.Call):
            return []
        if means(iterated.func, enumerate) and isinstance(target, ast.Tuple) and target.elts:
            return self._assigned(target.elts[0], iterated.args[1] if len(iterated.args) > 1 else ast.Constant(0), name)
        if not means(iterated.func, range) and not means(iterated.func, parallel.prange):
            return []
        variables = target.elts if isinstance(target, ast.Tuple) else [target]
        return [(each, self._of_range(iterated.args)) for each in variables
                if isinstance(each, ast.Name) and each.id == name]

    def _of_range(self, bounds):
        if len(bounds) == 1:
            return 0
        step = self.of(bounds[2]) if len(bounds) == 3 else 1
        if step is None:
            return None
        if step > 0:
            return self.of(bounds[0])
        least = self.of(bounds[1])
        least = None if least is None else least + 1
        is_known = isinstance(bounds[2], (ast.Constant, ast.UnaryOp))
        return least if is_known else _smaller([self.of(bounds[0]), least])


def _own_names(statement):
    """The names that a statement assigns itself, without those of the statements in it."""
    todo = [statement]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node
        todo += [each for each in ast.iter_child_nodes(node) if not isinstance(each, (ast.stmt, ast.ExceptHandler))]


def _smaller(values):
    return None if None in values or not values else min(values)
