# SPDX-License-Identifier: Apache-2.0
"""Loops over generators, functions that yield: the generator's statements take the place of the loop, and the body of
the loop that of each yield."""

from __future__ import annotations

import ast
import copy

from . import scopes
from .comprehensions import is_prange

MAXIMUM_YIELDS = 6  # each has a copy of the loop's body
_TAKING = (list, tuple, set, sum, any, all, min, max, sorted)


class Yields:
    """Rewrites the statements of a function. `spread` spreads comprehensions and names new variables; `generator(node)`
    gives the definition of the generator that is called at a node, None for other calls; `means(node)` is the function
    of Python that a name is; `fail(node, message)` raises an error; `assigned` are the variables that are assigned."""

    def __init__(self, spread, generator, means, fail, assigned):
        self._spread, self._generator, self._means, self._fail = spread, generator, means, fail
        self._name, self._assigned = spread.name, assigned
        self._open = []  # generators whose statements are being written

    def block(self, statements, in_parallel=False):
        """The statements without comprehensions, and without loops over generators."""
        self._take(statements)
        return self._without_loops(self._spread.block(statements, in_parallel), in_parallel)

    def _without_loops(self, statements, in_parallel):
        found = []
        for statement in statements:
            inside = in_parallel or (isinstance(statement, ast.For) and is_prange(statement.iter))
            for owner in (statement, *getattr(statement, "handlers", ())):
                for field in ("body", "orelse", "finalbody"):
                    if getattr(owner, field, None) and not isinstance(owner, ast.expr):
                        setattr(owner, field, self._without_loops(getattr(owner, field), inside))
            found += self._loop(statement, inside) if isinstance(statement, ast.For) else [statement]
        return found

    def _take(self, statements):
        """Writes list(g(x)) as list(v for v in g(x)), which becomes a loop."""
        for node in [each for statement in statements for each in ast.walk(statement)]:
            if isinstance(node, ast.Call) and len(node.args) == 1 and self._generator(node.args[0]) and any(
                    self._means(node.func) is each for each in _TAKING):
                name, call = self._name("item"), node.args[0]
                made = ast.GeneratorExp(ast.Name(name, ast.Load()),
                                        [ast.comprehension(ast.Name(name, ast.Store()), call, [], 0)])
                node.args[0] = ast.fix_missing_locations(ast.copy_location(made, call))

    def _loop(self, node, in_parallel):
        """The statements of a loop; the loop itself if it is over something else than a generator."""
        call, numbered = node.iter, None
        if isinstance(call, ast.Call) and call.args and self._means(call.func) is enumerate:
            call, numbered = call.args[0], call
        tree = self._generator(call)
        if tree is None:
            return [node]
        if any(each is tree for each in self._open):
            self._fail(node, f"{tree.name} goes over its own results: a generator that calls itself cannot be "
                             "compiled; keep what is left to visit in a list")
        self._check(node, tree)
        made, names = self._arguments(node, call, tree)
        turn, target = [], copy.deepcopy(node.target)
        if numbered is not None:
            made += self._counter(node, numbered, turn)
            target = copy.deepcopy(node.target.elts[1])
        renaming = _Renaming(names, self._name)
        inside = [renaming.visit(each) for each in copy.deepcopy(tree.body) if not _is_docstring(each)]
        for each in inside:
            for part in ast.walk(each):
                if isinstance(part, (ast.expr, ast.stmt)):  # as if all stood in the line of the loop
                    ast.copy_location(part, node)
        self._open.append(tree)
        inside = self.block(inside, in_parallel)
        self._open.pop()
        body = _Body(self._name, target, turn, node)
        made += body.written(inside)
        for each in made:
            ast.fix_missing_locations(ast.copy_location(each, node))
        return made

    def _check(self, node, tree):
        """Fails for what cannot stand in the place of a loop."""
        inside = [each for statement in tree.body for each in ast.walk(statement)]
        yields = [each for each in inside if isinstance(each, (ast.Yield, ast.YieldFrom))]
        alone = [each.value for each in inside if isinstance(each, ast.Expr)]
        if any(each not in alone for each in yields):
            self._fail(node, f"{tree.name} uses what is sent to it: a generator that is compiled only yields")
        if len(yields) > MAXIMUM_YIELDS:
            self._fail(node, f"{tree.name} has {len(yields)} yields, and one that is compiled at most "
                             f"{MAXIMUM_YIELDS}: fill an array or a list, and return it")
        if any(isinstance(each, (ast.Try, ast.With)) and any(part in yields for part in ast.walk(each))
               for each in inside):
            self._fail(node, f"{tree.name} yields in try or with, which cannot be compiled: write it around the loop")
        if any(isinstance(each, (ast.FunctionDef, ast.Lambda)) for each in inside):
            self._fail(node, f"{tree.name} defines functions, which a generator that is compiled does not: define "
                             "them outside")

    def _arguments(self, node, call, tree):
        """Statements that give the parameters their values, and the new names of the generator's variables."""
        given, arguments = tree.args, {}
        parameters = [each.arg for each in given.posonlyargs + given.args]
        if given.vararg or given.kwarg or any(isinstance(each, ast.Starred) for each in call.args) or \
                len(call.args) > len(parameters):
            self._fail(node, f"{tree.name} takes its arguments one by one here")
        arguments.update(zip(parameters, call.args))
        known = parameters + [each.arg for each in given.kwonlyargs]
        for each in call.keywords:
            if each.arg not in known or each.arg in arguments:
                self._fail(node, f"{tree.name} has no parameter for the argument {each.arg}")
            arguments[each.arg] = each.value
        defaults = dict(zip(parameters[len(parameters) - len(given.defaults):], given.defaults))
        defaults.update((each.arg, value) for each, value in zip(given.kwonlyargs, given.kw_defaults) if value)
        stored = scopes.stored(tree.body)
        names, made = {name: self._name(name) for name in [*known, *sorted(stored - set(known))]}, []
        for name in known:
            value = arguments.get(name, defaults.get(name))
            if value is None:
                self._fail(node, f"{tree.name} needs an argument {name}")
            if name not in arguments and not isinstance(value, ast.Constant):
                self._fail(node, f"the default of '{name}' is no constant: pass the argument")
            if isinstance(value, ast.Name) and value.id not in self._assigned and name not in stored:
                names[name] = value.id  # the same value all the time
                continue
            made.append(ast.Assign([ast.Name(names[name], ast.Store())], copy.deepcopy(value)))
        return made, names

    def _counter(self, node, numbered, turn):
        """for i, x in enumerate(g(..)): statements before the loop, and in `turn` those before its body."""
        begin = numbered.args[1:] + [each.value for each in numbered.keywords if each.arg == "start"]
        if len(begin) != len(numbered.args) - 1 + len(numbered.keywords) or len(begin) > 1 or not isinstance(
                node.target, ast.Tuple) or len(node.target.elts) != 2:
            self._fail(node, "a loop over enumerate of a generator has two variables: for i, x in enumerate(..)")
        name = self._name("count")
        turn += [ast.Assign([copy.deepcopy(node.target.elts[0])], ast.Name(name, ast.Load())),
                 ast.AugAssign(ast.Name(name, ast.Store()), ast.Add(), ast.Constant(1))]
        return [ast.Assign([ast.Name(name, ast.Store())], begin[0] if begin else ast.Constant(0))]


