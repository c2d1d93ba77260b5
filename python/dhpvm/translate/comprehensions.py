# SPDX-License-Identifier: Apache-2.0
"""Comprehensions as loops: they become statements before the one that they stand in."""

from __future__ import annotations

import ast
import copy
import inspect

from .keyed import Keyed

STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)
COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp, ast.DictComp, ast.SetComp)
WRITING_METHODS = ("add", "append", "clear", "discard", "extend", "fill", "insert", "itemset", "partition", "pop",
                   "popitem", "put", "remove", "resize", "reverse", "setdefault", "shuffle", "sort", "update")
READS = (ast.Subscript, ast.Call, ast.BinOp, ast.UnaryOp, ast.Compare, ast.BoolOp, ast.IfExp)


class Spread:
    """Rewrites the statements of a function. `made` has the names of new variables; `means(name)` is the function of
    Python or the module that a name is, and None for other names; `functions` are those that are defined in it;
    `generator(call)` is the definition of the generator that is called, None for other calls."""

    def __init__(self, means, functions=(), generator=lambda call: None):
        self.made, self._means, self._pure, self._generator = [], means, set(), generator
        self._are_pure = {}  # definitions of generators
        self._keyed = Keyed(self.name, means)
        self._pure = {each.name for each in functions if self._is_pure(each)}

    def _is_pure(self, function):
        """Whether calls of the function change nothing."""
        return not any((isinstance(each, ast.AugAssign) and not _is_count(each, function)) or
                       (isinstance(each, ast.Call) and self._may_write(each)) or
                       (isinstance(each, ast.Subscript) and not isinstance(each.ctx, ast.Load))
                       for each in ast.walk(function))

    def block(self, statements, in_parallel=False):
        """The statements with what has to come before them."""
        found = []
        for statement in statements:
            inside = in_parallel or (isinstance(statement, ast.For) and is_prange(statement.iter))
            for owner in (statement, *getattr(statement, "handlers", ())):
                for field in ("body", "orelse", "finalbody"):
                    if getattr(owner, field, None) and not isinstance(owner, ast.expr):
                        setattr(owner, field, self.block(getattr(owner, field), inside))
            if isinstance(statement, STATEMENTS) and statement.value is not None:
                found += self._spread(statement, inside)
            elif isinstance(statement, (ast.If, ast.While, ast.Assert)) and self._has_loop(statement.test):
                found += self._condition(statement, inside)
            elif isinstance(statement, ast.For) and self._has_loop(statement.iter) and not isinstance(
                    statement.iter, ast.GeneratorExp):  # which is evaluated turn by turn
                *before, last = self._spread(ast.copy_location(ast.Expr(statement.iter), statement), in_parallel)
                statement.iter = last.value
                found += [*before, statement]
            else:
                found.append(statement)
        return found

    def _condition(self, statement, in_parallel):
        """if any(..): its value is that of a new variable, which a while loop computes in each turn."""
        if isinstance(statement, ast.While) and statement.orelse:
            return [statement]
        name = self.name("test")
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
        first = next(i for i, each in enumerate(test.values) if self._has_loop(each))
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
            if self._keyed.is_one(node):
                made += self._ordered(statement, node, in_parallel)
            else:
                made += self._called(node) if _is_view(node) else self._loops(statement, node)
        if isinstance(statement, ast.Expr) and statement.value is None:  # xs.sort(key=..)
            statement = ast.copy_location(ast.Pass(), statement)
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
            if self._keyed.is_one(node) and not calls and may_move(node):
                found.append(node)
                return
            if isinstance(node, COMPREHENSIONS):
                first = node.generators[0]
                parts = [first.target, *first.ifs, *node.generators[1:], *(
                    each for each in _elements(node) if not isinstance(each, (ast.Call, *COMPREHENSIONS)))]
                if not calls and may_move(node) and not any(isinstance(each, (*COMPREHENSIONS, ast.Lambda))
                                                            for part in parts for each in ast.walk(part)):
                    if self._has_loop(first.iter):
                        visit(first.iter)
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
        generator = self._generator(call)
        if generator is not None:
            if generator not in self._are_pure:
                self._are_pure[generator] = True  # for its calls of itself
                self._are_pure[generator] = self._is_pure(generator)
            return not self._are_pure[generator]
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

    def name(self, base):
        """The name of a new variable."""
        base = base.partition("'")[0]
        self.made.append(f"{base}'{len(self.made) + 1}")
        return self.made[-1]

    def _has_loop(self, node):
        """Whether something in it becomes a loop."""
        return any(isinstance(each, COMPREHENSIONS) or self._keyed.is_one(each) for each in ast.walk(node))

    def _ordered(self, statement, node, in_parallel):
        """sorted(x, key=..) and its kin."""
        made, value = self._keyed.statements(node)
        _replace(statement, node, value if value is None else ast.copy_location(value, node))
        for each in made:
            ast.fix_missing_locations(ast.copy_location(each, statement))
        return self.block(made, in_parallel)

    def _called(self, node):
        """np.argsort(x)[::-1]: the result has a name first, since a view names its array several times."""
        name, call = self.name("result"), node.value
        node.value = ast.copy_location(ast.Name(name, ast.Load()), call)
        return [ast.Assign([ast.Name(name, ast.Store())], call)]

    def _loops(self, statement, node):
        """The loops for a comprehension, whose value is that of a new variable."""
        call = next((each for each in ast.walk(statement.value) if isinstance(each, ast.Call) and
                     each.args == [node] and not each.keywords), None)
        kind = self._means(call.func) if call is not None else None
        name = self.name("list")
        self._give_own_names(node)
        element, store, behind = _elements(node)[-1], ast.Name(name, ast.Store()), []
        if isinstance(node, ast.DictComp):
            place = ast.Subscript(ast.Name(name, ast.Load()), node.key, ast.Store())
            first, update, call = ast.Dict([], []), ast.Assign([place], element), node
        elif isinstance(node, ast.SetComp):
            add = ast.Attribute(ast.Name(name, ast.Load()), "add", ast.Load())
            first = ast.Call(ast.Name("set", ast.Load()), [], [])
            update, call = ast.Expr(ast.Call(add, [element], [])), node
        elif kind is sum:
            first, update = ast.Constant(0), ast.AugAssign(store, ast.Add(), element)
        elif kind in (any, all):
            known = ast.Name(name, ast.Load())
            # Nothing is evaluated any more once the result is known.
            tests = [ast.UnaryOp(ast.Not(), known), element] if kind is any else [
                known, ast.UnaryOp(ast.Not(), element)]
            first = ast.Constant(kind is all)
            update = ast.If(ast.BoolOp(ast.And(), tests), [ast.Assign([store], ast.Constant(kind is any))], [])
        elif hasattr(node, "fold"):
            name, call = node.fold[0], node
            first, update, behind = self._fold(node, name, element)
        else:
            append = ast.Attribute(ast.Name(name, ast.Load()), "append", ast.Load())
            first, update, call = ast.List([], ast.Load()), ast.Expr(ast.Call(append, [element], [])), node
        for each in reversed(node.generators):
            for test in reversed(each.ifs):
                update = ast.If(test, [update], [])
            update = ast.For(each.target, each.iter, [update], [])
        _replace(statement, call, ast.copy_location(ast.Name(name, ast.Load()), node))
        made = [first if isinstance(first, ast.stmt) else ast.Assign([ast.Name(name, ast.Store())], first), update,
                *behind]
        if not any(map(_has_comprehension, _elements(node))):
            return made
        for each in made:
            ast.fix_missing_locations(ast.copy_location(each, statement))
        return self.block(made)

    def _fold(self, node, name, element):
        """functools.reduce: what is before the loop, in it and behind it."""
        update, start = ast.Assign([ast.Name(name, ast.Store())], element), node.fold[1]
        if start is not None:
            return start, update, []
        is_first, item = self.name("first"), copy.deepcopy(node.generators[0].target)
        item.ctx = ast.Load()
        known = ast.Name(is_first, ast.Load())
        begin = [ast.Assign([ast.Name(name, ast.Store())], item),
                 ast.Assign([ast.Name(is_first, ast.Store())], ast.Constant(False))]
        error = ast.Call(ast.Name("TypeError", ast.Load()), [
            ast.Constant("reduce() of empty iterable with no initial value")], [])
        return (ast.Assign([ast.Name(is_first, ast.Store())], ast.Constant(True)), ast.If(known, begin, [update]),
                [ast.If(known, [ast.Raise(error)], [])])

    def _give_own_names(self, node):
        """Gives the variables of the comprehension, which are its own, new names."""
        names = {each.id: self.name(each.id) for generator in node.generators
                 for each in ast.walk(generator.target) if isinstance(each, ast.Name)}
        first = node.generators[0].iter  # is evaluated outside
        for part in [*_elements(node), *(each.target for each in node.generators),
                     *(test for each in node.generators for test in each.ifs),
                     *(each.iter for each in node.generators if each.iter is not first)]:
            for each in ast.walk(part):
                if isinstance(each, ast.Name):
                    each.id = names.get(each.id, each.id)


