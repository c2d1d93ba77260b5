# SPDX-License-Identifier: Apache-2.0
"""Elements that a condition selects, a[a > 2]: combined into a number, or set in place. There is no array of them."""

from __future__ import annotations

import ast
import sys

from . import elementwise, whole
from .types import UNKNOWN, Array, Scalar
from .values import NOTHING, Value, constant

# The value of an element that is not selected.
NEUTRAL = {"sum": 0, "mean": 0, "prod": 1, "any": False, "all": True}


def condition(expressions, node):
    """The array of bools that selects elements, if the node has one as its index; else None."""
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, (ast.Slice, ast.Tuple, ast.Constant)):
        return None
    mask = expressions.value(node.slice)
    if not isinstance(mask.type, Array) or mask.type.element != "bool":
        return None
    is_of_rows = mask.type.rank == 1 and getattr(expressions.value(node.value).type, "rank", 1) == 2
    return None if is_of_rows else mask


def _source(expressions, node, mask):
    """The array that is selected from."""
    array = expressions.value(node.value)
    if array.type != UNKNOWN and (not isinstance(array.type, Array) or array.type.rank != mask.type.rank):
        expressions.fail(node, f"a condition with {mask.type.rank} dimensions does not select from {array.type}")
    return array


def _choice(expressions, node, mask, chosen, other):
    """The first where the mask is true, element by element."""
    choice = ast.copy_location(ast.IfExp(node.slice, node.value, ast.Constant(0)), node)
    return elementwise.combine(expressions, choice, {choice.test: mask, choice.body: chosen, choice.orelse: other})


def reduction(expressions, node, name, selected):
    """a[a > 2].sum(), for example; None if nothing is selected by a condition."""
    mask = condition(expressions, selected) if name in NEUTRAL else None
    if mask is None:
        return None
    array = _source(expressions, selected, mask)
    if UNKNOWN in (array.type, mask.type):
        return NOTHING
    other = constant(bool(NEUTRAL[name]) if array.type.element == "bool" else int(NEUTRAL[name]))
    chosen = _choice(expressions, selected, mask, array, other)
    if name != "mean":
        return whole.reduction(expressions, node, name, chosen)
    total = whole.reduction(expressions, node, "sum", chosen)
    count = whole.reduction(expressions, node, "sum", mask)
    kind = total.type if total.type.is_float else Scalar("f64")
    return Value(f"({total.as_type(kind)} / {count.as_type(kind)})", kind)


def new_elements(expressions, target, mask, value):
    """The array in which the selected elements have another value, a number."""
    array = _source(expressions, target, mask)
    if UNKNOWN in (array.type, value.type):
        return array, NOTHING
    if not isinstance(value.type, Scalar):
        expressions.fail(target, "what a condition selects is set to one number here: write a loop")
    element = Scalar(array.type.element)
    # An element that stays has its type all the way.
    given = Value(value.as_type(element), element, value.constant) if value.type != element else value
    return array, _choice(expressions, target, mask, given, array)


def updated_elements(expressions, node, mask):
    """The array in which the selected elements are updated: a[a > 2] *= 3."""
    array = _source(expressions, node.target, mask)
    update = ast.copy_location(ast.BinOp(node.target.value, node.op, node.value), node)
    value = expressions.value(update)
    if UNKNOWN in (array.type, value.type):
        return array, NOTHING
    if value.type != array.type:
        expressions.fail(node, f"the result is {value.type}, and does not fit into {array.type}: write a loop")
    return array, _choice(expressions, node.target, mask, value, array)


def of_call(expressions, node, function):
    """np.select([c, d], [x, y], z), as np.where(c, x, np.where(d, y, z)); None for other functions."""
    if function is not getattr(sys.modules.get("numpy"), "select", of_call):
        return None
    names = ("condlist", "choicelist", "default")
    given = dict(zip(names, node.args)) | {each.arg: each.value for each in node.keywords}
    conditions, choices = (getattr(given.get(name), "elts", None) for name in names[:2])
    if not conditions or not choices or len(conditions) != len(choices) or set(given) - set(names):
        expressions.fail(node, "np.select takes a list of conditions, one of as many values, and a default")
    default = given.get("default", ast.Constant(0))
    found = expressions.value(default)
    for condition, choice in zip(conditions[::-1], choices[::-1]):
        values = [expressions.value(each) for each in (condition, choice)]
        if UNKNOWN in [each.type for each in (*values, found)]:
            return NOTHING
        if not isinstance(values[0].type, Array) or values[0].type.element != "bool":
            expressions.fail(condition, f"a condition of np.select is an array of bools, and this is {values[0].type}")
        made = ast.fix_missing_locations(ast.copy_location(ast.IfExp(condition, choice, ast.Constant(0)), node))
        found = elementwise.combine(expressions, made, dict(zip((made.test, made.body, made.orelse), (*values, found))))
    return found
