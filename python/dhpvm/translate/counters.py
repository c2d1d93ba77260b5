# SPDX-License-Identifier: Apache-2.0
"""collections.Counter: a dictionary of integers that counts what it is made of."""

from __future__ import annotations

import ast
import collections


def replace(statements, meaning, new_name):
    """The statements with loops that count: `c = Counter(x)` is an empty one, and a loop over x. `meaning(node)` is the
    object that a name is, `new_name(base)` the name of a new variable."""
    made = []
    for statement in statements:
        for owner in (statement, *getattr(statement, "handlers", ())):
            for field in ("body", "orelse", "finalbody"):
                if getattr(owner, field, None):
                    setattr(owner, field, replace(getattr(owner, field), meaning, new_name))
        _Methods().visit(statement)
        made.append(statement)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(
                statement.targets[0], ast.Name) and is_one(statement.value, meaning) and statement.value.args:
            made.append(_counting(statement, new_name))
    return made


def is_one(node, meaning):
    return isinstance(node, ast.Call) and isinstance(node.func, (ast.Name, ast.Attribute)) and len(
        node.args) <= 1 and not node.keywords and meaning(node.func) is collections.Counter


def _counting(statement, new_name):
    target, items = statement.targets[0], statement.value.args.pop()
    if isinstance(items, ast.GeneratorExp):
        items = ast.copy_location(ast.ListComp(items.elt, items.generators), items)
    item = new_name("item")
    entry = ast.Subscript(ast.Name(target.id, ast.Load()), ast.Name(item, ast.Load()), ast.Store())
    update = ast.AugAssign(entry, ast.Add(), ast.Constant(1))
    loop = ast.For(ast.Name(item, ast.Store()), items, [update], [])
    return ast.fix_missing_locations(ast.copy_location(loop, statement))


class _Methods(ast.NodeTransformer):
    """c.most_common(k) as a part of the sorted entries, and c.total() as a sum."""

    def visit_Call(self, node):
        self.generic_visit(node)
        name = getattr(node.func, "attr", "")
        if name not in ("most_common", "total") or node.keywords or len(node.args) > (name == "most_common"):
            return node
        owner = ast.unparse(node.func.value)
        text = f"sum({owner}.values())" if name == "total" else f"sorted({owner}.items(), key=lambda kv: -kv[1])"
        made = ast.parse(text, mode="eval").body
        if node.args:
            made = ast.Subscript(made, ast.Slice(None, node.args[0], None), ast.Load())
        for each in ast.walk(made):
            ast.copy_location(each, node)
        return ast.fix_missing_locations(made)
