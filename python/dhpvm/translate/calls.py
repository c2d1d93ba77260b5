# SPDX-License-Identifier: Apache-2.0
"""Calls: conversions, functions of math and NumPy on numbers, and the modules that have the others."""

from __future__ import annotations

import ast
import builtins
import math

from . import (advice, complex_numbers, creation, dicts, dtypes, functions, generators, iterators, lists, observed,
               products, records, reductions, selections, sequences, sets, structs, views, whole)
from .function_names import BINARY, COMPARISONS, HELPERS, MATH_BINARY, MATH_TO_INTEGER, MATH_UNARY, OPERATORS, UNARY
from .types import (BOOL, COMPLEX, FLOAT, GENERATOR, INT, LARGE, NONE, NUMPY_NAMES, UNKNOWN, Array, Dict, List, Scalar,
                    Set, Text, Unconvertible, float_of, numpy_name, promote)
from .values import NOTHING, Value, as_numpys, constant, marked, tuple_of


def is_min_or_max(source, local_names):
    """A function that tells 'min' and 'max' calls from others, for reductions."""
    def tell(call):
        try:
            function = source.meaning(call.func, local_names)
        except LookupError:
            return None
        return {builtins.min: "min", builtins.max: "max"}.get(function if callable(function) else None)
    return tell


def _is_from(function, module, names):
    name = getattr(function, "__name__", None)
    return name in names and getattr(_modules().get(module), name, None) is function


def _modules():
    import sys

    return {"numpy": sys.modules.get("numpy"), "math": math}


def call(expressions, node):
    """The value of a call."""
    try:
        function = expressions.source.meaning(node.func, expressions.scope.names())
    except LookupError:
        return _method(expressions, node)
    if hasattr(getattr(function, "__self__", None), "ndim"):  # of an array of the surroundings
        return _method(expressions, node)
    for handle in (complex_numbers.of_call, _conversion, _builtin, lists.of_call, dicts.of_call, sets.of_call,
                   structs.of_call, creation.create, sequences.of_call, _of_library, reductions.of_call,
                   selections.of_call, products.of_call, generators.of_call, generators.primitive, _of_numpy, _of_math,
                   _of_package, _of_user):
        value = handle(expressions, node, function)
        if value is not None:
            return value
    expressions.fail(node, f"{ast.unparse(node.func)} cannot be compiled: {advice.of_function(function)}")


def _of_library(expressions, node, function):
    from . import library  # which needs NumPy, and takes longer to import than most functions to translate

    return library.of_call(expressions, node, function)


def _method(expressions, node):
    from . import axes, library  # which need NumPy

    if not isinstance(node.func, ast.Attribute):
        if isinstance(node.func, ast.Call):
            expressions.fail(node, "what a call returns cannot be called: define the function with def, and write "
                                   "a loop")
        expressions.fail(node, f"'{ast.unparse(node.func)}' is not defined")
    name = node.func.attr
    if not node.args + node.keywords:
        selected = selections.reduction(expressions, node, name, node.func.value)
        if selected is not None:
            return selected
    base = expressions.value(node.func.value)
    if base.type == UNKNOWN:
        return NOTHING
    if structs.is_struct(base) and name == "_replace" and base.type.is_fixed and not node.args:
        return structs.replaced(expressions, node, base)
    if name == "astype" and isinstance(base.type, Scalar):
        kind = Scalar(dtypes.element(expressions, _asked_type(expressions, node)))
        return Value(base.as_type(kind), kind)
    if name in complex_numbers.CONJUGATES and isinstance(base.type, Scalar) and not node.args + node.keywords:
        return complex_numbers.method(base, name) if base.type.is_complex else base
    if name in ("clip", "round") and isinstance(base.type, Scalar):
        as_call = ast.copy_location(ast.Call(node.func, [node.func.value, *node.args], node.keywords), node)
        return _clip(expressions, as_call) if name == "clip" else library.of_call(expressions, as_call, _numpy("round"))
    for kind, owner in ((List, lists), (Set, sets), (Dict, dicts)):
        if isinstance(base.type, kind):
            value = owner.method(expressions, node, base)
            return marked(value, expressions.unit.mark(node)) if name in ("pop", "popleft", "setdefault") else value
    if base.type == GENERATOR:
        return generators.method(expressions, node, base)
    if isinstance(base.type, Array):
        if name == "copy" and not node.args:
            if base.view is None and base.elements is None:
                return Value(f"{base.text}.copy()", base.type)
            return whole.new_array(expressions, node, base)
        if name == "tolist" and base.type.rank == 1 and not node.args + node.keywords:
            return _to_list(expressions, node, base)
        if name in ("transpose", "swapaxes"):
            return axes.permuted(expressions, node, base, node.args, _numpy(name))
        if name in ("sort", "fill") and isinstance(node.func.value, (ast.Name, ast.Subscript)):
            return library.in_place(expressions, node, base)
        if name in reductions.NAMES:
            return reductions.of_method(expressions, node, base)
        if name == "dot" and len(node.args) == 1:
            return products.product(expressions, node, base, expressions.value(node.args[0]))
        known = library.of_method(expressions, node)
        if known is not None:
            return known
    expressions.fail(node, f".{name}() of {base.type} cannot be compiled: {advice.of_method(name, base.type)}")


