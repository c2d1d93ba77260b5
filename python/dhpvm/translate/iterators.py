# SPDX-License-Identifier: Apache-2.0
"""Iterators of itertools, as generators: their statements stand in the place of the loop that goes over them."""

from __future__ import annotations

import ast
import itertools

from . import iterator_functions as own

# Their generators, by the number of arrays or lists, or of the items that are chosen together.
_GENERATORS = {
    itertools.product: {2: own.product_2, 3: own.product_3}, itertools.chain: {2: own.chain_2, 3: own.chain_3},
    itertools.combinations: {2: own.combinations_2, 3: own.combinations_3},
    itertools.permutations: {2: own.permutations_2, 3: own.permutations_3},
    itertools.combinations_with_replacement: {2: own.with_replacement_2},
    itertools.count: {0: own.count, 1: own.count, 2: own.count}, itertools.accumulate: {1: own.accumulate},
    getattr(itertools, "pairwise", own.pairwise): {1: own.pairwise},
}
_CHOOSING = (itertools.combinations, itertools.permutations, itertools.combinations_with_replacement)
# The names by which statements call them, which nobody can write.
NAMES = {f"'{each.__name__}": each for kinds in _GENERATORS.values() for each in kinds.values()}


def replace(tree, meaning):
    """Writes calls of these in a tree as calls of the generators. `meaning(node)` is the object that a name is."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
            continue
        function = meaning(node.func)
        generators = _GENERATORS.get(function) if getattr(function, "__module__", "") == "itertools" or isinstance(
            function, type) else None
        if generators is None:
            continue
        given, options = list(node.args), {each.arg: each.value for each in node.keywords}
        if function is itertools.product and set(options) == {"repeat"} and len(given) == 1:
            given *= _number(options.pop("repeat"))
        count = len(given)
        if function in _CHOOSING:
            count = _number(given.pop()) if len(given) == 2 else 0
        if options or count not in generators:
            continue  # is refused where it is translated
        node.func = ast.copy_location(ast.Name(f"'{generators[count].__name__}", ast.Load()), node)
        node.args, node.keywords = [_items(each) for each in given], []
        ast.fix_missing_locations(node)


def _number(node):
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else 0


def _items(node):
    """A range as a list, which a variable can be."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "range":
        return ast.copy_location(ast.Call(ast.Name("list", ast.Load()), [node], []), node)
    return node
