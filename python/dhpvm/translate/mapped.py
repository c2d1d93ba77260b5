# SPDX-License-Identifier: Apache-2.0
"""map, filter and reduce as generators, (f(x) for x in xs), dict(mean=m) as {"mean": m}, and sum(xs, s) as s + sum(xs).
"""

from __future__ import annotations

import ast
import builtins
import copy
import functools
import operator

# Functions of Python's operator, as reduce is given them.
_OPERATORS = {operator.add: ast.Add, operator.sub: ast.Sub, operator.mul: ast.Mult, operator.and_: ast.BitAnd,
              operator.or_: ast.BitOr, operator.xor: ast.BitXor}


def replace(tree, meaning, new_name):
    """Writes these calls in a tree. `meaning(node)` is the object that a name is, `new_name(base)` the name of a new
    variable."""
    _Calls(meaning, new_name).visit(tree)


class _Calls(ast.NodeTransformer):
    def __init__(self, meaning, new_name):
        self._meaning, self._new_name = meaning, new_name

    def visit_For(self, node):
        """for y in map(f, xs), as for x in xs with y = f(x) in front of its body."""
        was_call = isinstance(node.iter, ast.Call)
        self.generic_visit(node)
        if was_call and isinstance(node.iter, ast.GeneratorExp):
            (inner,) = node.iter.generators
            before = [ast.If(ast.UnaryOp(ast.Not(), each), [ast.Continue()], []) for each in inner.ifs]
            before.append(ast.Assign([node.target], node.iter.elt))
            node.body = [ast.fix_missing_locations(ast.copy_location(each, node)) for each in before] + node.body
            node.target, node.iter = inner.target, inner.iter
        return node

    def visit_Call(self, node):
        self.generic_visit(node)
        function = self._meaning(node.func) if isinstance(node.func, (ast.Name, ast.Attribute)) else None
        made = None
        if any(isinstance(each, ast.Starred) for each in node.args):
            return node
        if function is builtins.dict and not node.args and node.keywords and all(each.arg for each in node.keywords):
            made = ast.Dict([ast.Constant(each.arg) for each in node.keywords], [each.value for each in node.keywords])
        elif function is builtins.map and len(node.args) > 1 and not node.keywords:
            made = self._mapped(*node.args)
        elif function is builtins.filter and len(node.args) == 2 and not node.keywords:
            made = self._filtered(*node.args)
        elif function is functools.reduce and 1 < len(node.args) < 4 and not node.keywords:
            made = self._reduced(*node.args)
        elif function is builtins.sum:
            made = self._sum(node)
        return node if made is None else ast.fix_missing_locations(ast.copy_location(made, node))

    @staticmethod
    def _sum(node):
        """sum(xs, s), if it does not matter that s is evaluated first."""
        start = [*node.args[1:], *(each.value for each in node.keywords if each.arg == "start")]
        if len(start) != 1 or len(node.args) + len(node.keywords) != 2 or not isinstance(
                start[0], (ast.Constant, ast.Name)):
            return None
        return ast.BinOp(start[0], ast.Add(), ast.Call(node.func, node.args[:1], []))

    def _mapped(self, function, *iterated):
        names = [self._new_name("item") for _ in iterated]
        value = self._called(function, names)
        if len(names) == 1:
            return value and self._generator(value, ast.Name(names[0], ast.Store()), iterated[0], [])
        target = ast.Tuple([ast.Name(each, ast.Store()) for each in names], ast.Store())
        return value and self._generator(value, target, ast.Call(ast.Name("zip", ast.Load()), [*iterated], []), [])

    def _reduced(self, function, iterated, start=None):
        """A generator with a `fold`: the variable that each of its values is given to, and the first one."""
        if start is not None and not isinstance(start, (ast.Constant, ast.Name, ast.UnaryOp)):
            return None  # which is evaluated behind what is iterated
        total, name = self._new_name("total"), self._new_name("item")
        meant = self._meaning(function) if isinstance(function, (ast.Name, ast.Attribute)) else None
        if getattr(meant, "__hash__", None) is not None and meant in _OPERATORS:
            value = ast.BinOp(ast.Name(total, ast.Load()), _OPERATORS[meant](), ast.Name(name, ast.Load()))
        else:
            value = self._called(function, [total, name])
        made = value and self._generator(value, ast.Name(name, ast.Store()), iterated, [])
        if made:
            made.fold = (total, start)
        return made

    def _filtered(self, function, iterated):
        name = self._new_name("item")
        is_by_value = isinstance(function, ast.Constant) and function.value is None
        test = ast.Name(name, ast.Load()) if is_by_value else self._called(function, [name])
        return test and self._generator(ast.Name(name, ast.Load()), ast.Name(name, ast.Store()), iterated, [test])

    @staticmethod
    def _generator(value, target, iterated, tests):
        return ast.GeneratorExp(value, [ast.comprehension(target, iterated, tests, 0)])

    @staticmethod
    def _called(function, names):
        """The call with these variables; the body of a lambda. None where it takes other arguments."""
        if not isinstance(function, ast.Lambda):
            return ast.Call(copy.deepcopy(function), [ast.Name(each, ast.Load()) for each in names], [])
        parameters = [each.arg for each in function.args.args]
        if len(parameters) != len(names) or function.args.vararg or function.args.kwonlyargs:
            return None
        body, given = copy.deepcopy(function.body), dict(zip(parameters, names))
        for each in ast.walk(body):
            if isinstance(each, ast.Lambda):
                return None
            if isinstance(each, ast.Name) and each.id in given:
                each.id = given[each.id]
        return body