def _elements(node):
    """What a comprehension evaluates in each turn."""
    return [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]


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


def _is_count(node, function):
    """Whether x += 1 is of a variable that begins as a number, so that it is in no array."""
    values = [each.value for each in ast.walk(function) if isinstance(each, ast.Assign) and any(
        isinstance(part, ast.Name) and part.id == getattr(node.target, "id", "") for target in each.targets
        for part in ast.walk(target))]
    return bool(values) and all(isinstance(each, ast.Constant) for each in values)


def _root(node):
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def _calls_in(node):
    return [each for each in ast.walk(node) if isinstance(each, ast.Call)]


def _is_the_list(statement, first, loop):
    """Whether the variable of this statement can be the list, dictionary or set that a loop makes: found = [..],
    without itself inside."""
    is_new = isinstance(first, ast.Assign) and (isinstance(first.value, (ast.List, ast.Dict)) or isinstance(
        getattr(first.value, "func", None), ast.Name) and first.value.func.id == "set")
    if not isinstance(statement, ast.Assign) or not is_new or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    return isinstance(target, ast.Name) and isinstance(statement.value, ast.Name) and not any(
        isinstance(each, ast.Name) and each.id == target.id for each in ast.walk(loop))


def is_prange(node):
    return isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "prange"


def _replace(statement, old, new):
    """Puts a node in the place of another one."""
    for parent in ast.walk(statement):
        for field, given in ast.iter_fields(parent):
            if given is old:
                setattr(parent, field, new)
            elif isinstance(given, list) and any(each is old for each in given):
                setattr(parent, field, [new if each is old else each for each in given])