def _to_list(expressions, node, base):
    """a.tolist(): numbers of Python's own."""
    element = Scalar(base.type.element)
    kind = COMPLEX if element.is_complex else FLOAT if element.is_float else BOOL if element == BOOL else \
        LARGE if element.name == "u64" else INT
    if kind.name != element.name:
        dtype = ast.Constant(numpy_name(kind.name))
        astype = ast.Call(ast.Attribute(node.func.value, "astype", ast.Load()), [dtype], [])
        astype = ast.fix_missing_locations(ast.copy_location(astype, node))
        base = whole.new_array(expressions, node, expressions.given(astype, node.func.value, base))
    return lists.of_array(expressions, node, base, kind)


def _asked_type(expressions, node):
    """The type in a.astype(np.float32), a.astype(dtype=np.float32, copy=True)."""
    given = [*node.args, *(each.value for each in node.keywords if each.arg == "dtype")]
    others = [each for each in node.keywords if each.arg != "dtype" and (
        each.arg != "copy" or getattr(each.value, "value", None) is not True)]
    if others or len(given) != 1:
        expressions.fail(node, "astype takes a type alone here: where there is to be no copy of elements that have the "
                               "type, write np.asarray(a, np.float32)")
    return given[0]


def _arguments(expressions, node, least, most=None):
    most = least if most is None else most
    if node.keywords or not least <= len(node.args) <= most or any(isinstance(a, ast.Starred) for a in node.args):
        expected = f"{least}" if least == most else f"{least} to {most}"
        expressions.fail(node, f"{ast.unparse(node.func)} takes {expected} positional arguments here")
    return [expressions.scalar(argument) for argument in node.args]


def _conversion(expressions, node, function):
    """int(x), np.float32(x)."""
    kinds = {int: INT, float: FLOAT, bool: BOOL}  # complex has one or two arguments: see complex_numbers
    kind = kinds.get(function) if isinstance(function, type) else None
    if kind is None and isinstance(function, type) and function.__module__ == "numpy":
        name = "bool" if function.__name__ in ("bool", "bool_") else function.__name__
        kind = Scalar(NUMPY_NAMES[name]) if name in NUMPY_NAMES else None
    if kind is None:
        return None
    if kind.is_float and len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and \
            isinstance(node.args[0].value, str):
        try:
            return constant(function(node.args[0].value))
        except ValueError as error:
            expressions.fail(node, str(error))
    if kind.name == "bool" and len(node.args) == 1 and not node.keywords:
        return Value(expressions.test(node.args[0]), BOOL)
    (value,) = _arguments(expressions, node, 1)
    if value.type == UNKNOWN:
        return Value(value.as_type(kind), kind)
    if function is int and value.type == LARGE:
        return value
    if value.is_constant and kind.is_integer and not math.isfinite(value.constant):
        expressions.fail(node, f"{value.constant} has no integer")
    if function is int and value.type.is_float and not value.is_constant:
        value = Value(observed.to_integer(expressions, value, value.text), value.type)
    return Value(value.as_type(kind), kind)


