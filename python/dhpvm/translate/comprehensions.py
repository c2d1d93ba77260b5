# SPDX-License-Identifier: Apache-2.0
"""Comprehensions as loops: they become statements before the one that they stand in."""

from __future__ import annotations

import ast
import copy
import inspect

STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)
COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)
WRITING_METHODS = ("add", "append", "clear", "discard", "extend", "fill", "insert", "itemset", "partition", "pop",
                   "popitem", "put", "remove", "resize", "reverse", "setdefault", "shuffle", "sort", "update")
READS = (ast.Subscript, ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp)


class Spread:
    """Rewrites the statements of a function. `made` has the names of new variables; `means(name)` is the function of
    Python or the module that a name is, and None for other names; `functions` are those that are defined in it."""

    def __init__(self, means, functions=()):
        self.made, self._means, self._pure = [], means, set()
        self._pure = {each.name for each in functions if self._is_pure(each)}

    def _is_pure(self, function):
        """Whether calls of the function change nothing."""
        return not any(isinstance(each, ast.AugAssign) or (isinstance(each, ast.Call) and self._may_write(each)) or
                       (isinstance(each, ast.Subscript) and not isinstance(each.ctx, ast.Load))
                       for each in ast.walk(function))

    def block(self, statements, in_parallel=False):
        """The statements with what has to come before them."""
        found = []
        for statement in statements:
            inside = in_parallel or (isinstance(statement, ast.For) and _is_prange(statement.iter))
            for owner in (statement, *getattr(statement, "handlers", ())):
                for field in ("body", "orelse", "finalbody"):
                    if getattr(owner, field, None) and not isinstance(owner, ast.expr):
                        setattr(owner, field, self.block(getattr(owner, field), inside))
            if isinstance(statement, STATEMENTS) and statement.value is not None:
                found += self._spread(statement, inside)
            elif isinstance(statement, (ast.If, ast.While, ast.Assert)) and _has_comprehension(statement.test):
                found += self._condition(statement, inside)
            else:
                found.append(statement)
        return found

    def _condition(self, statement, in_parallel):
        """if any(..): its value is that of a new variable, which a while loop computes in each turn."""
        if isinstance(statement, ast.While) and statement.orelse:
            return [statement]
        name = self._name("test")
        if isinstance(statement, ast.Assert) and statement.msg is None:
            statement.msg = ast.Constant(f"assert {ast.unparse(statement.test)}")
        # Types go on deciding which branch is compiled: if w is not None and any(..).
        by_types = [copy.deepcopy(each) for each in statement.test.values if _is_by_type(each)] if isinstance(
            statement.test, ast.BoolOp) and isinstance(statement.test.op, ast.And) else []
        made = self._decided(statement.test, name, in_parallel)
        known = ast.Name(name, ast.Load())
        if isinstance(statement, ast.While):
            made.append(ast.If(ast.UnaryOp(ast.Not(), known), [ast.Break()], []))
        for each in made:
            ast.fix_missing_locations(ast.copy_location(each, statement))
        if isinstance(statement, ast.While):
            statement.test, statement.body, made = ast.Constant(True), [*made, *statement.body], []
        else:
            statement.test = ast.BoolOp(ast.And(), [*by_types, known]) if by_types else known
        return [*made, ast.fix_missing_locations(statement)]

    def _decided(self, test, name, in_parallel):
        """Statements that give a new variable the value of a condition, and evaluate no more of it than Python does."""
        def is_made(value):
            return ast.Assign([ast.Name(name, ast.Store())], value)

        if not isinstance(test, ast.BoolOp):
            value = ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), test))
            return self.block([ast.fix_missing_locations(ast.copy_location(is_made(value), test))], in_parallel)
        is_and = isinstance(test.op, ast.And)
        first = next(i for i, each in enumerate(test.values) if _has_comprehension(each))
        before, rest = test.values[:first], test.values[first + 1:]
        made = self._decided(test.values[first], name, in_parallel)
        if rest:
            behind = rest[0] if len(rest) == 1 else ast.BoolOp(test.op, rest)
            known = ast.Name(name, ast.Load())
            made.append(ast.If(known if is_and else ast.UnaryOp(ast.Not(), known), self._decided(
                ast.copy_location(behind, test), name, in_parallel), []))
        if before:
            head = before[0] if len(before) == 1 else ast.BoolOp(test.op, before)
            made = [is_made(ast.Constant(not is_and)),
                    ast.If(head if is_and else ast.UnaryOp(ast.Not(), head), made, [])]
        return made

    def _spread(self, statement, in_parallel):
        made = []
        for node in self._movable(statement, in_parallel):
            made += self._called(node) if _is_view(node) else self._loops(statement, node)
        if len(made) == 2 and _is_the_list(statement, *made):
            for each in [node for part in made for node in ast.walk(part)]:
                if isinstance(each, ast.Name) and each.id == statement.value.id:
                    each.id = statement.targets[0].id
        else:
            made.append(statement)
        for each in made:
            ast.fix_missing_locations(ast.copy_location(each, statement))
        return made

    def _movable(self, statement, in_parallel):
        """The comprehensions and elements of results of calls that are evaluated exactly once, before any call that
        could change what they read, and after nothing that they could change themselves."""
        found, calls = [], []
        # An element that is assigned with += is read first.
        is_read = isinstance(statement, ast.AugAssign) and not isinstance(statement.target, ast.Name)

        def may_move(node):
            return not is_read or not any(map(self._may_write, _calls_in(node)))

        def visit(node):
            nonlocal is_read
            if isinstance(node, COMPREHENSIONS):
                if not calls and may_move(node) and not any(
                        isinstance(each, (*COMPREHENSIONS, ast.Lambda)) for part in [*node.generators, *(
                            [] if isinstance(node.elt, (ast.Call, *COMPREHENSIONS)) else [node.elt])]
                        for each in ast.walk(part)):
                    found.append(node)
                    return
            elif not isinstance(node, (ast.Lambda, ast.IfExp, ast.BoolOp)) and len(getattr(node, "ops", ())) < 2:
                before = is_read
                for child in ast.iter_child_nodes(node):
                    visit(child)
                if isinstance(node, ast.Call) and self._may_write(node):
                    calls.append(node)
                is_new = _is_view(node) and (isinstance(node.value, ast.Call) or _is_selection(node.value))
                if is_new and not in_parallel and \
                        all(each is node.value for each in calls) and (
                            not before or not isinstance(node.value, ast.Call) or not self._may_write(node.value)):
                    calls.clear()
                    found.append(node)
            is_read = is_read or isinstance(node, READS)

        visit(statement.value)
        return found

    def _may_write(self, call):
        """Whether the call can change elements of arrays: functions of the user can, and few methods."""
        if isinstance(call.func, ast.Attribute) and self._means(_root(call.func)) is None:
            return call.func.attr in WRITING_METHODS
        return not self._is_harmless(call)

    def _is_harmless(self, call):
        """Whether the call changes nothing: those of Python and NumPy, and of what is defined in the function."""
        if isinstance(call.func, ast.Name) and call.func.id in self._pure:
            return True
        known = self._means(_root(call.func))
        return known is not None and (not inspect.ismodule(known) or
                                      known.__name__.partition(".")[0] in ("numpy", "math", "builtins"))

    def _name(self, base):
        base = base.partition("'")[0]
        self.made.append(f"{base}'{len(self.made) + 1}")
        return self.made[-1]

    def _called(self, node):
        """np.argsort(x)[::-1]: the result has a name first, since a view names its array several times."""
        name, call = self._name("result"), node.value
        node.value = ast.copy_location(ast.Name(name, ast.Load()), call)
        return [ast.Assign([ast.Name(name, ast.Store())], call)]

    def _loops(self, statement, node):
        """The loops for a comprehension, whose value is that of a new variable."""
        call = next((each for each in ast.walk(statement.value) if isinstance(each, ast.Call) and
                     each.args == [node] and not each.keywords), None)
        kind = self._means(call.func) if call is not None else None
        name = self._name("list")
        element = self._with_own_names(node)
        store = ast.Name(name, ast.Store())
        if kind is sum:
            first, update = ast.Constant(0), ast.AugAssign(store, ast.Add(), element)
        elif kind in (any, all):
            known = ast.Name(name, ast.Load())
            # Nothing is evaluated any more once the result is known.
            tests = [ast.UnaryOp(ast.Not(), known), element] if kind is any else [
                known, ast.UnaryOp(ast.Not(), element)]
            first = ast.Constant(kind is all)
            update = ast.If(ast.BoolOp(ast.And(), tests), [ast.Assign([store], ast.Constant(kind is any))], [])
        else:
            append = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
            first, update, call = ast.List([], ast.Load()), ast.Expr(ast.Call(append, [element], [])), node
        for each in reversed(node.generators):
            for test in reversed(each.ifs):
                update = ast.If(test, [update], [])
            update = ast.For(each.target, each.iter, [update], [])
        _replace(statement, call, ast.copy_location(ast.Name(name, ast.Load()), node))
        made = [ast.Assign([ast.Name(name, ast.Store())], first), update]
        if not _has_comprehension(element):
            return made
        for each in made:
            ast.fix_missing_locations(ast.copy_location(each, statement))
        return self.block(made)

    def _with_own_names(self, node):
        """The element, where the variables of the comprehension, which are its own, have new names."""
        names = {each.id: self._name(each.id) for generator in node.generators
                 for each in ast.walk(generator.target) if isinstance(each, ast.Name)}
        first = node.generators[0].iter  # is evaluated outside
        for part in [node.elt, *(each.target for each in node.generators),
                     *(test for each in node.generators for test in each.ifs),
                     *(each.iter for each in node.generators if each.iter is not first)]:
            for each in ast.walk(part):
                if isinstance(each, ast.Name):
                    each.id = names.get(each.id, each.id)
        return node.elt


