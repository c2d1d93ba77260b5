# SPDX-License-Identifier: Apache-2.0
"""What to write in place of statements, expressions and functions that cannot be compiled."""

from __future__ import annotations

import ast
import builtins

from .types import Scalar, Text

STATEMENTS = {
    "FunctionDef": "define functions in the first level of the function, or outside",
    "ClassDef": "define classes outside, and pass numbers and arrays",
    "TryStar": "write except, without *",
    "Global": "return the value, or store it in an array that is passed",
}
# What Python calls them, and what to write.
_EXPRESSIONS = {
    ast.ListComp: ("this comprehension", "give it a statement of its own, t = [..], or write a loop"),
    ast.GeneratorExp: ("this generator", "give it a statement of its own, t = sum(..), or write a loop"),
    ast.Lambda: ("lambda", "write a function with def, in the function or outside"),
    ast.List: ("this list", "make an array with np.array([a, b]), or give the list a name first"),
    ast.Dict: ("this dictionary", "give the dictionary a name first, d = {}"),
    ast.DictComp: ("this {k: x for ..}", "give it a statement of its own, d = {..}, or write a loop"),
    ast.SetComp: ("this {x for ..}", "give it a statement of its own, s = {..}, or write a loop"),
    ast.JoinedStr: ("formatted text", "text can be made outside"),
    ast.NamedExpr: (":=", "write an assignment before"),
}
_SEARCHES = "write a loop, or an array of the keys and np.argsort(keys, kind='stable')"
_SELECT = "write np.where(a, x, np.where(b, y, z))"
_ROWS = "write a loop over the rows, for row in a"
_PARTS = "a, b = np.split(x, 2) and for part in np.split(x, 3) can, where x is a variable, and the number of parts " \
    "is written out; write x[i * n:(i + 1) * n] for others"
_FUNCTIONS = {
    "apply_along_axis": _ROWS, "apply_over_axes": _ROWS, "vectorize": "write a loop that calls the function",
    "ix_": "t = a[rows] and t[:, columns] read such a part, and loops over rows and columns write it",
    "choose": _SELECT, "piecewise": _SELECT, "lexsort": _SEARCHES,
    "product": "write loops in each other",
    "combinations": "write for i in range(n), and in it for j in range(i + 1, n)",
    "permutations": "write loops in each other", "accumulate": "write a loop, or np.cumsum",
    "reduce": "write reduce(lambda a, b: .., xs) in a statement of its own, or a loop",
    "split": _PARTS, "array_split": _PARTS, "hsplit": _PARTS, "vsplit": _PARTS, "dsplit": _PARTS,
    "chain": "write a loop for each, or xs + ys", "Counter": "give it a name, c = Counter(x)",
    "reciprocal": "write 1 / x", "positive": "write +x", "float_power": "write x.astype(float) ** y",
    "ldexp": "write x * 2.0 ** n", "partition": "write np.sort(x)", "argpartition": "write np.argsort(x)",
    "prod": "write np.prod(x)", "fsum": "write sum(x)", "broadcast_to": "write np.zeros(shape) + x",
    "map": "write [f(x) for x in xs]", "filter": "write [x for x in xs if f(x)]", "sorted": _SEARCHES,
    "dict": "write d = {} and a loop that sets its entries, d[k] = x", "reversed": "write xs[::-1]",
}
_HEAP = "heappush, heappop, heapify, heapreplace and heappushpop can; write sorted(xs)[:n] for the n least"
# Keywords of functions of NumPy that are compiled without them.
_KEYWORDS = {
    "return_inverse": "write np.searchsorted(values, a) behind values, counts = np.unique(a, return_counts=True)",
    "return_index": "write order = np.argsort(a, kind='stable'), and compare neighbours of a[order]",
    "axis": _ROWS, "keepdims": "write a new axis behind it, s[:, None]", "key": _SEARCHES,
}


def of_expression(node):
    """The message for an expression that cannot be compiled."""
    name, advice = _EXPRESSIONS.get(type(node), (f"{type(node).__name__} expressions", "use loops and numbers"))
    return f"{name} cannot be compiled: {advice}"


def of_method(name, kind):
    """The advice that replaces a method of a value of this type."""
    if isinstance(kind, Text):
        return "texts are constants here: split and change them outside of the function, or pass their bytes, " \
            "np.frombuffer(text.encode(), np.uint8)"
    if isinstance(kind, Scalar):
        return "this is one number: write float(x) or int(x) for one of Python's own, and pass arrays of one " \
            "dimension or more"
    return "write a[i] for an element" if name == "item" else "write a loop"


def of_function(function):
    """What to write instead of a call of this function."""
    module = getattr(function, "__module__", None) or type(getattr(function, "__self__", None)).__module__
    if module in ("heapq", "_heapq"):
        return _HEAP
    if module == "numpy" and hasattr(getattr(function, "__self__", None), "reduce"):
        return "write np.sum, np.prod, np.min or np.max, with axis=.."  # np.add.reduce
    known = _FUNCTIONS.get(getattr(function, "__name__", ""))
    if known and module.partition(".")[0] in ("builtins", "math", "numpy", "itertools", "functools", "_functools",
                                              "collections"):
        return known
    if function in (builtins.list, builtins.set, builtins.tuple, builtins.str):
        return "write a loop that fills an array"
    if module.partition(".")[0] == "numba":
        return f"write dhpvm.{getattr(function, '__name__', 'prange')}, if there is one"
    if "random" in module:
        return "random, uniform, normal, integers, choice, shuffle and others of np.random and of a generator can"
    if module in ("time", "builtins", "_io") or module.startswith(("numpy.linalg", "numpy.fft", "scipy")):
        return "call it outside of the function, and pass what it returns"
    return "docs/python.md lists the functions that can, and functions written in Python can be called"


def of_keywords(names):
    """What to write instead of a keyword that a function does not take here; nothing for those that are not known."""
    return next((f": {_KEYWORDS[name]}" for name in names if name in _KEYWORDS), "")
