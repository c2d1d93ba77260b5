# SPDX-License-Identifier: Apache-2.0
"""np.split and np.array_split into a number of parts that is written out, as slices: `a, b = np.split(x, 2)`."""

from __future__ import annotations

import ast
import copy

from . import scopes


def section(size, count):
    """The size of each of equal parts."""
    if size % count != 0:
        raise ValueError("array split does not result in an equal division")
    return size // count


# The name by which statements call it, which nobody can write.
NAMES = {"'section": section}


def replace(statements, meaning, new_name):
    """The statements with slices where they unpack the parts, go over them, or name one. `meaning(node)` is the object
    that a name is, `new_name(base)` the name of a new variable. Other calls stay, and are refused."""
    made = []
    for statement in statements:
        for owner in (statement, *getattr(statement, "handlers", ())):
            for field in ("body", "orelse", "finalbody"):
                if getattr(owner, field, None) and not isinstance(owner, ast.expr):
                    setattr(owner, field, replace(getattr(owner, field), meaning, new_name))
        splits = _Splits(meaning, new_name)
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(
                statement.targets[0], (ast.Tuple, ast.List)):
            statement.value = splits.parts(statement.value)
        elif isinstance(statement, ast.For):
            statement.iter = splits.of_loop(statement.iter)
        if not scopes.parts(statement):
            statement = splits.visit(statement)
        made += [ast.fix_missing_locations(ast.copy_location(each, statement)) for each in splits.before]
        made.append(ast.fix_missing_locations(statement))
    return made


class _Splits(ast.NodeTransformer):
    """`before` has the statements that come before that with the slices."""

    def __init__(self, meaning, new_name):
        self._meaning, self._new_name, self.before = meaning, new_name, []

    def visit_Subscript(self, node):
        """np.split(x, 2)[0]"""
        self.generic_visit(node)
        parts = self.parts(node.value)
        position = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if parts is node.value or type(position) is not int or position >= len(parts.elts):
            return node
        return parts.elts[position]

    def of_loop(self, node):
        """The expressions that a loop iterates over, also in enumerate and zip."""
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in (
                "enumerate", "zip", "reversed"):
            node.args = [self.parts(each) for each in node.args]
        return self.parts(node)

    def parts(self, node):
        """The tuple of slices for such a call; the node itself for others."""
        import sys

        numpy = sys.modules.get("numpy")
        if not isinstance(node, ast.Call) or numpy is None or len(node.args) != 2 or not isinstance(
                node.args[0], ast.Name):
            return node
        function, axis = self._meaning(node.func), 0
        for each in node.keywords:
            axis = each.value.value if each.arg == "axis" and isinstance(each.value, ast.Constant) else None
        if function not in (numpy.split, numpy.array_split) or axis not in (0, 1):
            return node
        array, asked = node.args
        size = ast.Subscript(ast.Attribute(array, "shape", ast.Load()), ast.Constant(axis), ast.Load())
        if isinstance(asked, (ast.List, ast.Tuple)) and not any(isinstance(each, ast.Starred) for each in asked.elts):
            bounds = [None, *(self._kept("bound", each) for each in asked.elts), None]
        elif isinstance(asked, ast.Constant) and type(asked.value) is int and 0 < asked.value <= 64:
            bounds = self._equal(size, asked.value, function is numpy.split)
        else:
            return node
        found = []
        for begin, end in zip(bounds, bounds[1:]):
            index = ast.Slice(copy.deepcopy(begin), copy.deepcopy(end))
            index = ast.Tuple([ast.Slice(), index], ast.Load()) if axis == 1 else index
            found.append(ast.Subscript(ast.Name(array.id, ast.Load()), index, ast.Load()))
        return ast.fix_missing_locations(ast.copy_location(ast.Tuple(found, ast.Load()), node))

    def _equal(self, size, count, is_exact):
        """The bounds of so many parts. The first ones are longer by one where the parts are not equal."""
        if is_exact:
            call = ast.Call(ast.Name("'section", ast.Load()), [size, ast.Constant(count)], [])
            each = self._kept("section", call)
            return [ast.BinOp(each, ast.Mult(), ast.Constant(i)) for i in range(count + 1)]
        size = self._kept("size", size)
        return [ast.BinOp(
            ast.BinOp(ast.BinOp(size, ast.FloorDiv(), ast.Constant(count)), ast.Mult(), ast.Constant(i)), ast.Add(),
            ast.Call(ast.Name("min", ast.Load()), [
                ast.BinOp(size, ast.Mod(), ast.Constant(count)), ast.Constant(i)], [])) for i in range(count + 1)]

    def _kept(self, base, value):
        if isinstance(value, ast.Constant):
            return value
        name = self._new_name(base)
        self.before.append(ast.Assign([ast.Name(name, ast.Store())], copy.deepcopy(value)))
        return ast.Name(name, ast.Load())