class _Body:
    """The body of a loop over a generator, and how both are left: `break` in the body and `return` in the generator
    leave the loops of the generator one by one, which a variable tells."""

    def __init__(self, name, target, turn, node):
        self._target, self._turn, self._statements, self._orelse = target, turn, node.body, node.orelse
        self._has_break, self._has_continue = _leaves(node.body, ast.Break), _leaves(node.body, ast.Continue)
        self._left, self._broken, self._once = name("left"), name("broken"), name("once")

    def written(self, inside):
        """The generator's statements, and those of the loop's else."""
        is_left = self._has_break or any(isinstance(each, ast.Return) for statement in inside
                                         for each in ast.walk(statement))
        if not is_left:
            return [*self._block(inside, False), *self._orelse]
        made = [_set(self._left, False)]
        if self._orelse:
            made.append(_set(self._broken, False))
        made.append(self._one_turn(self._block(inside, True)))
        if self._orelse:
            made.append(ast.If(ast.UnaryOp(ast.Not(), ast.Name(self._broken, ast.Load())), self._orelse, []))
        return made

    def _one_turn(self, statements):
        """The statements as a loop that break leaves."""
        once = ast.Call(ast.Name("range", ast.Load()), [ast.Constant(1)], [])
        return ast.For(ast.Name(self._once, ast.Store()), once, statements, [])

    def _block(self, statements, is_left):
        """The statements of the generator with the body in the place of each yield. `is_left`: whether a variable says
        that all of them are left."""
        found = []
        for statement in statements:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Yield):
                found += self._yielded(statement.value)
            elif isinstance(statement, ast.Return):
                return [*found, *self._leave()]
            else:
                for field in ("body", "orelse"):
                    if getattr(statement, field, None):
                        setattr(statement, field, self._block(getattr(statement, field), is_left))
                found.append(statement)
                if is_left and isinstance(statement, (ast.For, ast.While)) and any(
                        isinstance(each, ast.Name) and each.id == self._left for each in ast.walk(statement)):
                    found.append(self._if_left())
        return found

    def _leave(self):
        return [_set(self._left, True), ast.Break()]

    def _if_left(self):
        return ast.If(ast.Name(self._left, ast.Load()), [ast.Break()], [])

    def _yielded(self, value):
        """The body for one value. Its own return, which leaves the function around it, stays as it is."""
        given = [ast.Assign([copy.deepcopy(self._target)], value.value or ast.Constant(None)),
                 *copy.deepcopy(self._turn)]
        body = _replaced(copy.deepcopy(self._statements), ast.Break, self._broke)
        if not self._has_continue:
            return given + body
        body = _replaced(body, ast.Continue, lambda: [ast.Break()])
        return [*given, self._one_turn(body), *([self._if_left()] if self._has_break else [])]

    def _broke(self):
        return [*([_set(self._broken, True)] if self._orelse else []), *self._leave()]


