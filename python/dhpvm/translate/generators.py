# SPDX-License-Identifier: Apache-2.0
"""Random numbers: `rng = np.random.default_rng(7)`, `rng.normal()`. The generator is the language's, whose numbers are
others than NumPy's."""

from __future__ import annotations

import ast
import sys

from . import functions, random_functions
from .types import FLOAT, GENERATOR, INT, UNKNOWN, Array, Scalar
from .values import NOTHING, Value


_SEED = """fn _seed(x: i64) -> i64 {
    assert(x >= 0, "ValueError: expected non-negative integer");
    return x;
}"""


def of_call(expressions, node, function):
    """np.random.default_rng(seed); None for other calls."""
    numpy = sys.modules.get("numpy")
    if numpy is None or function is not numpy.random.default_rng:
        return None
    if expressions.is_sequential:
        expressions.fail(node, "a prange loop makes no generators: dhpvm.uniform(seed, i) and dhpvm.normal(seed, i) "
                               "give the numbers of each iteration")
    if node.keywords or len(node.args) > 1:
        expressions.fail(node, "np.random.default_rng takes an integer here")
    module = expressions.unit.module("random")
    if not node.args:
        return Value(f"Random({module}.entropy())", GENERATOR)
    checked = expressions.unit.function("_seed", _SEED)
    return Value(f"Random({checked}({expressions.integer(node.args[0])}))", GENERATOR)


def method(expressions, node, rng):
    """rng.random(), rng.normal(0, 2, size=n) and their kin."""
    name = node.func.attr
    if expressions.is_sequential:
        expressions.fail(node, "a prange loop has no generator, whose numbers would depend on the order: "
                               "dhpvm.uniform(seed, i) and dhpvm.normal(seed, i) give the numbers of each iteration")
    own = getattr(random_functions, name, None)
    if own is None or name.startswith("_") or getattr(own, "__module__", "") != random_functions.__name__:
        known = ", ".join(each for each in vars(random_functions) if not each.startswith("_") and callable(
            getattr(random_functions, each)))
        expressions.fail(node, f".{name}() of a generator cannot be compiled; {known} can")
    # The generator is the first argument of ours.
    given = ast.copy_location(ast.Call(node.func, [node.func.value, *node.args], node.keywords), node)
    nodes, values = functions.arguments(expressions, given, own)
    nodes, values = nodes[1:], values[1:]
    if UNKNOWN in [value.type for value in values]:
        return NOTHING
    return _drawn(expressions, node, rng, own, nodes, values)


def _drawn(expressions, node, rng, own, nodes, values):
    if own is random_functions.choice and not isinstance(values[0].type, Array):
        own = random_functions._choice_of
    if own is random_functions.permutation and not isinstance(values[0].type, Array):
        own = random_functions._permutation_of
    value = functions.of_function(expressions, node, own, [node.func.value, *nodes], [rng, *values])
    # Single numbers are Python's own, as NumPy returns them, except integers.
    if value.type in (Scalar("f64"), FLOAT):
        return Value(value.text, FLOAT)
    return value


def primitive(expressions, node, function):
    """The functions of random_functions.py that the language has; None for others."""
    names = {random_functions._uniform: ("uniform", FLOAT), random_functions._normal: ("normal", FLOAT),
             random_functions._below: ("range", Scalar("i64"))}
    if getattr(function, "__hash__", None) is None or function not in names:
        return None
    name, kind = names[function]
    rng, *given = (expressions.value(each) for each in node.args)
    expressions.unit.module("random")
    return Value(f"{rng.text}.{name}({', '.join(['0', *(each.as_type(INT) for each in given)] if given else [])})",
                 kind)


_PLACED = {"uniform": FLOAT, "normal": FLOAT}


def of_place(expressions, node, function):
    """dhpvm.uniform(seed, i) and dhpvm.normal(seed, i)."""
    if len(node.args) != 2 or node.keywords:
        expressions.fail(node, f"{function.__name__} takes a seed and a number")
    seed, place = (expressions.integer(each) for each in node.args)
    name = function.__name__
    return Value(f"{expressions.unit.module('random')}.{name}({seed}, {place})", _PLACED[name])
