# SPDX-License-Identifier: Apache-2.0
"""Comparisons of numbers and text, and `in`, `is` and types, which are known when a function is compiled."""

from __future__ import annotations

import ast

from . import dicts, dtypes, lists, optionals, sets, whole
from .types import (BOOL, INT, NONE, UNKNOWN, Array, Dict, List, Scalar, Text, Tuple, Unconvertible, limits, literal,
                    promote)
from .values import NOTHING, Value, constant, items_in

COMPARISONS = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}


_TURNED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


class Comparisons:
    """The part of Expressions that translates comparisons."""

    def _compare(self, node):
        operands = [node.left, *node.comparators]
        if len(operands) == 2 and type(node.ops[0]) in (ast.Is, ast.IsNot):
            return self._identity(node)
        if len(operands) == 2 and self._is_dtype(node.left):
            names = [dtypes.element(self, each) for each in operands]
            return constant((names[0] == names[1]) == isinstance(node.ops[0], ast.Eq))
        if len(operands) > 2 and any(isinstance(each, ast.Call) for middle in operands[1:-1]
                                     for each in ast.walk(middle)):
            self.fail(node, "a call in the middle of a chain of comparisons: give its result a name first")
        if len(operands) == 2 and type(node.ops[0]) in (ast.In, ast.NotIn):
            return self._membership(node)
        if len(operands) == 2 and Text in [type(self.value(each).type) for each in operands]:
            return self._same_text(node)
        if len(operands) == 2 and type(node.ops[0]) in (ast.Eq, ast.NotEq):
            sides = [self.value(each).items for each in operands]
            if all(sides):
                return self._same_items(node, *sides)
        if len(operands) == 2 and type(node.ops[0]) in COMPARISONS:
            sides = [self.value(each) for each in operands]
            if all(isinstance(each.type, Tuple) for each in sides):
                return self._by_items(node, *(each.items or items_in(each.text, each.type).items for each in sides))
        if len(operands) == 2 and all(isinstance(self.value(each).type, (List, Dict)) for each in operands):
            return sets.compared(self, node, *map(self.value, operands))
        parts = []
        for operator, left, right in zip(node.ops, operands, operands[1:]):
            if type(operator) not in COMPARISONS:
                self.fail(node, "`in` and `is` stand alone: write comparisons with `and`")
            left, right = self.scalar(left), self.scalar(right)
            if len(operands) == 2 and left.is_constant and right.is_constant:
                return constant(bool(eval(f"a {COMPARISONS[type(operator)]} b",  # noqa: S307: two numbers
                                          {"a": left.constant, "b": right.constant})))
            parts.append(self.comparison(COMPARISONS[type(operator)], left, right).text)
        return Value(parts[0] if len(parts) == 1 else "(" + " && ".join(parts) + ")", BOOL)

    def _is_dtype(self, node):
        """x.dtype of an array, which is known for its type."""
        return isinstance(node, ast.Attribute) and node.attr == "dtype" and \
            isinstance(self.value(node.value).type, Array)

    def _membership(self, node):
        """x in (1, 2)."""
        given = node.comparators[0]
        if isinstance(given, (ast.Name, ast.Call, ast.Subscript)):
            inner = given.func.value if isinstance(given, ast.Call) and isinstance(given.func, ast.Attribute) and \
                given.func.attr == "keys" else given
            dictionary = self.value(inner)
            if isinstance(dictionary.type, Dict):
                found = dicts.contains(self, node.left, dictionary)
                return found if isinstance(node.ops[0], ast.In) else Value(f"(!{found.text})", BOOL)
            if isinstance(dictionary.type, List):
                found = lists.searched(self, node, "has", node.left, dictionary)
                return found if isinstance(node.ops[0], ast.In) else Value(f"(!{found.text})", BOOL)
        value = self.value(node.left)
        if not isinstance(value.type, Text):
            value = self.scalar(node.left)
        is_literal = isinstance(given, (ast.Tuple, ast.List, ast.Set))
        whole_array = NOTHING if is_literal else self.value(given)
        if isinstance(whole_array.type, Array):
            same = ast.copy_location(ast.Compare(given, [ast.Eq()], [node.left]), node)
            found = whole.reduction(self, node, "any", self.value(same)).text
            return Value(found if isinstance(node.ops[0], ast.In) else f"(!{found})", BOOL)
        items = [self.value(each) for each in given.elts] if is_literal else whole_array.items
        if not items and not is_literal or any(isinstance(each, ast.Call) for each in ast.walk(node.left)):
            self.fail(node, "`in` is for a variable, and numbers or an array, x in (1, 2): give the result of a call "
                            "a name first")
        if isinstance(value.type, Text):
            return constant((value.type in [item.type for item in items]) == isinstance(node.ops[0], ast.In))
        if any(not isinstance(item.type, (Scalar, Text)) and item.type != UNKNOWN for item in items):
            self.fail(node, "`in` looks for a number among numbers here: write a loop")
        parts = [self.comparison("==", value, item).text for item in items if not isinstance(item.type, Text)]
        found = f"({' || '.join(parts) or 'false'})"
        return Value(found if isinstance(node.ops[0], ast.In) else f"(!{found})", BOOL)

    def _same_items(self, node, left, right):
        """(i, j) == (0, 0)."""
        is_equal = isinstance(node.ops[0], ast.Eq)
        if len(left) != len(right):
            return constant(not is_equal)
        if not all(isinstance(item.type, Scalar) or item.type == UNKNOWN for item in (*left, *right)):
            self.fail(node, "tuples of numbers can be compared")
        if all(item.is_constant for item in (*left, *right)):
            return constant(is_equal == all(x.constant == y.constant for x, y in zip(left, right)))
        same = " && ".join(self.comparison("==", x, y).text for x, y in zip(left, right))
        return Value(f"({same})" if is_equal else f"(!({same}))", BOOL)

    def _by_items(self, node, left, right):
        """(d, u) < (e, v): the first items that differ decide, and the lengths if none does."""
        if any(isinstance(each, ast.Call) and not self.statements.means(each.func, len) for each in ast.walk(node)):
            self.fail(node, "give the result of a call a name first, and compare that")
        symbol = COMPARISONS[type(node.ops[0])]
        if symbol in ("==", "!="):
            return self._same_items(node, left, right)
        if any(not isinstance(item.type, Scalar) and item.type != UNKNOWN for item in (*left, *right)):
            self.fail(node, "tuples of numbers can be compared")
        pairs = list(zip(left, right))
        if len(left) == len(right):
            text = self.comparison(symbol, *pairs.pop()).text
        else:
            text = "true" if (len(left) < len(right)) == (symbol[0] == "<") else "false"
        for x, y in reversed(pairs):
            text = f"({self.comparison(symbol[0], x, y).text} || ({self.comparison('==', x, y).text} && {text}))"
        return Value(text, BOOL)

    def _same_text(self, node):
        """how == "max", which is known for a type."""
        if type(node.ops[0]) not in (ast.Eq, ast.NotEq):
            self.fail(node, "text is compared by == and !=")
        is_same = self.value(node.left).type == self.value(node.comparators[0]).type
        return constant(is_same == isinstance(node.ops[0], ast.Eq))

    def _identity(self, node):
        """x is None, which is known for a type."""
        kinds = [self.value(each).type for each in (node.left, node.comparators[0])]
        if UNKNOWN in kinds:
            return Value("false", BOOL)
        sides = [self.value(each) for each in (node.left, node.comparators[0])]
        for value, other in (sides, sides[::-1]):
            if optionals.is_number(value) and other.type == NONE:
                found = optionals.is_none(self, value)
                return Value(found if isinstance(node.ops[0], ast.Is) else f"(!{found})", BOOL)
        if NONE not in kinds:
            self.fail(node, "`is` compares with None here: write ==")
        return constant((kinds[0] == kinds[1]) == isinstance(node.ops[0], ast.Is))

    def comparison(self, symbol, left, right):
        """left SYMBOL right."""
        if UNKNOWN in (left.type, right.type):
            return Value("false", BOOL)
        if left.type == right.type == BOOL and symbol in ("==", "!="):
            return Value(f"({left.text} {symbol} {right.text})", BOOL)
        kind = promote(left.type, right.type)
        if left.type != right.type and left.type.is_integer and right.type.is_integer:
            for strong, weak, turned in ((left, right, symbol), (right, left, _TURNED[symbol])):
                if weak.type.is_weak:
                    found = self._by_value(turned, strong, weak)
                    if found is not None:
                        return found
        if kind.is_complex and symbol not in ("==", "!="):
            raise Unconvertible("complex numbers have no order: compare abs(z), or z.real")
        return Value(f"({left.as_type(kind)} {symbol} {right.as_type(kind)})", BOOL)

    def _by_value(self, symbol, left, weak):
        """left SYMBOL weak, of an integer of Python's own that may be beyond the type of the other, for which NumPy
        compares the values. None where both have a type that compares them."""
        least, greatest = limits(left.type.name)
        if weak.is_constant and least <= weak.constant <= greatest:
            return None
        if "u64" in (left.type.name, weak.type.name):
            is_left = left.type.name == "u64"
            large, other = (left, weak) if is_left else (weak, left)
            if other.type.name == "u64":
                return None
            order = f"{self.unit.helper('order', 'u64')}({large.as_type(large.type)}, {other.as_type(INT)})"
            return Value(f"({order} {symbol if is_left else _TURNED[symbol]} 0)", BOOL)
        if left.type.name == "i64":
            return None
        wide = f"i{2 * left.type.bits}"
        if weak.is_constant:
            least, greatest = limits(wide)
            text = literal(min(max(weak.constant, least), greatest), wide)
        else:
            text = weak.as_type(INT) if wide == "i64" else f"{self.unit.helper('nearest', wide)}({weak.as_type(INT)})"
        return Value(f"(({left.text} as {wide}) {symbol} {text})", BOOL)
