# SPDX-License-Identifier: Apache-2.0
"""sorted, min and max with a key, or with a default, as lists of items and of their keys, and positions in these; lists
of pairs."""

from __future__ import annotations

import ast
import copy

from . import order_functions

ORDERS = (order_functions.positions_in_order, order_functions.position_of_least, order_functions.position_of_greatest,
          order_functions.put_in_order)
# The names by which statements call them, which nobody can write.
NAMES = {f"'{each.__name__}": each for each in ORDERS}
_POSITIONS = {min: order_functions.position_of_least, max: order_functions.position_of_greatest}


def give_lambdas(tree):
    """Writes key=f as key=lambda item: f(item), and key=d.get as key=lambda item: d[item]."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or getattr(node.func, "id", getattr(node.func, "attr", "")) not in (
                "sorted", "min", "max", "sort"):
            continue
        for each in node.keywords:
            if each.arg == "key" and isinstance(each.value, (ast.Name, ast.Attribute)):
                item, value = ast.Name("item'", ast.Load()), each.value
                value = ast.Subscript(value.value, item, ast.Load()) if getattr(value, "attr", "") == "get" else \
                    ast.Call(value, [item], [])
                made = ast.Lambda(ast.arguments([], [ast.arg(item.id)], None, [], [], None, []), value)
                each.value = ast.fix_missing_locations(ast.copy_location(made, each.value))


class Keyed:
    """Makes the statements. `name(base)` gives the name of a new variable, `means(node)` what a name of Python is."""

    def __init__(self, name, means):
        self._name, self._means = name, means

    def is_one(self, node):
        """Whether it is a call that becomes statements."""
        if not isinstance(node, ast.Call) or any(isinstance(each, ast.Starred) for each in node.args):
            return False
        named = {each.arg for each in node.keywords}
        if isinstance(node.func, ast.Attribute):
            return node.func.attr == "sort" and "key" in named <= {"key", "reverse"} and not node.args
        kind = self._means(node.func)
        if len(node.args) != 1 or not isinstance(node.func, ast.Name):
            return False
        if kind is list:
            return not named and self._pairs(node.args[0]) > 0
        if kind is sorted:
            return named <= {"key", "reverse"} and ("key" in named or self._pairs(node.args[0]) > 0)
        return kind in _POSITIONS and bool(named) and named <= {"key", "default"}

    def statements(self, node):
        """The statements for such a call, and the node that has its value; None for that of xs.sort(..)."""
        given = {each.arg: each.value for each in node.keywords}
        is_method = isinstance(node.func, ast.Attribute)
        items, keys, made = self._name("items"), self._name("keys"), []
        if is_method:
            items = node.func.value
        elif self._means(node.func) is list:
            return [_assigned(items, self._items(node.args[0]))], ast.Name(items, ast.Load())
        else:
            made.append(_assigned(items, self._items(node.args[0])))
            items = ast.Name(items, ast.Load())
        key = given.get("key")
        if key is None or (isinstance(key, ast.Constant) and key.value is None):
            keys = items
        else:
            made.append(_assigned(keys, self._keys(key, items)))
            keys = ast.Name(keys, ast.Load())
        if not is_method and self._means(node.func) is not sorted:
            return self._extreme(made, node, items, keys, given.get("default"))
        order = self._name("order")
        made.append(_assigned(order, _called(order_functions.positions_in_order, keys,
                                             given.get("reverse", ast.Constant(False)))))
        order = ast.Name(order, ast.Load())
        if is_method:
            made.append(ast.Expr(_called(order_functions.put_in_order, copy.deepcopy(items), order)))
            return made, None
        result, place = self._name("sorted"), self._name("place")
        made.append(_assigned(result, _comprehension(
            ast.Subscript(items, ast.Name(place, ast.Load()), ast.Load()), ast.Name(place, ast.Store()), order)))
        return made, ast.Name(result, ast.Load())

    def _extreme(self, made, node, items, keys, default):
        """The least or greatest item, or what is given for none."""
        place, result = self._name("place"), self._name("found")
        found = [_assigned(place, _called(_POSITIONS[self._means(node.func)], keys)),
                 _assigned(result, ast.Subscript(items, ast.Name(place, ast.Load()), ast.Load()))]
        if default is None:
            return [*made, *found], ast.Name(result, ast.Load())
        count = ast.Call(ast.Name("len", ast.Load()), [copy.deepcopy(items)], [])
        test = ast.Compare(count, [ast.Gt()], [ast.Constant(0)])
        made.append(ast.If(test, found, [_assigned(result, default)]))
        return made, ast.Name(result, ast.Load())

    def _pairs(self, node):
        """How many values each item of d.items(), enumerate(x) or zip(x, y) has; 0 for others."""
        if not isinstance(node, ast.Call):
            return 0
        if isinstance(node.func, ast.Attribute):
            return 2 * (node.func.attr == "items" and not node.args)
        kind = self._means(node.func)
        return 2 if kind is enumerate else len(node.args) if kind is zip else 0

    def _items(self, node):
        """The items as a new list."""
        names = [self._name("item") for _ in range(self._pairs(node) or 1)]
        if len(names) == 1:
            return _comprehension(ast.Name(names[0], ast.Load()), ast.Name(names[0], ast.Store()), node)
        return _comprehension(ast.Tuple([ast.Name(each, ast.Load()) for each in names], ast.Load()),
                              ast.Tuple([ast.Name(each, ast.Store()) for each in names], ast.Store()), node)

    def _keys(self, key, items):
        name = self._name("item")
        if isinstance(key, ast.Lambda) and len(key.args.args) == 1:
            value = copy.deepcopy(key.body)
            for each in ast.walk(value):
                if isinstance(each, ast.Name) and each.id == key.args.args[0].arg:
                    each.id = name
        else:
            value = ast.Call(key, [ast.Name(name, ast.Load())], [])
        return _comprehension(value, ast.Name(name, ast.Store()), copy.deepcopy(items))


def _assigned(name, value):
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _called(function, *arguments):
    return ast.Call(ast.Name(f"'{function.__name__}", ast.Load()), list(arguments), [])


def _comprehension(element, target, iterated):
    return ast.ListComp(element, [ast.comprehension(target, iterated, [], 0)])
