# SPDX-License-Identifier: Apache-2.0
"""`match` as `if` and `else`: patterns of numbers and texts, of several, of tuples that are written out, and names."""

from __future__ import annotations

import ast
import copy


def replace(tree, new_name, fail):
    """Writes the match statements of a tree. `new_name(base)` is the name of a new variable, `fail(node, message)`
    refuses what cannot be compiled."""
    _Matches(new_name, fail).visit(tree)


class _Matches(ast.NodeTransformer):
    def __init__(self, new_name, fail):
        self._new_name, self._fail = new_name, fail

    def visit_Match(self, node):
        self.generic_visit(node)
        before = []
        if isinstance(node.subject, ast.Tuple):
            subject = [self._named(each, before) for each in node.subject.elts]
        else:
            subject = self._named(node.subject, before)
        rest = []
        for case in reversed(node.cases):
            rest = self._case(case, subject, rest)
        made = [*before, *(rest or [ast.Pass()])]
        return [ast.fix_missing_locations(ast.copy_location(each, node)) for each in made]

    def _named(self, node, before):
        """The node of what is compared, which is evaluated once."""
        if isinstance(node, (ast.Name, ast.Constant)):
            return node
        name = self._new_name("matched")
        before.append(ast.copy_location(ast.Assign([ast.Name(name, ast.Store())], node), node))
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _case(self, case, subject, rest):
        """The statements for a case; `rest` is for what does not match."""
        tests, given = [], {}
        self._pattern(case.pattern, subject, tests, given)
        bound = [ast.Assign([ast.Name(name, ast.Store())], copy.deepcopy(value)) for name, value in given.items()]
        if case.guard is None:
            body = bound + case.body
            return [self._at(case, ast.If(_all(tests), body, rest))] if tests else [
                self._at(case, each) for each in body]
        guard = _Given(given).visit(copy.deepcopy(case.guard))
        # The names keep their values where the guard is false.
        first = [ast.If(_all(copy.deepcopy(tests)), bound, [])] if tests and bound else bound
        return [self._at(case, each) for each in (*first, ast.If(_all([*tests, guard]), case.body, rest))]

    @staticmethod
    def _at(case, node):
        return node if hasattr(node, "lineno") else ast.fix_missing_locations(ast.copy_location(node, case.pattern))

    def _pattern(self, pattern, subject, tests, given):
        """Adds the tests of a pattern, and what its names are."""
        if isinstance(pattern, ast.MatchAs):
            if pattern.pattern is not None:
                self._pattern(pattern.pattern, subject, tests, given)
            if pattern.name is not None:
                given[pattern.name] = self._one(pattern, subject)
        elif isinstance(pattern, ast.MatchValue):
            tests.append(ast.Compare(copy.deepcopy(self._one(pattern, subject)), [ast.Eq()], [pattern.value]))
        elif isinstance(pattern, ast.MatchSingleton) and pattern.value is None:
            tests.append(ast.Compare(copy.deepcopy(self._one(pattern, subject)), [ast.Is()], [ast.Constant(None)]))
        elif isinstance(pattern, ast.MatchOr):
            self._any(pattern, subject, tests)
        elif isinstance(pattern, ast.MatchSequence) and isinstance(subject, list) and not any(
                isinstance(each, ast.MatchStar) for each in pattern.patterns):
            if len(pattern.patterns) != len(subject):
                tests.append(ast.Constant(False))
                return
            for each, item in zip(pattern.patterns, subject):
                self._pattern(each, item, tests, given)
        elif isinstance(pattern, ast.MatchSequence):
            self._fail(pattern, "a pattern of several is compiled for as many values that are written out: match (x, y)"
                                " and case (0, y); write if and elif for others")
        else:
            self._fail(pattern, "a pattern is a number, a text, several by |, a tuple of these, or a name here: write "
                                "if and elif")

    def _any(self, pattern, subject, tests):
        """case 1 | 2"""
        found = []
        for each in pattern.patterns:
            own, given = [], {}
            self._pattern(each, subject, own, given)
            if given:
                self._fail(pattern, "a pattern with | has no names here: write a case for each")
            if not own:  # _ matches anything
                return
            found.append(_all(own))
        tests.append(ast.BoolOp(ast.Or(), found))

    def _one(self, pattern, subject):
        if isinstance(subject, list):
            self._fail(pattern, "this is compared with several values: write a pattern for each, case (0, y)")
        return subject


class _Given(ast.NodeTransformer):
    """Puts what names stand for in their places."""

    def __init__(self, given):
        self._given = given

    def visit_Name(self, node):
        return copy.deepcopy(self._given.get(node.id, node))


def _all(tests):
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
