# SPDX-License-Identifier: Apache-2.0
"""Lists: of numbers, of tuples of them, and of lists: `found = []`, `found.append(x)`, `np.array(found)`.

A list is an object of the language's class List, and variables are references to it, as in Python.
"""

from __future__ import annotations

import ast
import inspect
import builtins
import collections

from . import advice, list_functions, places, scopes, views, whole
from .types import BOOL, INT, NONE, UNKNOWN, Array, Dict, List, Scalar, Struct, Tuple, Unconvertible, join, promote
from .values import NOTHING, Value, struct_of


# ---- New lists.

def repeated(node):
    """The list and the number of [0] * n; None for other expressions."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    sides = [node.left, node.right]
    return next(((one, other) for one, other in (sides, sides[::-1]) if isinstance(one, ast.List)), None)


def make(statements, target, node, times=None):
    """found = [], found = [1, 2], found = [0] * n."""
    expressions = statements.expressions
    _check(expressions, node)
    values = [statements.kept(_item(expressions, each, expressions.value(each), target), each) for each in node.elts]
    count = None if times is None else expressions.integer(times)
    kind = statements.scope.assign(target, target.id, List(UNKNOWN))
    for value in values:
        kind = statements.scope.assign(target, target.id, List(value.type))
    name, element = statements.scope.text(target.id), kind.known.element
    made = _new(expressions, element)
    is_first = statements.scope.declare_array(target, target.id)
    statements.emit(f"{'var ' if is_first else ''}{name} = {made};", target)
    items = [item_text(expressions, each, value, element) for value, each in zip(values, node.elts)]
    if count is not None:
        if isinstance(element, List):  # the same one in each turn
            items = [statements.kept(Value(item, element), target).text for item in items]
        statements.emit(f"for _ in 0..{count} {{", target)
    for item in items:
        statements.emit(f"{name}.push({item});", target)
    if count is not None:
        statements.emit("}", target)


def _new(expressions, element):
    return f"{expressions.unit.type_text(List(element))}()"


def literal(expressions, node):
    """[a, b] where it is used."""
    _check(expressions, node)
    values = [_item(expressions, each, expressions.value(each)) for each in node.elts]
    kind = List(UNKNOWN)
    for each, value in zip(node.elts, values):
        joined = join(kind, List(value.type))
        if joined is None:
            expressions.fail(each, f"the items of a list have one type: this is {value.type}, and others are "
                                   f"{kind.element}")
        kind = joined
    if UNKNOWN in [value.type for value in values]:
        return NOTHING
    element = kind.known.element
    found = _new(expressions, element)
    add = list_functions.name(expressions, "with_item", element)
    for each, value in zip(node.elts, values):
        found = f"{add}({found}, {item_text(expressions, each, value, element)})"
    return Value(found, kind)


def combined(expressions, node, values):
    """xs + ys and xs * n; None for other operators."""
    if not isinstance(node, ast.BinOp) or NOTHING in values or UNKNOWN in [value.type for value in values]:
        return NOTHING if isinstance(node, ast.BinOp) else None
    kinds = [value.type for value in values]
    if isinstance(node.op, ast.Add) and all(isinstance(kind, List) for kind in kinds):
        _check(expressions, node)
        kind = join(*kinds)
        if kind is None:
            expressions.fail(node, f"a {kinds[0]} and a {kinds[1]} cannot be joined")
        texts = [adapted(expressions, each, value, kind) for each, value in zip((node.left, node.right), values)]
        return Value(f"{list_functions.name(expressions, 'joined', kind.known.element)}({', '.join(texts)})", kind)
    if isinstance(node.op, ast.Mult):
        _check(expressions, node)
        (at,) = [i for i in range(2) if isinstance(kinds[i], List)][:1]
        count = expressions.integer((node.right, node.left)[at])
        own = list_functions.name(expressions, "repeated", kinds[at].known.element)
        return Value(f"{own}({values[at].text}, {count})", kinds[at])
    expressions.fail(node, f"lists can be joined by + and repeated by *; {ast.unparse(node)} is for arrays: make one "
                           "with np.array(..)")


def of_call(expressions, node, function):
    """list(x), sorted(x) and deque(x); None for other functions."""
    if function is collections.deque:
        if node.keywords or len(node.args) > 1:
            expressions.fail(node, "a deque has no limit here, where it has two names or functions use it: behind "
                                   "d.append(x) write if len(d) > n: d.popleft()")
        function = builtins.list
    if function not in (builtins.list, builtins.sorted) or len(node.args) > 1:
        return None
    options = {each.arg: each.value for each in node.keywords}
    if set(options) - ({"reverse"} if function is sorted else set()) or (function is sorted and not node.args):
        expressions.fail(node, "sorted takes an array, a list or a dictionary of numbers, and reverse=True here" +
                         advice.of_keywords(options))
    _check(expressions, node)
    if not node.args:
        return Value(_new(expressions, UNKNOWN), List(UNKNOWN))
    value = items_of(expressions, node.args[0])
    if UNKNOWN in (value.type, getattr(value.type, "element", None)):
        return NOTHING
    if function is builtins.list and isinstance(value.type, List):
        return Value(f"{value.text}.copy()", value.type)
    array = as_array(value)
    if function is sorted:
        array = _sorted(expressions, node, array, options.get("reverse"))
    return of_array(expressions, node, array, element_of(value))


def element_of(value):
    return value.type.element if isinstance(value.type, List) else Scalar(value.type.element)


def items_of(expressions, node):
    """The items that list(x) and sorted(x) go through, as an array or a list. x may be a range or a dictionary, too."""
    if isinstance(node, ast.Call) and expressions.statements.means(node.func, range):
        begin, end, step = expressions.statements.range(node)
        own = list_functions.name(expressions, "range", INT)
        return Value(f"{own}({begin}, {end}, {step})", List(INT))
    value = expressions.value(node)
    keys = expressions.keys_of(node, value)
    if keys is not None:
        return keys
    if value.items and all(isinstance(item.type, Scalar) for item in value.items):
        return literal(expressions, ast.copy_location(ast.List(node.elts, ast.Load()), node)) if isinstance(
            node, ast.Tuple) else expressions.array_of(node, value.items)
    if value.type != UNKNOWN and not isinstance(value.type, (Array, List)) or getattr(value.type, "rank", 1) != 1:
        expressions.fail(node, f"the items of {value.type} cannot be put into a list: write a loop that appends them")
    return value


def _sorted(expressions, node, array, is_reverse=None):
    from . import library, number_functions  # which need NumPy

    known = False if is_reverse is None else expressions.known_test(is_reverse)
    if known is None:
        expressions.fail(node, "reverse is True or False here")
    own = number_functions.sort_down if known else number_functions.sort
    return library.call(expressions, node, own, [node], [array])


def of_array(expressions, node, array, element):
    """A list of the elements of an array of one dimension."""
    expressions.unit.module("list")
    if array.view is not None or array.elements is not None:
        array = whole.new_array(expressions, node, array)
    return Value(f"list.of<{array.type.element}>({array.text})", List(element))


# ---- Types of elements.

def _check(expressions, node):
    if expressions.is_sequential:
        expressions.fail(node, "a prange loop makes and changes no lists: set elements of an array that is made before")


def _item(expressions, node, value, owner=None):
    """The value as an item of a list, which the node `owner` names."""
    if isinstance(value.type, Array):
        return array_item(expressions, node, value, owner)
    if isinstance(value.type, Tuple) and value.type.items and all(
            isinstance(item, Scalar) or item == UNKNOWN for item in value.type.items):
        if isinstance(value.type, Struct) and not value.type.is_fixed:
            expressions.fail(node, "a list has copies of dataclasses here: make the class with frozen=True, or of "
                                   "namedtuple")
        return NOTHING if UNKNOWN in value.type.items else value
    if value.type != UNKNOWN and not isinstance(value.type, (Scalar, List)):
        expressions.fail(node, f"a list has numbers, tuples of numbers, arrays or lists here, and this is "
                               f"{value.type}: make an array with np.empty")
    return value


def array_item(expressions, node, value, owner):
    """An array in a list is the array itself; of a view it is a copy, as long as neither is written."""
    base, scope = views.base_of(node), expressions.scope
    name = None if owner is None else views.base_of(owner)
    if base is not None and name is not None and base.id in scope.names():
        scope.alias(name.id, base.id)
        if value.view is not None:
            scope.copied_view(node, base.id)
    if value.view is None and value.elements is None:
        return value
    return whole.new_array(expressions, node, value)


def item_text(expressions, node, value, element):
    """The text of a value as an element."""
    if value.type == UNKNOWN:
        return _new(expressions, element.element) if isinstance(element, List) else "0" if not isinstance(
            element, Array) else f"{element.text}({', '.join('0' * element.rank)})"
    if isinstance(element, List):
        return adapted(expressions, node, value, element)
    if isinstance(element, Array):
        return value.text
    if not isinstance(element, Tuple):
        return value.as_type(element)
    if not value.items:
        return value.text
    parts = ", ".join(item.as_type(kind) for item, kind in zip(value.items, element.items))
    return f"{expressions.unit.struct(element)}({parts})"


def adapted(expressions, node, value, kind):
    """The text of a list as one of this type. A named list gets the type in the next pass; others are converted."""
    given, wanted = value.type.known, kind.known
    if given == wanted or expressions.unit.type_text(given) == expressions.unit.type_text(wanted):
        expressions.scope.grow(node, kind)
        return value.text
    if expressions.scope.grow(node, kind):
        return value.text
    return list_functions.converted(expressions, value.text, given, wanted)


def _grown(expressions, node, value):
    """The type of the list at a node, now that it gets this item."""
    if not expressions.scope.grow(node, List(value.type)):
        expressions.fail(node, "only a list that is a variable, or an item of one, can be changed")
    return expressions.value(node).type


# ---- Methods.

def method(expressions, node, value):
    """found.append(x), found.pop() and others."""
    name, target = node.func.attr, node.func.value
    _check(expressions, node)
    if name in (*_RESIZING, "reverse", "sort"):
        _note_changed(expressions, target, node)
    if name in ("popleft", "appendleft"):  # of a deque
        name = {"popleft": "pop", "appendleft": "insert"}[name]
        node = ast.copy_location(ast.Call(node.func, [ast.copy_location(ast.Constant(0), node), *node.args],
                                          node.keywords), node)
    count = len(node.args)
    if name in ("append", "insert") and count == 1 + (name == "insert") and not node.keywords:
        given = _item(expressions, node.args[-1], expressions.value(node.args[-1]), target)
        kind = _grown(expressions, target, given)
        pushed = item_text(expressions, node.args[-1], given, kind.known.element)
        if name == "append":
            return Value(f"{value.text}.push({pushed})", NONE)
        place = expressions.integer(node.args[0])
        own = list_functions.name(expressions, "insert", kind.known.element)
        return Value(f"{own}({value.text}, {place}, {pushed})", NONE)
    if name == "extend" and count == 1 and not node.keywords:
        return _extend(expressions, node, value)
    if name == "pop" and count <= 1 and not node.keywords:
        place = expressions.integer(node.args[0]) if count else "-1"
        own = list_functions.name(expressions, "pop", value.type.known.element)
        return _taken(expressions, Value(f"{own}({value.text}, {place})", value.type.element))
    if name in ("clear", "reverse") and not node.args + node.keywords:
        return Value(f"{value.text}.{name}()", NONE)
    if name == "copy" and not node.args + node.keywords:
        return Value(f"{value.text}.copy()", value.type)
    if name == "sort" and not node.args and [each.arg for each in node.keywords] in ([], ["reverse"]):
        return _sort(expressions, node, value)
    if name in ("index", "count", "remove") and count == 1 and not node.keywords:
        return searched(expressions, node, name, node.args[0], value)
    expressions.fail(node, f".{name}({', '.join('.' * count)}) of a list cannot be compiled; append, extend, insert, "
                           "pop, remove, clear, copy, reverse, sort, index and count can")


def _note_changed(expressions, owner, node):
    """Notes that the list at the node `owner` gets other items."""
    base = views.base_of(owner)
    if base is not None:
        expressions.scope.changed(base.id, node)


def _extend(expressions, node, value):
    if isinstance(node.args[0], ast.Tuple):
        node.args[0] = ast.copy_location(ast.List(node.args[0].elts, ast.Load()), node.args[0])
    others = items_of(expressions, node.args[0])
    if UNKNOWN in (others.type, getattr(others.type, "element", None)):
        return NOTHING
    element, others_node = element_of(others), node.args[0]
    kind = _grown(expressions, node.func.value, Value("", element))
    if not isinstance(others.type, List):
        others, others_node = of_array(expressions, node, others, element), node
    return Value(f"{value.text}.append({adapted(expressions, others_node, others, kind)})", NONE)


def _sort(expressions, node, value):
    if UNKNOWN in (value.type.element, value.type):
        return NOTHING
    array = _sorted(expressions, node, as_array(value), node.keywords[0].value if node.keywords else None)
    own = list_functions.name(expressions, "assign", value.type.known.element)
    return Value(f"{own}({value.text}, {array.text})", NONE)


def searched(expressions, node, name, item_node, value):
    """found.index(x), found.count(x), found.remove(x), and "has" for x in found."""
    kind = value.type.known.element
    given = _item(expressions, item_node, expressions.value(item_node))
    if UNKNOWN in (given.type, value.type.element):
        return Value("false", BOOL) if name == "has" else NOTHING
    if isinstance(kind, (Array, List)) or isinstance(given.type, (Array, List)):
        expressions.fail(node, "numbers and tuples are looked for in lists: write a loop")
    if isinstance(kind, Tuple) != isinstance(given.type, Tuple):
        expressions.fail(node, f"the list has items of type {kind}, and this is {given.type}")
    if isinstance(kind, Tuple):
        common = join(List(kind), List(given.type))
        if common is None or common.element != kind:
            expressions.fail(node, "the tuples of the list have other types")
        own = list_functions.name(expressions, f"{name}_tuple", kind)
        wanted = item_text(expressions, item_node, given, kind)
    else:
        common = BOOL if kind == given.type == BOOL else promote(kind, given.type)
        own = list_functions.name(expressions, name, kind, common)
        wanted = given.as_type(common)
    result = {"has": BOOL, "remove": NONE}.get(name, INT)
    return Value(f"{own}({value.text}, {wanted})", result)


def length(value):
    return Value(f"{value.text}.len()", INT)


# ---- Items.

def may_change_size(statements, body, kind):
    """Whether something in the body of a loop may change the size of a list of this type, and another turn follow."""
    scope = statements.scope

    def is_of_kind(node):
        found = scope.kind_at(node)
        return found == UNKNOWN or found == kind

    def changes(node):
        if isinstance(node, ast.AugAssign):
            return isinstance(scope.kind_at(node.target), List)
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute) and node.func.attr in _RESIZING:
            return is_of_kind(node.func.value)
        try:
            called = statements.source.meaning(node.func, scope.names())
        except LookupError:
            return isinstance(node.func, ast.Name)  # a function in this one, whose variables may be the list
        return inspect.isfunction(inspect.unwrap(called) if callable(called) else called) and any(
            isinstance(scope.type_of(each.id), (List, Dict)) for each in ast.walk(node) if isinstance(each, ast.Name))

    return any(changes(each) for statement in _going_on(body) for each in ast.walk(statement))


def _going_on(statements, is_inner=False):
    """The simple statements that the next turn of the loop may follow: nothing in front of a break or return."""
    if statements and isinstance(statements[-1], (ast.Return, ast.Raise) + (() if is_inner else (ast.Break,))):
        return
    for statement in statements:
        inner = is_inner or isinstance(statement, (ast.For, ast.While))
        parts = scopes.parts(statement)
        if parts:
            for part in parts:
                yield from _going_on(part, inner)
            yield from (each for each in ast.iter_child_nodes(statement) if isinstance(each, ast.expr))
        else:
            yield statement


def item(expressions, node, value):
    """found[i]; constants below 0 count from the end. found[1:] is a new list."""
    if isinstance(node.slice, ast.Slice):
        return _part(expressions, node, value)
    index = expressions.value(node.slice)
    if UNKNOWN in (index.type, value.type.element):
        return NOTHING
    place = expressions.integer(node.slice)
    if index.is_constant and index.constant < 0:
        place = f"{value.text}.len() - {-index.constant}"
    elif not index.is_constant:
        place = places.from_end(expressions, node.slice, index, f"{value.text}.len()")
    text = f"{value.text}[{place}]"
    if isinstance(value.type.element, Tuple):
        views.check_repeatable(expressions, node, place)
    return _taken(expressions, Value(text, value.type.element), is_repeatable=True)


def _taken(expressions, value, is_repeatable=False):
    """An item, which is a tuple of several values if it is one in the list."""
    if not isinstance(value.type, Tuple) or value.type == UNKNOWN:
        return NOTHING if value.type == UNKNOWN else value
    return of_tuple(value.text, value.type) if is_repeatable else value


def _part(expressions, node, value):
    _check(expressions, node)
    if value.type.element == UNKNOWN:
        return NOTHING
    bounds = node.slice
    step = 1 if bounds.step is None else expressions.scalar(bounds.step)
    if step != 1 and not step.is_constant:
        expressions.fail(node, "the step of a part of a list is a constant")
    step = step if step == 1 else step.constant
    # Places beyond the ends are cut off.
    texts = ["i64.min" if each is None else expressions.integer(each) for each in (bounds.lower, bounds.upper)]
    own = list_functions.name(expressions, "part", value.type.known.element)
    given = [str(each is not None).lower() for each in (bounds.lower, bounds.upper)]
    return Value(f"{own}({value.text}, {given[0]}, {texts[0]}, {given[1]}, {texts[1]}, {step})", value.type)


def of_tuple(text, kind):
    """A tuple in a struct, whose text may be evaluated several times."""
    return struct_of(kind, (Value(f"{text}.x{i}", item) for i, item in enumerate(kind.items)))


def store_item(statements, target, value, node):
    """found[i] = x."""
    expressions = statements.expressions
    if isinstance(target.slice, ast.Slice):
        statements.source.fail(target, "a part of a list cannot be assigned: write a loop, or make a new list with +")
    _note_changed(expressions, target.value, target)
    given = _item(expressions, node, value, target.value)
    kind = _grown(expressions, target.value, given)
    place = item(expressions, target, expressions.value(target.value))
    if place.type == UNKNOWN:
        return
    to = place.items[0].text.removesuffix(".x0") if place.items else place.text
    statements.emit(f"{to} = {item_text(expressions, node, given, kind.known.element)};", target)


def add_items(items, target, owner, text, kind):
    """The target of a loop takes an item of a list or dictionary: `text` gives its text for that of a turn, `owner` is
    the node of what has it."""
    if isinstance(kind, Tuple) and not isinstance(target, ast.Name):
        if not isinstance(target, (ast.Tuple, ast.List)) or len(target.elts) != len(kind.items):
            items.statements.source.fail(target, f"{len(kind.items)} numbers come at a time")
        for position, each in enumerate(target.elts):
            items.stores.append((each, lambda turn, at=position: of_tuple(text(turn), kind).items[at], owner))
        return
    # An item that is a list has the name of its owner for its type.
    item = ast.copy_location(ast.Subscript(owner, ast.Constant(0), ast.Load()), owner)
    items.stores.append((target, lambda turn: of_tuple(text(turn), kind) if isinstance(kind, Tuple) else Value(
        text(turn), kind), item))


# ---- As arrays.

def rows(expressions, value):
    """The tuples or lists in a list as the rows of an array."""
    if isinstance(value.type.element, (Array, List)):
        return list_functions.table(expressions, value)
    kinds = value.type.element.items
    common = kinds[0]
    for kind in kinds[1:]:
        common = promote(common, kind) if kind != common else common
    return list_functions.rows(expressions, value, common)


_RESIZING = ("append", "appendleft", "pop", "popleft", "clear", "insert", "extend", "remove")


def as_array(value):
    """A copy of its elements as an array; other values are returned as they are."""
    if not isinstance(value.type, List):
        return value
    if value.type.element == UNKNOWN:
        return NOTHING
    if isinstance(value.type.element, (Array, Tuple, List)):
        raise Unconvertible("a list of tuples, arrays or lists is a loop's or np.array's here: for x, y in found")
    return Value(f"{value.text}.to_array()", Array(value.type.element.name, 1))
