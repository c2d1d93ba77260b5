# SPDX-License-Identifier: Apache-2.0
"""Variables that are None or a tuple: `best = None`, and `if best is None or x > best[0]: best = (x, i)`. The program
notes whether there is a tuple."""

from __future__ import annotations

import ast

from . import scopes


def replace(tree, parameters, new_name):
    """Rewrites the uses of such variables in a function. `new_name(base)` is the name of a new variable."""
    given = [node for node in ast.walk(tree) if isinstance(node, ast.Assign) and len(node.targets) == 1 and
             isinstance(node.targets[0], ast.Name)]
    nones = {node.targets[0].id for node in given if _is_none(node.value)}
    tuples = {node.targets[0].id for node in given if isinstance(node.value, ast.Tuple) and node.value.elts}
    for name in sorted(nones & tuples - set(parameters)):
        uses = _Uses(name, new_name)
        uses.block(tree.body)
        if uses.others == 0 and _stores(tree, name) == uses.stores:
            tree.body = _Rewritten(uses, name, new_name(f"{name}_there"), new_name(name)).block(tree.body)


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def _stores(tree, name):
    return sum(isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)
               for node in ast.walk(tree))


class _Uses:
    """How often a variable is used in the ways that can be rewritten, and in `others`."""

    def __init__(self, name, new_name):
        self._name, self.stores, self.others = name, 0, 0

    def block(self, statements):
        for each in statements:
            for node in ast.walk(each):
                if isinstance(node, ast.Assign) and len(node.targets) == 1 and self._is(node.targets[0]):
                    self.stores += 1
                    self.others += not _is_none(node.value) and not isinstance(node.value, ast.Tuple)
            self._statement(each)

    def _is(self, node):
        return isinstance(node, ast.Name) and node.id == self._name

    def _statement(self, node):
        if isinstance(node, ast.Return) and node.value is not None and self._is(node.value):
            return
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and self._is(node.value):
            return
        self._children(node)

    def _children(self, node):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.stmt):
                self._statement(child)
            elif self._is(child):
                self.others += isinstance(child.ctx, ast.Load) and not self._is_known(node, child)
            else:
                self._children(child)

    @staticmethod
    def _is_known(node, child):
        """Whether the variable may stand there: best is None, best[0], if best, not best."""
        if isinstance(node, ast.Compare):
            return node.left is child and len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)) and \
                _is_none(node.comparators[0])
        if isinstance(node, ast.Subscript):
            return node.value is child and isinstance(node.slice, ast.Constant)
        if isinstance(node, (ast.If, ast.While)):
            return node.test is child
        return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)


class _Rewritten(ast.NodeTransformer):
    """Gives the tuple a name of its own, and another one to whether it is there."""

    def __init__(self, uses, name, there, own):
        self._name, self._there, self._own = name, there, own

    def block(self, statements):
        made = []
        for each in statements:
            for owner in (each, *getattr(each, "handlers", ())):
                for field in ("body", "orelse", "finalbody"):
                    if getattr(owner, field, None) and not isinstance(owner, ast.expr):
                        setattr(owner, field, self.block(getattr(owner, field)))
            made += [ast.fix_missing_locations(ast.copy_location(part, each)) for part in self._statement(each)]
        return made

    def _statement(self, node):
        is_assign = isinstance(node, ast.Assign) and len(node.targets) == 1
        if is_assign and getattr(node.targets[0], "id", None) == self._name:
            is_there = not _is_none(node.value)
            noted = ast.Assign([ast.Name(self._there, ast.Store())], ast.Constant(is_there))
            if not is_there:
                return [noted]
            self.visit(node.value)
            node.targets[0].id = self._own
            return [node, noted]
        if isinstance(node, ast.Return) and getattr(node.value, "id", None) == self._name:
            found = ast.copy_location(ast.Return(self._read(node.value, None)), node)
            return [ast.If(self._known(), [found], [ast.copy_location(ast.Return(ast.Constant(None)), node)])]
        if is_assign and getattr(node.value, "id", None) == self._name:
            node.value = self._read(node.value, "cannot unpack non-iterable NoneType object")
            return [node]
        if scopes.parts(node):
            for field in ("test", "iter"):
                if hasattr(node, field):
                    setattr(node, field, self.visit(getattr(node, field)))
            return [node]
        return [self.visit(node)]

    def _known(self):
        return ast.Name(self._there, ast.Load())

    def _read(self, node, error):
        """The tuple. `error` is the text of the exception that is raised where there is none."""
        made = ast.copy_location(ast.Name(self._own, ast.Load()), node)
        if error is not None:
            made.flag, made.missing = self._there, f"TypeError: {error}"
        return made

    def visit_Compare(self, node):
        if getattr(node.left, "id", None) != self._name:
            return self.generic_visit(node)
        is_none = isinstance(node.ops[0], ast.Is)
        return ast.copy_location(ast.UnaryOp(ast.Not(), self._known()) if is_none else self._known(), node)

    def visit_Subscript(self, node):
        if getattr(node.value, "id", None) == self._name:
            node.value = self._read(node.value, "'NoneType' object is not subscriptable")
            return node
        return self.generic_visit(node)

    def visit_Name(self, node):  # if best, not best
        return ast.copy_location(self._known(), node) if node.id == self._name else node
