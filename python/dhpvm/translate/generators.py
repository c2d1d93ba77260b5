# SPDX-License-Identifier: Apache-2.0
"""Random numbers: `rng = np.random.default_rng(7)`, `rng.normal()`. The generator is the language's, whose numbers are
others than NumPy's."""

from __future__ import annotations

import ast
import sys

from . import functions, random_functions
from .types import FLOAT, GENERATOR, INT, NONE, UNKNOWN, Array, List, Scalar
from .values import NOTHING, Value


_SEED = """fn _seed(x: i64) -> i64 {
    assert(x >= 0, "ValueError: expected non-negative integer");
    return x;
}"""


# The generator of np.random and random: a name that no variable has, and its text.
SHARED, SHARED_TEXT = "'rng", "_rng"
_BEGIN = """fn _begin(rng: Random, seed: i64) {
    rng.seed = seed;
    rng.i = 0;
}"""


def of_call(expressions, node, function):
    """np.random.default_rng(seed), np.random.rand() and random.random(); None for other calls."""
    numpy = sys.modules.get("numpy")
    if numpy is None or function is not numpy.random.default_rng:
        return _of_shared(expressions, node, function)
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
    if own is random_functions.choice and not isinstance(values[0].type, (Array, List)):
        own = random_functions._choice_of
    if own is random_functions.shuffle and isinstance(values[0].type, List):
        own = random_functions._shuffle_list
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


# ---- The generator that np.random and random have in common.

# Functions of np.random and random, as methods of a generator; others have their names.
_METHODS = {"random_sample": "random", "ranf": "random", "sample": "random", "rand": "random",
            "randn": "standard_normal", "randint": "integers", "randrange": "integers", "gauss": "normal",
            "normalvariate": "normal", "betavariate": "beta", "gammavariate": "gamma", "lognormvariate": "lognormal"}


def _of_shared(expressions, node, function):
    """np.random.normal(0, 2, size=n), random.randint(1, 6): numbers of one generator for a call from Python and all
    that it calls; None for other functions."""
    owner, name = getattr(function, "__self__", None), getattr(function, "__name__", "")
    own = getattr(sys.modules.get("numpy"), "random", None)
    is_numpys = type(owner).__name__ == "RandomState" or any(
        function is getattr(own, each, own) for each in ("seed", "ranf", "sample"))
    if not is_numpys and owner is not getattr(sys.modules.get("random"), "_inst", None):
        return None
    rng = ast.copy_location(ast.Name(SHARED, ast.Load()), node)
    if name == "seed":
        return _seeded(expressions, node)
    args, keywords = list(node.args), list(node.keywords)
    if not is_numpys:
        _check_pythons(expressions, node, name)
    if name in ("rand", "randn"):
        args, keywords = [], [ast.keyword("size", ast.Tuple(args, ast.Load()))] if args else keywords
    elif name == "randint" and not is_numpys and len(args) == 2:  # with its last number
        args[1] = ast.BinOp(args[1], ast.Add(), ast.Constant(1))
    method_node = ast.Call(ast.Attribute(rng, _METHODS.get(name, name), ast.Load()), args, keywords)
    value = method(expressions, ast.fix_missing_locations(ast.copy_location(method_node, node)),
                   expressions.value(rng))
    return Value(value.text, INT) if value.type == Scalar("i64") else value


# Functions of random that are compiled, and how many arguments each has at most.
_PYTHONS = {"random": 0, "uniform": 2, "randint": 2, "randrange": 2, "gauss": 2, "normalvariate": 2, "choice": 1,
            "shuffle": 1, "betavariate": 2, "gammavariate": 2, "lognormvariate": 2}


def _check_pythons(expressions, node, name):
    """Methods of a generator have more arguments than functions of random, and others by these names."""
    if name not in _PYTHONS:
        expressions.fail(node, f"random.{name} cannot be compiled: write it with one of {', '.join(_PYTHONS)}")
    if node.keywords or len(node.args) > _PYTHONS[name]:
        expressions.fail(node, f"random.{name} takes up to {_PYTHONS[name]} arguments here, in their order"
                               f"{', and no step: write a + step * random.randrange(n)' * (name == 'randrange')}")


def _seeded(expressions, node):
    """np.random.seed(7): the numbers of this call begin anew."""
    if expressions.is_sequential or len(node.args) != 1 or node.keywords:
        expressions.fail(node, "seed takes an integer, outside of prange loops")
    expressions.value(ast.copy_location(ast.Name(SHARED, ast.Load()), node))
    own = expressions.unit.function("_begin", _BEGIN)
    checked = expressions.unit.function("_seed", _SEED)
    return Value(f"{own}({SHARED_TEXT}, {checked}({expressions.integer(node.args[0])}))", NONE)


_PLACED = {"uniform": FLOAT, "normal": FLOAT}


def of_place(expressions, node, function):
    """dhpvm.uniform(seed, i) and dhpvm.normal(seed, i)."""
    if len(node.args) != 2 or node.keywords:
        expressions.fail(node, f"{function.__name__} takes a seed and a number")
    seed, place = (expressions.integer(each) for each in node.args)
    name = function.__name__
    return Value(f"{expressions.unit.module('random')}.{name}({seed}, {place})", _PLACED[name])
