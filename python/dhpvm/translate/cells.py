# SPDX-License-Identifier: Apache-2.0
"""Variables that functions in a function change, `nonlocal n`: lists of one item, n[0], which all of them have."""

from __future__ import annotations

import ast

MESSAGE = ("'{0}' is changed by a function in this one: assign it first by a statement of its own, {0} = 0, in the "
           "first level of this one")


def changed_by(nodes, own):
    """The names among `own` that these definitions of functions declare, with a node for each."""
    return {name: node for each in nodes for node in ast.walk(each) if isinstance(node, ast.Nonlocal)
            for name in node.names if name in own}


def make(body, names, functions, fail):
    """Rewrites the statements of the function that has the variables. The first statement that uses one, or a function
    that captures it, gives it its first value. `functions` has the names of those that capture each."""
    for name, declared in names.items():
        used = {name, *functions.get(name, ())}
        first = next((each for each in body if any(isinstance(node, ast.Name) and node.id in used
                                                   for node in ast.walk(each))), None)
        if not isinstance(first, ast.Assign) or len(first.targets) != 1 or \
                getattr(first.targets[0], "id", None) != name or any(
                    isinstance(node, ast.Name) and node.id in used for node in ast.walk(first.value)):
            fail(declared, MESSAGE.format(name))
        position = body.index(first)
        rest = body[position + 1:]
        use(rest, {name}, fail)
        body[position + 1:] = rest
        first.value = ast.copy_location(ast.List([first.value], ast.Load()), first.value)


def use(statements, names, fail):
    """Rewrites the uses of the variables."""
    items = _Items(names, fail)
    statements[:] = [items.visit(each) for each in statements]


class _Items(ast.NodeTransformer):
    def __init__(self, names, fail):
        self._names, self._fail = names, fail

    def visit_Nonlocal(self, node):
        return ast.copy_location(ast.Pass(), node)

    def visit_Name(self, node):
        if node.id not in self._names:
            return node
        if isinstance(node.ctx, ast.Del):
            self._fail(node, f"'{node.id}' is changed by a function in a function: it cannot be deleted")
        made = ast.Subscript(ast.Name(node.id, ast.Load()), ast.Constant(0), node.ctx)
        return ast.fix_missing_locations(ast.copy_location(made, node))

    def visit_For(self, node):
        self._check(node.target)
        return self.generic_visit(node)

    def visit_comprehension(self, node):
        self._check(node.target)
        return self.generic_visit(node)

    def visit_NamedExpr(self, node):
        self._check(node.target)
        return self.generic_visit(node)

    def _check(self, target):
        for each in ast.walk(target):
            if isinstance(each, ast.Name) and each.id in self._names:
                self._fail(each, f"'{each.id}' is changed by a function in a function: assign it by a statement of its "
                                 "own")