def _builtin(expressions, node, function):
    if function is builtins.len:
        if len(node.args) != 1:
            expressions.fail(node, "len takes one argument")
        array = expressions.value(node.args[0])
        if array.type == UNKNOWN:
            return Value("0", INT)
        if records.is_record(array):
            array = array.items[0]
        if array.items:
            return constant(len(array.items))
        if isinstance(array.type, List):
            return lists.length(array)
        if isinstance(array.type, Dict):
            return dicts.length(array)
        if not isinstance(array.type, Array):
            expressions.fail(node, f"len of {array.type} cannot be compiled")
        return Value(whole.sizes(expressions, node, array)[0], INT)
    if function is builtins.ord and len(node.args) == 1:
        text = expressions.value(node.args[0])
        if not isinstance(text.type, Text) or len(text.constant) != 1:
            expressions.fail(node, "ord is for a text that is written out, ord(','): elements of an array of bytes are "
                                   "numbers already")
        return constant(ord(text.constant))
    if function in (builtins.abs, _numpy("abs"), _numpy("absolute"), _numpy("fabs")) and function is not None:
        (value,) = _arguments(expressions, node, 1)
        if value.type == UNKNOWN:
            return value
        if function is _numpy("fabs"):
            value = Value(value.as_type(float_of(value.type)), float_of(value.type))
        elif value.type == BOOL and (expressions.is_element or function is not builtins.abs):
            return value  # as NumPy has it
        kind = INT if value.type == BOOL else value.type
        if not kind.name.startswith("u"):
            value = Value(f"{expressions.unit.module('math')}.abs({value.as_type(kind)})", kind)
        return value if function is builtins.abs else as_numpys(value)
    if function in (builtins.sum, builtins.min, builtins.max) and len(node.args) == 1 and not node.keywords:
        value = expressions.value(node.args[0])
        array = lists.as_array(value if not isinstance(value.type, Set) else expressions.keys_of(node.args[0], value))
        if array.items:
            return _of_items(expressions, node, array.items, function)
        if isinstance(array.type, Array) and array.type.rank > 1:
            expressions.fail(node, f"{function.__name__} of an {array.type} cannot be compiled: write "
                                   f"np.{function.__name__}")
        return whole.reduction(expressions, node, function.__name__, array)
    if function in (builtins.any, builtins.all) and len(node.args) == 1 and not node.keywords:
        return whole.reduction(expressions, node, function.__name__, expressions.array(node.args[0]))
    if function in (builtins.min, builtins.max):
        if "key" in [each.arg for each in node.keywords]:
            expressions.fail(node, f"key= of {function.__name__} cannot be compiled: write a loop that keeps the best")
        values = _arguments(expressions, node, 2, 8)
        return _fold(expressions, values, function.__name__)
    if function is builtins.divmod:
        left, right = _arguments(expressions, node, 2)
        return tuple_of(expressions.operation(node, operator, left, right) for operator in (ast.FloorDiv(), ast.Mod()))
    if function is builtins.round:
        return _round(expressions, node)
    if function is builtins.isinstance:
        return _is_instance(expressions, node)
    return None


def _is_instance(expressions, node):
    """isinstance(x, np.ndarray), which is known for a type."""
    if len(node.args) != 2 or node.keywords:
        expressions.fail(node, "isinstance takes a value and types")
    kind = expressions.value(node.args[0]).type
    nodes = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    try:
        asked = [expressions.source.meaning(each, expressions.scope.names()) for each in nodes]
    except LookupError:
        expressions.fail(node, "the types that isinstance asks for are named by themselves or in a tuple")
    if kind == UNKNOWN:
        return Value("false", BOOL)
    types = {BOOL: (bool, int), INT: (int,), FLOAT: (float,)}.get(kind)
    if types is None:
        name = next((numpy for numpy, own in NUMPY_NAMES.items() if own == getattr(kind, "name", None)), None)
        numpy = _modules()["numpy"]
        types = (numpy.ndarray,) if isinstance(kind, Array) else getattr(numpy, f"{name}", type(None)).__mro__
    return constant(any(each in types for each in asked))


def _of_items(expressions, node, items, function):
    """sum, min or max of a tuple: min(a.shape)."""
    if function is not builtins.sum:
        return _fold(expressions, items, function.__name__)
    total = constant(0)
    for item in items:
        total = expressions.operation(node, ast.Add(), total, item)
    return total


def _round(expressions, node):
    """To an integer; half of the way to the even one."""
    if len(node.args) == 2 and isinstance(expressions.scalar(node.args[0]).type, Scalar) and \
            not expressions.scalar(node.args[0]).type.is_weak:
        from . import library  # which needs NumPy

        return library.of_call(expressions, node, _numpy("round"))
    if len(node.args) == 2 and not node.keywords:
        return _round_to(expressions, node)
    (value,) = _arguments(expressions, node, 1)
    kind = value.type
    if kind == UNKNOWN or kind.is_integer:
        return value
    if kind == BOOL:
        return Value(value.as_type(INT), INT)
    text = observed.to_integer(expressions, value, value.text)
    return Value(f"({expressions.unit.helper('rint', kind.name)}({text}) as i64)", INT)


