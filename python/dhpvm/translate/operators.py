# SPDX-License-Identifier: Apache-2.0
"""Operators of numbers and arrays, as NumPy types them."""

from __future__ import annotations

import ast

from . import complex_numbers, observed, products
from .types import BOOL, FLOAT, INT, UNKNOWN, Array, Scalar, Tuple, literal, promote
from .values import Value, constant, tuple_of

ARITHMETIC = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
BITWISE = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}
SYMBOLS = {**ARITHMETIC, **BITWISE, ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**"}


class Operators:
    """The part of Expressions that translates operators."""

    def _binop(self, node):
        if isinstance(node.op, ast.MatMult):
            return products.product(self, node, self.value(node.left), self.value(node.right))
        written = _written_number(node)
        if written is not None and constant(written) is not None:  # (1 << 64) - 1
            return constant(written)
        joined = self._of_tuples(node, self.value(node.left), self.value(node.right))
        if joined is not None:
            return joined
        return self.operation(node, node.op, self.scalar(node.left), self.scalar(node.right))

    def _of_tuples(self, node, left, right):
        """(n,) + a.shape[1:], (0,) * 3; None for other values."""
        are_tuples = [type(each.type) is Tuple and len(each.items) == len(each.type.items) for each in (left, right)]
        if isinstance(node.op, ast.Add) and all(are_tuples):
            return tuple_of(left.items + right.items)
        if isinstance(node.op, ast.Mult) and sum(are_tuples) == 1:
            several, times = (left, right) if are_tuples[0] else (right, left)
            if not times.is_constant or times.type != INT or not 0 < times.constant <= 64:
                self.fail(node, "a tuple is repeated a constant number of times: write np.full(n, x)")
            return tuple_of(several.items * times.constant)
        return None

    def operation(self, node, operator, left, right):
        """left OPERATOR right, as NumPy types it."""
        if UNKNOWN in (left.type, right.type):
            return Value("0", UNKNOWN)
        kind = type(operator)
        if kind in BITWISE and left.type == right.type == BOOL and kind not in (ast.LShift, ast.RShift):
            symbol = {"&": "&&", "|": "||", "^": "!="}[BITWISE[kind]]
            return Value(f"({left.text} {symbol} {right.text})", BOOL)
        if self.is_element and left.type == right.type == BOOL:
            result = Scalar("i8")
            if kind in (ast.Add, ast.Mult):
                return Value(f"({left.text} {'||' if kind is ast.Add else '&&'} {right.text})", BOOL)
            if kind is ast.Sub:
                self.fail(node, "NumPy has no - of bools: write a ^ b, or a & ~b")
        else:
            result = promote(left.type, right.type)
        if self.is_element and kind is ast.Pow and left.type == BOOL and isinstance(node, ast.BinOp) and \
                right.is_constant and right.constant == 2:
            result = Scalar("i8")  # as NumPy's square of bools, and no other power
        if left.is_constant and right.is_constant and result.is_weak:
            folded = self._fold(operator, left.constant, right.constant)
            if folded is not None:
                return folded
        if result.is_complex:
            return complex_numbers.operation(self, node, operator, left, right, result)
        if kind in BITWISE and result.is_float:
            self.fail(node, f"{BITWISE[kind]} is for integers, and these are {left.type} and {right.type}")
        if kind in (ast.LShift, ast.RShift) and not (
                right.is_constant and 0 <= right.constant < result.bits):
            name = "python_" * result.is_weak + ("shift_left" if kind is ast.LShift else "shift_right")
            helper = self.unit.helper(name, result.name)
            return Value(f"{helper}({left.as_type(result)}, {right.as_type(result)})", result)
        if kind in ARITHMETIC or kind in BITWISE:
            symbol = SYMBOLS[kind]
            return Value(f"({left.as_type(result)} {symbol} {right.as_type(result)})", result)
        if kind in (ast.Div, ast.FloorDiv, ast.Mod):
            right = self._checked_divisor(right, result)
        if kind is ast.Div:
            if result.is_integer:
                result = FLOAT if result.is_weak else Scalar("f64")
            return Value(f"({left.as_type(result)} / {right.as_type(result)})", result)
        if kind in (ast.FloorDiv, ast.Mod):
            return self._floor_division(kind, left, right, result)
        if kind is ast.Pow:
            return self._power(node, left, right, result)
        self.fail(node, f"{ast.unparse(node)} cannot be compiled here")

    def _checked_divisor(self, right, result):
        """The divisor, which is an exception in Python if it is 0, where one would be caught; others divide to
        infinity. Integers are checked anyway, unless their quotient is a float."""
        if not result.is_weak or (right.is_constant and right.constant != 0) or not observed.catches(
                self, ZeroDivisionError):
            return right
        kind = INT if right.type == BOOL else right.type
        return Value(f"{self.unit.helper('divisor', kind.name)}({right.as_type(kind)})", kind)

    def _fold(self, operator, left, right):
        """Two constants of Python, combined by Python."""
        expression = ast.fix_missing_locations(ast.Expression(ast.BinOp(
            ast.Constant(left), operator, ast.Constant(right))))
        if isinstance(operator, ast.Pow) and abs(right) > 64:
            return None
        try:
            return constant(eval(compile(expression, "constant", "eval")))  # noqa: S307: two numbers
        except (ArithmeticError, ValueError, TypeError):
            return None

    def _floor_division(self, kind, left, right, result):
        a, b = left.as_type(result), right.as_type(result)
        if result.name.startswith("u") or (result.is_integer and right.is_constant and right.constant > 0 and
                                           left.is_constant and left.constant >= 0):
            return Value(f"({a} {'/' if kind is ast.FloorDiv else '%'} {b})", result)
        helper = "floor_divide" if kind is ast.FloorDiv else "modulo"
        return Value(f"{self.unit.helper(helper, result.name)}({a}, {b})", result)

    def _power(self, node, left, right, result):
        if result.is_integer:
            if right.is_constant and right.constant < 0:
                self.fail(node, "an integer to a negative power is a float in Python: write float(x) ** y")
            if right.is_constant and right.constant <= 64:
                helper = self.unit.helper(f"power_{right.constant}", result.name)
                return Value(f"{helper}({left.as_type(result)})", result)
            helper = self.unit.helper("power", result.name)
            return Value(f"{helper}({left.as_type(result)}, {right.as_type(result)})", result)
        if right.is_constant and right.constant == 1:
            return Value(left.as_type(result), result)
        if result.is_weak and observed.catches(self, ZeroDivisionError, OverflowError):
            helper = self.unit.helper("observed_power", result.name)
            return Value(f"{helper}({left.as_type(result)}, {right.as_type(result)})", result)
        if right.is_constant and right.constant == 2:
            return Value(f"{self.unit.helper('power_2', result.name)}({left.as_type(result)})", result)
        return Value(f"{self.unit.module('math')}.pow({left.as_type(result)}, {right.as_type(result)})", result)

    def _unaryop(self, node):
        if isinstance(node.op, ast.Not):
            return Value(self.test(node), BOOL)
        value = self.scalar(node.operand)
        if value.type == UNKNOWN:
            return value
        kind = INT if value.type == BOOL else value.type
        if value.type == BOOL and self.is_element and not isinstance(node.op, ast.Invert):
            self.fail(node, "NumPy has no - of bools: write ~a")
        if isinstance(node.op, ast.UAdd):
            return Value(value.as_type(kind), kind)
        if isinstance(node.op, ast.Invert):
            if value.type == BOOL and self.is_element:
                return Value(f"(!{value.text})", BOOL)
            if value.type == BOOL:
                self.fail(node, "~ of a bool is a number in Python: write `not`")
            if not kind.is_integer:
                self.fail(node, "~ is for integers")
            return Value(f"(~{value.text})", kind)
        if value.is_constant and kind.is_weak:
            found = constant(-value.constant)
            if found is None:
                self.fail(node, f"{-value.constant} is beyond 64 bits")
            return found
        if kind.name.startswith("u"):
            return Value(f"({literal(0, kind.name)} - {value.text})", kind)
        return Value(f"(-{value.as_type(kind)})", kind)

    def _boolop(self, node):
        """`x or y` of numbers gives one of them."""
        nodes = []
        for each in node.values:  # what is known to decide, or not to: maxiter or 100, where maxiter is None
            known = self.known_test(each)
            if known is None or known is isinstance(node.op, ast.Or) or each is node.values[-1]:
                nodes.append(each)
            if known is isinstance(node.op, ast.Or):
                break
        values = [self.value(each) for each in nodes]
        if len(nodes) == 1:
            return values[0]
        if all(value.type in (BOOL, UNKNOWN) for value in values):
            return Value(self.test(node), BOOL)
        found = self.scalar(nodes[-1])
        for each in reversed(nodes[:-1]):
            value = self.scalar(each)
            if any(isinstance(inner, ast.Call) for inner in ast.walk(each)):
                self.fail(each, "the call would be evaluated twice: give its result a name first")
            sides = (found, value) if isinstance(node.op, ast.And) else (value, found)
            found = self.choice(self.test(each), *sides)
        return found

    def _ifexp(self, node):
        known = self.known_test(node.test)
        if known is not None:
            return self.value(node.body if known else node.orelse)
        values = [self.value(each) for each in (node.body, node.orelse)]
        if any(isinstance(each.type, Array) for each in values):
            self.fail(node, "choose between arrays with if and else statements, or with np.where")
        return self.choice(self.test(node.test), self.scalar(node.body), self.scalar(node.orelse))

    def chooses_several(self, node):
        """Whether a conditional expression chooses arrays, tuples or None, which the language does by statements."""
        branches = (node.body, node.orelse)
        return any(isinstance(each, (ast.Tuple, ast.List)) or getattr(each, "value", self) is None
                   for each in branches) or (
            self.known_test(node.test) is None and any(isinstance(self.value(each).type, (Array, Tuple))
                                                       for each in branches))

    def choice(self, test, left, right):
        """One of two numbers."""
        if UNKNOWN in (left.type, right.type):
            return right if left.type == UNKNOWN else left
        kind = BOOL if left.type == right.type == BOOL else promote(left.type, right.type)
        return Value(f"(if {test} {{ {left.as_type(kind)} }} else {{ {right.as_type(kind)} }})", kind)

    # ---- Calls.


def _written_number(node):
    """The integer that an expression of written ones is; None for others."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int else None
    if not isinstance(node, ast.BinOp) or isinstance(node.op, (ast.Div, ast.MatMult)):
        return None
    left, right = _written_number(node.left), _written_number(node.right)
    if None in (left, right) or (isinstance(node.op, (ast.Pow, ast.LShift)) and not 0 <= right <= 128):
        return None
    try:
        return eval(compile(ast.Expression(ast.fix_missing_locations(ast.BinOp(  # noqa: S307: two numbers
            ast.Constant(left), node.op, ast.Constant(right)))), "constant", "eval"))
    except (ArithmeticError, ValueError):
        return None
