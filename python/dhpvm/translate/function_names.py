# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy and math that are applied to numbers, by their names, and what they become in the language."""

from __future__ import annotations

import ast

# Names in NumPy, and in the language's module math.
UNARY = {"sqrt": "sqrt", "exp": "exp", "exp2": "exp2", "expm1": "expm1", "log": "log", "log2": "log2",
         "log10": "log10", "log1p": "log1p", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin",
         "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "cbrt": "cbrt",
         "floor": "floor", "ceil": "ceil", "trunc": "trunc"}
BINARY = {"arctan2": "atan2", "hypot": "hypot", "power": "pow"}
# The same of Python's math, whose results are Python's floats.
MATH_UNARY = ("sqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos",
              "atan", "sinh", "cosh", "tanh", "cbrt", "erf")
MATH_BINARY = ("atan2", "pow")
MATH_TO_INTEGER = ("floor", "ceil", "trunc")
OPERATORS = {"add": ast.Add, "subtract": ast.Sub, "multiply": ast.Mult, "divide": ast.Div, "true_divide": ast.Div,
             "floor_divide": ast.FloorDiv, "mod": ast.Mod, "remainder": ast.Mod, "bitwise_and": ast.BitAnd,
             "bitwise_or": ast.BitOr, "bitwise_xor": ast.BitXor, "left_shift": ast.LShift, "right_shift": ast.RShift}
COMPARISONS = {"greater": ">", "greater_equal": ">=", "less": "<", "less_equal": "<=", "equal": "==", "not_equal": "!="}
HELPERS = {"minimum": "minimum", "maximum": "maximum", "fmod": "remainder", "copysign": "copysign"}