def _round_to(expressions, node):
    """round(x, 2) of a float of Python's own: the decimal number that is nearest, as Python has it."""
    value, digits = (expressions.scalar(each) for each in node.args)
    if UNKNOWN in (value.type, digits.type):
        return Value(value.as_type(FLOAT), FLOAT)
    if value.type != FLOAT or not digits.is_constant or digits.type != INT or not 0 <= digits.constant <= 22:
        expressions.fail(node, "round takes a float and a constant number of digits behind the point here")
    if expressions.is_sequential:
        expressions.fail(node, "in a prange loop round(x, 2) cannot be compiled: write round(x * 100) / 100, whose "
                               "last bit may differ")
    expressions.unit.module("str")
    name = f"_rounded_{digits.constant}"
    made = expressions.unit.function(name, f"""fn {name}(x: f64) -> f64 {{
    if x - x != 0.0 {{ return x; }}
    let found = str.parse_float(f"{{x:.{digits.constant}f}}");
    return if found != null {{ found }} else {{ x }};
}}""")
    return Value(f"{made}({value.text})", FLOAT)


def _fold(expressions, values, name):
    """min or max of several: the first unless a later one is smaller, or larger, as in Python."""
    result = values[0]
    for value in values[1:]:
        if UNKNOWN in (result.type, value.type):
            return Value("0", UNKNOWN)
        if result.type == value.type == BOOL:
            result = Value(f"({result.text} {'&&' if name == 'min' else '||'} {value.text})", BOOL)
            continue
        kind = promote(result.type, value.type)
        if kind.is_complex:
            raise Unconvertible(f"complex numbers have no {name}: compare abs(z), or z.real")
        module = expressions.unit.module("math")
        result = Value(f"{module}.{name}({result.as_type(kind)}, {value.as_type(kind)})", kind)
    return result


def _numpy(name):
    return getattr(_modules()["numpy"], name, None)


def _of_numpy(expressions, node, function):
    unit = expressions.unit
    if _is_from(function, "numpy", UNARY):
        (value,) = _arguments(expressions, node, 1)
        if value.type == UNKNOWN:
            return Value("0", UNKNOWN)
        if function.__name__ in ("floor", "ceil", "trunc") and not (
                value.type.is_float or value.type.is_complex):
            return as_numpys(value)
        kind = Scalar(float_of(value.type).name)
        return Value(f"{unit.module('math')}.{UNARY[function.__name__]}({value.as_type(kind)})", kind)
    if _is_from(function, "numpy", ("rint",)):
        (value,) = _arguments(expressions, node, 1)
        if value.type == UNKNOWN:
            return value
        kind = Scalar(float_of(value.type).name)
        return Value(f"{unit.helper('rint', kind.name)}({value.as_type(kind)})", kind)
    if _is_from(function, "numpy", BINARY):
        kind, (x, y) = _pair(expressions, node)
        if kind == UNKNOWN:
            return Value("0", UNKNOWN)
        if function.__name__ == "power":
            return as_numpys(expressions.operation(node, ast.Pow(), x, y))
        kind = Scalar(float_of(kind).name)
        return Value(f"{unit.module('math')}.{BINARY[function.__name__]}({x.as_type(kind)}, {y.as_type(kind)})", kind)
    if _is_from(function, "numpy", OPERATORS):
        return as_numpys(expressions.operation(node, OPERATORS[function.__name__](), *_arguments(expressions, node, 2)))
    if _is_from(function, "numpy", COMPARISONS):
        return expressions.comparison(COMPARISONS[function.__name__], *_arguments(expressions, node, 2))
    if _is_from(function, "numpy", HELPERS):
        kind, (x, y) = _pair(expressions, node)
        if kind == UNKNOWN:
            return Value("0", UNKNOWN)
        if x.type == y.type == BOOL and function.__name__ in ("minimum", "maximum"):
            return Value(f"({x.text} {'&&' if function.__name__ == 'minimum' else '||'} {y.text})", BOOL)
        if function.__name__ == "copysign":
            kind = float_of(kind)
        return Value(f"{unit.helper(HELPERS[function.__name__], kind.name)}({x.as_type(kind)}, {y.as_type(kind)})",
                     Scalar(kind.name))
    if _is_from(function, "numpy", ("isnan", "isfinite", "isinf")):
        return _classification(expressions, node, function.__name__)
    if _is_from(function, "numpy", ("clip",)):
        return _clip(expressions, node)
    if _is_from(function, "numpy", ("square",)):
        (value,) = _arguments(expressions, node, 1)
        squared = ast.copy_location(ast.BinOp(node.args[0], ast.Pow(), ast.Constant(2)), node)
        return as_numpys(expressions.operation(squared, ast.Pow(), value, constant(2)))
    if function is _numpy("where") and function is not None:
        if len(node.args) != 3:
            expressions.fail(node, "np.where takes three arguments here")
        left, right = (expressions.scalar(argument) for argument in node.args[1:])
        return as_numpys(expressions.choice(expressions.test(node.args[0]), left, right))
    return None