class _Renaming(ast.NodeTransformer):
    """Gives the variables of a generator their new names, and writes `yield from` as a loop that yields."""

    def __init__(self, names, name):
        self._names, self._name = names, name

    def visit_Name(self, node):
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_Expr(self, node):
        self.generic_visit(node)
        if not isinstance(node.value, ast.YieldFrom):
            return node
        name = self._name("item")
        yields = ast.Expr(ast.Yield(ast.Name(name, ast.Load())))
        made = ast.For(ast.Name(name, ast.Store()), node.value.value, [yields], [])
        return ast.fix_missing_locations(ast.copy_location(made, node))


def _set(name, value):
    return ast.Assign([ast.Name(name, ast.Store())], ast.Constant(value))


def _is_docstring(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _leaves(statements, kind):
    """Whether statements of a loop have a break or continue of it."""
    return any(isinstance(each, kind) or any(_leaves(part, kind) for part in _parts(each)) for each in statements)


def _parts(statement):
    """The lists of statements in a statement whose break and continue are those of the loop around it."""
    fields = ("orelse",) if isinstance(statement, (ast.For, ast.While)) else ("body", "orelse", "finalbody")
    return [each for each in (*(getattr(statement, field, []) for field in fields),
                              *(handler.body for handler in getattr(statement, "handlers", ()))) if each]


def _replaced(statements, kind, made):
    """The statements with others in the place of each break or continue of their loop."""
    found = []
    for statement in statements:
        if isinstance(statement, kind):
            found += made()
            continue
        for part in _parts(statement):
            part[:] = _replaced(part, kind, made)
        found.append(statement)
    return found
