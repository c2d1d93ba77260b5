# SPDX-License-Identifier: Apache-2.0
"""deque(maxlen=n): a list that loses an item at one end when it gets one too many at the other."""

from __future__ import annotations

import ast
import builtins
import collections

from . import scopes

_DROPS = {"append": "popleft", "extend": "popleft", "appendleft": "pop", "extendleft": "pop"}


def replace(tree, shared, meaning, new_name):
    """Writes what a bounded deque does as statements. Those that have another name as well, or are used by functions in
    this one, which are `shared`, are left to be refused. `meaning(node)` is the object that a name is."""
    deques = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name) and \
                _bound(node.value, meaning) is not None:
            deques.setdefault(node.targets[0].id, []).append(node)
    for name, made in deques.items():
        others = [each for each in ast.walk(tree) if isinstance(each, ast.Assign) and each not in made and
                  name in scopes.stored([each])]
        if name not in shared and not others and not any(_is_given_away(each, name) for each in ast.walk(tree)):
            limit = new_name("limit")
            tree.body = _Bounded(name, limit, meaning).block(tree.body)


def _bound(node, meaning):
    """The maxlen of such a call; None for anything else."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)) or \
            meaning(node.func) is not collections.deque:
        return None
    named = [each.value for each in node.keywords if each.arg == "maxlen"]
    found = named or node.args[1:2]
    is_none = found and isinstance(found[0], ast.Constant) and found[0].value is None
    return found[0] if len(found) == 1 and len(named) == len(node.keywords) and not is_none else None


def _is_given_away(node, name):
    """Whether a statement or call gives the deque to a function, or another name."""
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.Return)):
        return isinstance(node.value, ast.Name) and node.value.id == name
    if not isinstance(node, ast.Call) or not any(isinstance(each, ast.Name) and each.id == name for each in node.args):
        return False
    return not isinstance(node.func, ast.Attribute) and not hasattr(builtins, getattr(node.func, "id", ""))


class _Bounded(ast.NodeTransformer):
    def __init__(self, name, limit, meaning):
        self._name, self._limit, self._meaning = name, limit, meaning

    def block(self, statements):
        return [made for each in statements for made in self._written(each)]

    def _written(self, statement):
        for owner in (statement, *getattr(statement, "handlers", ())):
            for field in ("body", "orelse", "finalbody"):
                if getattr(owner, field, None):
                    setattr(owner, field, self.block(getattr(owner, field)))
        made = [self.visit(statement)]
        if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", "") == self._name:
            bound = _bound(statement.value, self._meaning)
            statement.value.args, statement.value.keywords = statement.value.args[:1], []
            made.insert(0, ast.Assign([ast.Name(self._limit, ast.Store())], bound))
            if statement.value.args:
                made.append(self._drop("popleft"))
        call = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _DROPS and \
                getattr(call.func.value, "id", "") == self._name:
            made.append(self._drop(_DROPS[call.func.attr]))
        return [ast.fix_missing_locations(ast.copy_location(each, statement)) for each in made]

    def _drop(self, method):
        text = f"while len({self._name}) > limit: {self._name}.{method}()"
        loop = ast.parse(text).body[0]
        loop.test.comparators[0].id = self._limit
        for each in ast.walk(loop):
            if hasattr(each, "lineno"):
                del each.lineno, each.col_offset, each.end_lineno, each.end_col_offset
        return loop

    def visit_Attribute(self, node):
        """d.maxlen"""
        self.generic_visit(node)
        is_limit = node.attr == "maxlen" and getattr(node.value, "id", "") == self._name
        return ast.copy_location(ast.Name(self._limit, ast.Load()), node) if is_limit else node