def _is_by_type(node):
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot))


def _has_comprehension(node):
    return any(isinstance(each, COMPREHENSIONS) for each in ast.walk(node))


def _is_view(node):
    return isinstance(node, ast.Subscript) or getattr(node, "attr", "") == "T"


def _is_selection(node):
    """x[x > 2], which makes a new array."""
    return isinstance(node, ast.Subscript) and any(isinstance(each, (ast.Compare, ast.List))
                                                   for each in ast.walk(node.slice))


def _root(node):
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _calls_in(node):
    return [each for each in ast.walk(node) if isinstance(each, ast.Call)]


def _is_the_list(statement, first, loop):
    """Whether the variable of this statement can be the list that a loop makes: found = [..], without itself inside."""
    if not isinstance(statement, ast.Assign) or not isinstance(first, ast.Assign) or not isinstance(
            first.value, ast.List) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    return isinstance(target, ast.Name) and isinstance(statement.value, ast.Name) and not any(
        isinstance(each, ast.Name) and each.id == target.id for each in ast.walk(loop))


def _is_prange(node):
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "prange"


def _replace(statement, old, new):
    """Puts a node in the place of another one."""
    for parent in ast.walk(statement):
        for field, given in ast.iter_fields(parent):
            if given is old:
                setattr(parent, field, new)
            elif isinstance(given, list) and any(each is old for each in given):
                setattr(parent, field, [new if each is old else each for each in given])
