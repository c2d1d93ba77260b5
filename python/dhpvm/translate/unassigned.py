# SPDX-License-Identifier: Apache-2.0
"""Variables that may have no value where they are read: the program notes that they get one, and raises Python's
UnboundLocalError in its place."""

from __future__ import annotations

import ast

from . import scopes
from .comprehensions import is_prange

_LOOPS = (ast.For, ast.While)


def guard(tree, parameters, fail):
    """Adds the notes and the tests to a function. Returns the names of the variables that it adds.

    Reads that may not be evaluated, such as y in `found and y > 0`, are tested where they are: they get a `flag`, the
    name of the variable that notes it. Variables of prange loops are left out, which have no value of an earlier turn.
    `fail(node, message)` refuses what never has a value."""
    in_parallel = [each for each in ast.walk(tree) if isinstance(each, ast.For) and is_prange(each.iter)]
    own = {name for name in scopes.stored(tree.body) if "'" not in name}
    reads = _Reads(own - set(parameters) - scopes.stored(in_parallel))
    reads.block(tree.body, frozenset())
    if not reads.found and not reads.possible:
        return []
    names = sorted({name for names in reads.found.values() for name in names} | {each.id for each in reads.possible})
    given = scopes.stored(tree.body, in_place=False)
    for each in reads.possible:
        each.flag = _flag(each.id)
    for statement, early in reads.found.items():
        if early - given:
            fail(statement, f"'{min(early - given)}' has no value here: assign it before")
    tree.body = [_note(name, False, tree.body[0]) for name in names] + _guarded(tree.body, reads.found, set(names))
    return list(map(_flag, names))


def message(name):
    """The text of the UnboundLocalError."""
    return f"cannot access local variable '{name}' where it is not associated with a value"


def _flag(name):
    return f"{name}'set"


class _Reads:
    """Follows the paths through a function, with the variables that have a value on all of them: a frozenset, or None
    behind what is not left at its end. `found` has for each statement what its own expressions read too early, and
    `possible` the nodes that read too early if they are evaluated."""

    def __init__(self, names):
        self._names, self.found, self.possible = names, {}, []
        self._breaks = []  # for each loop around, the variables at its breaks

    def block(self, statements, known):
        for statement in statements:
            if known is None:
                break
            method = getattr(self, f"_{type(statement).__name__.lower()}", None)
            known = method(statement, known) if method else self._plain(statement, known)
        return known

    def _read(self, statement, expressions, known):
        names = {name for each in expressions for name in _sure_reads(each)} & self._names
        if names - known:
            self.found.setdefault(statement, set()).update(names - known)
        known = known | names
        sure = {id(each) for expression in expressions for each in scopes.surely_evaluated(expression)}
        self.possible += [each for expression in expressions for each in _reads_in(expression)
                          if each.id in self._names - known and id(each) not in sure]
        return known

    def _plain(self, statement, known):
        return self._read(statement, [statement], known) | scopes.stored([statement])

    def _delete(self, node, known):
        return self._read(node, [node], known) - _deleted(node)

    def _return(self, node, known):
        self._read(node, [node.value] if node.value else [], known)

    def _raise(self, node, known):
        self._read(node, [node.exc] if node.exc else [], known)

    def _break(self, node, known):
        self._breaks[-1].append(known)

    def _continue(self, node, known):
        pass

    def _if(self, node, known):
        known = self._read(node, [node.test], known)
        return _both(self.block(node.body, known), self.block(node.orelse, known))

    def _while(self, node, known):
        known = self._read(node, [node.test], known)
        is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
        return self._loop(node, known, known, None if is_endless else known)

    def _for(self, node, known):
        known = self._read(node, [node.iter], known)
        return self._loop(node, known, known | scopes.stored([ast.Expr(node.target)]), known)

    def _loop(self, node, before, inside, end):
        self._breaks.append([])
        last = self.block(node.body, inside)
        if _turns_surely(node) and not scopes.has_continue(node.body):
            end = last
        end = self.block(node.orelse, end)
        for each in self._breaks.pop():
            end = _both(end, each)
        return end

    def _with(self, node, known):
        return self.block(node.body, self._read(node, [each.context_expr for each in node.items], known))

    def _try(self, node, known):
        ends = self.block([*node.body, *node.orelse], known)
        for each in node.handlers:
            ends = _both(ends, self.block(each.body, known | ({each.name} if each.name else set())))
        if not node.finalbody:
            return ends
        last = self.block(node.finalbody, known)
        return None if ends is None or last is None else ends | last


def _both(one, other):
    return other if one is None else one if other is None else one & other


def _turns_surely(node):
    """Whether a loop goes over a range of constants that is not empty."""
    if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call) or \
            ast.unparse(node.iter.func) != "range" or node.iter.keywords:
        return False
    try:
        return len(range(*map(ast.literal_eval, node.iter.args))) > 0
    except (TypeError, ValueError):
        return False


def _sure_reads(node):
    """The variables that a statement without blocks, or an expression, reads whenever it is evaluated."""
    found = {each.id for each in scopes.surely_evaluated(node) if isinstance(each, ast.Name) and
             isinstance(each.ctx, ast.Load)}
    is_update = isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    return found | {node.target.id} if is_update else found


def _reads_in(node):
    """The nodes in an expression that read variables of the function, without those in functions and comprehensions."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node
    if isinstance(node, ast.Call):
        parts = [node.func, *node.args, *(each.value for each in node.keywords if not (each.arg or "").startswith("'"))]
    elif isinstance(node, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.FunctionDef,
                           ast.ClassDef)):
        parts = []
    else:
        parts = ast.iter_child_nodes(node)
    for each in parts:
        yield from _reads_in(each)


def _deleted(node):
    """The variables that `del x` leaves without a value."""
    return {each.id for each in node.targets if isinstance(each, ast.Name)} if isinstance(node, ast.Delete) else set()


def _note(name, is_set, node):
    made = ast.Assign([ast.Name(_flag(name), ast.Store())], ast.Constant(is_set))
    return ast.fix_missing_locations(ast.copy_location(made, node))


def _test(name, node):
    error = ast.Call(ast.Name("UnboundLocalError", ast.Load()), [ast.Constant(message(name))], [])
    made = ast.If(ast.UnaryOp(ast.Not(), ast.Name(_flag(name), ast.Load())), [ast.Raise(error)], [])
    return ast.fix_missing_locations(ast.copy_location(made, node))


def _guarded(statements, found, names):
    """The statements with a test before those that read too early, and a note where one of the names gets a value."""
    made = []
    for statement in statements:
        made += [_test(name, statement) for name in sorted(found.get(statement, ()))]
        for field in ("body", "orelse", "finalbody"):
            if getattr(statement, field, None):
                setattr(statement, field, _guarded(getattr(statement, field), found, names))
        for handler in getattr(statement, "handlers", ()):
            handler.body = _guarded(handler.body, found, names)
        made.append(statement)
        made += [_note(name, False, statement) for name in sorted(_deleted(statement) & names)]
        if isinstance(statement, ast.For):
            stored = scopes.stored([ast.Expr(statement.target)])
            statement.body[:0] = [_note(name, True, statement.body[0]) for name in sorted(stored & names)]
        elif not scopes.parts(statement):
            made += [_note(name, True, statement) for name in sorted(scopes.stored([statement]) & names)]
    return made