def _pair(expressions, node):
    values = _arguments(expressions, node, 2)
    return promote(values[0].type, values[1].type), values


def _classification(expressions, node, name):
    (value,) = _arguments(expressions, node, 1)
    if value.type == UNKNOWN or not value.type.is_float:
        return Value("true" if name == "isfinite" else "false", BOOL)
    return Value(f"{expressions.unit.helper(name, value.type.name)}({value.text})", BOOL)


def _of_math(expressions, node, function):
    if _is_from(function, "math", ("isnan", "isfinite", "isinf")):
        return _classification(expressions, node, function.__name__)
    for names, count in ((MATH_UNARY, 1), (MATH_BINARY, 2), (MATH_TO_INTEGER, 1), (("fabs",), 1)):
        if not _is_from(function, "math", names):
            continue
        values = [value.as_type(FLOAT) for value in _arguments(expressions, node, count)]
        if names is MATH_TO_INTEGER:
            values = [observed.to_integer(expressions, Value("", FLOAT), values[0])]
        name = "abs" if function.__name__ == "fabs" else function.__name__
        own = observed.name_of(expressions, name) or f"{expressions.unit.module('math')}.{name}"
        text = f"{own}({', '.join(values)})"
        return Value(f"({text} as i64)", INT) if names is MATH_TO_INTEGER else Value(text, FLOAT)
    if function in (math.fmod, math.copysign, math.hypot):
        x, y = (value.as_type(FLOAT) for value in _arguments(expressions, node, 2))
        if function is math.hypot:
            return Value(f"{expressions.unit.module('math')}.hypot({x}, {y})", FLOAT)
        own = observed.name_of(expressions, function.__name__) or expressions.unit.helper(
            HELPERS[function.__name__], "f64")
        return Value(f"{own}({x}, {y})", FLOAT)
    return None


def _clip(expressions, node):
    """np.clip(x, low, high): as np.minimum(np.maximum(x, low), high)."""
    named = {each.arg.removeprefix("a_"): each.value for each in node.keywords if each.arg}
    given = dict(zip(("x", "min", "max"), node.args))
    if set(named) - {"min", "max"} or set(named) & set(given) or len(node.args) > 3 or "x" not in given or (
            len(named) != len(node.keywords)):
        expressions.fail(node, f"{ast.unparse(node.func)} takes a lower and an upper bound here")
    given = {**given, **named}
    value = expressions.value(given["x"])
    for name, end in (("maximum", "min"), ("minimum", "max")):
        bound = expressions.value(given[end]) if end in given else constant(None)
        if bound.type == NONE:
            continue
        bound = expressions.scalar(given[end])
        kind = promote(value.type, bound.type)
        if kind == UNKNOWN:
            return NOTHING
        helper = expressions.unit.helper(name, kind.name)
        value = Value(f"{helper}({value.as_type(kind)}, {bound.as_type(kind)})", kind)
    return as_numpys(value)


def _of_package(expressions, node, function):
    from .. import parallel

    if function is parallel.prange or function is builtins.range:
        expressions.fail(node, f"{function.__name__} stands in a for loop only")
    if function is parallel.uniform or function is parallel.normal:
        return generators.of_place(expressions, node, function)
    if function is parallel.atomic_add:
        if len(node.args) != 3 or node.keywords:
            expressions.fail(node, "atomic_add takes an array, an index and a number")
        base = expressions.value(node.args[0])
        if not isinstance(base.type, Array):
            return NOTHING
        element = views.subscript(expressions, ast.copy_location(
            ast.Subscript(node.args[0], node.args[1], ast.Load()), node), base)
        if not isinstance(element.type, Scalar) or element.type.name not in ("i32", "u32", "i64", "u64", "f32", "f64"):
            expressions.fail(node, "atomic_add is for elements of 32 and 64 bits")
        expressions.scope.written(node.args[0].id, node)
        value = expressions.scalar(node.args[2]).as_type(element.type)
        return Value(f"{expressions.unit.module('atomic')}.add({element.text}, {value})", element.type)
    return None


def _of_user(expressions, node, function):
    """A compiled function, or one of Python's that can be."""
    function = getattr(function, "__wrapped__", function)
    if function in iterators.NAMES.values():
        expressions.fail(node, "an iterator is compiled where a loop goes over it, for x in .., or list(..)")
    if not hasattr(function, "__code__") or (function.__module__ or "").partition(".")[0] in (
            "numpy", "heapq", "numba"):
        return None
    return functions.of_function(expressions, node, function, *functions.arguments(expressions, node, function))
