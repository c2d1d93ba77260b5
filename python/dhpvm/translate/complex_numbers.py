# SPDX-License-Identifier: Apache-2.0
"""Complex numbers: structs of the language, whose operators are methods. Arrays of them have the memory of NumPy's."""

from __future__ import annotations

import ast
import builtins
import cmath
import sys

from .types import COMPLEX, COMPLEXES, FLOAT, INT, UNKNOWN, Array, Scalar, Unconvertible, promote
from .values import NOTHING, Value, as_numpys, constant

# The methods compute as NumPy does: quotients are Smith's, which do not overflow where their result does not.
_STRUCT = """struct NAME {
    re: T;
    im: T;
    fn plus(o: NAME) -> NAME => NAME(re + o.re, im + o.im);
    fn minus(o: NAME) -> NAME => NAME(re - o.re, im - o.im);
    fn times(o: NAME) -> NAME => NAME(re * o.re - im * o.im, re * o.im + im * o.re);
    fn negated() -> NAME => NAME(-re, -im);
    fn divided_by(o: NAME) -> NAME {
        let a = math.abs(o.re);
        let b = math.abs(o.im);
        if a == 0.0 && b == 0.0 { return NAME(re / a, im / a); }
        if a >= b {
            let ratio = o.im / o.re;
            let scale = 1.0 / (o.re + o.im * ratio);
            return NAME((re + im * ratio) * scale, (im - re * ratio) * scale);
        }
        let ratio = o.re / o.im;
        let scale = 1.0 / (o.im + o.re * ratio);
        return NAME((re * ratio + im) * scale, (im * ratio - re) * scale);
    }
    fn over(o: NAME) -> NAME {
        if math.abs(o.re) >= math.abs(o.im) {
            let ratio = o.im / o.re;
            let whole = o.re + o.im * ratio;
            return NAME((re + im * ratio) / whole, (im - re * ratio) / whole);
        }
        let ratio = o.re / o.im;
        let whole = o.re * ratio + o.im;
        return NAME((re * ratio + im) / whole, (im * ratio - re) / whole);
    }
    fn square() -> NAME => times(this);
    fn to_power(n: i64) -> NAME {
        var result = NAME(1.0, 0.0);
        var base = this;
        var left = if n < 0 { -n } else { n };
        while left > 0 {
            if left % 2 == 1 { result = result.times(base); }
            base = base.times(base);
            left = left / 2;
        }
        return if n < 0 { NAME(1.0, 0.0).divided_by(result) } else { result };
    }
    fn power(o: NAME) -> NAME {
        if o.im == 0.0 && o.re == math.trunc(o.re) && math.abs(o.re) <= 100.0 { return to_power(o.re as i64); }
        let size = absolute();
        if size == 0.0 { return NAME(0.0, 0.0); }
        let turn = angle();
        let length = math.pow(size, o.re) * math.exp(-turn * o.im);
        let phase = turn * o.re + o.im * math.log(size);
        return NAME(length * math.cos(phase), length * math.sin(phase));
    }
    fn absolute() -> T => math.hypot(re, im);
    fn angle() -> T => math.atan2(im, re);
    fn conjugate() -> NAME => NAME(re, -im);
    fn exp() -> NAME {
        let size = math.exp(re);
        return if im == 0.0 { NAME(size, im) } else { NAME(size * math.cos(im), size * math.sin(im)) };
    }
    fn log() -> NAME => NAME(math.log(absolute()), angle());
    fn sqrt() -> NAME {
        if re == 0.0 && im == 0.0 { return NAME(0.0, im); }
        let half = math.sqrt((math.abs(re) + absolute()) * 0.5);
        if re >= 0.0 { return NAME(half, im / (2.0 * half)); }
        return NAME(math.abs(im) / (2.0 * half), if im < 0.0 || 1.0 / im < 0.0 { -half } else { half });
    }
    fn sin() -> NAME => NAME(math.sin(re) * math.cosh(im), math.cos(re) * math.sinh(im));
    fn cos() -> NAME => NAME(math.cos(re) * math.cosh(im), -math.sin(re) * math.sinh(im));
    fn sinh() -> NAME => NAME(math.sinh(re) * math.cos(im), math.cosh(re) * math.sin(im));
    fn cosh() -> NAME => NAME(math.cosh(re) * math.cos(im), math.sinh(re) * math.sin(im));
    fn is_nan() -> bool => re != re || im != im;
    fn is_finite() -> bool => re - re == 0.0 && im - im == 0.0;
    fn is_infinite() -> bool => !is_finite() && !is_nan() || math.abs(re) == T.infinity || math.abs(im) == T.infinity;
    fn to_OTHER() -> OTHER => OTHER(re as PART, im as PART);
}"""
# Functions of NumPy, and of Python's cmath, by the name of the method; those of Python give its own numbers.
_METHODS = {"exp": "exp", "log": "log", "sqrt": "sqrt", "sin": "sin", "cos": "cos", "sinh": "sinh", "cosh": "cosh",
            "conjugate": "conjugate", "conj": "conjugate", "square": "square", "absolute": "absolute",
            "abs": "absolute", "angle": "angle", "phase": "angle", "isnan": "is_nan", "isfinite": "is_finite",
            "isinf": "is_infinite", "real": "re", "imag": "im"}
_REAL = ("absolute", "angle", "re", "im")
_PREDICATES = ("is_nan", "is_finite", "is_infinite")
PARTS = ("real", "imag")
CONJUGATES = ("conj", "conjugate")
# NumPy's functions on elements of arrays, besides those that real numbers have as well.
FUNCTIONS = {*PARTS, *CONJUGATES, "angle"}


def declarations():
    """The text of both structs."""
    return [_STRUCT.replace("OTHER", other).replace("NAME", name).replace("PART", COMPLEXES[other]).replace(
        ": T;", f": {part};").replace("-> T ", f"-> {part} ").replace("T.infinity", f"{part}.infinity").replace(
        "to_C", "to_c") for name, part, other in zip(COMPLEXES, COMPLEXES.values(), reversed(COMPLEXES))]


def operation(expressions, node, operator, left, right, result):
    """left OPERATOR right, of which one is complex at least."""
    a, b = left.as_type(result), right.as_type(result)
    symbol = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}.get(type(operator))
    if isinstance(operator, ast.Pow):
        exponent = right.constant if right.is_constant and not right.type.is_complex else 0.5
        if exponent == 2:
            return Value(f"{_placed(a)}.square()", result)
        if float(exponent).is_integer() and abs(exponent) <= 100:
            return Value(f"{_placed(a)}.to_power({int(exponent)})", result)
        return Value(f"{_placed(a)}.power({b})", result)
    if symbol is None:
        expressions.fail(node, f"{ast.unparse(node)}: complex numbers have +, -, *, / and **")
    if symbol == "/" and result.is_weak:
        return Value(f"{_placed(a)}.over({b})", result)
    return Value(f"({a} {symbol} {b})", result)


def _placed(text):
    return text if text[-1] in ")]" or text.isidentifier() else f"({text})"


def method(value, name):
    """The value of one of the methods; `name` is NumPy's, or that of Python's cmath."""
    own, kind = _METHODS[name], value.type
    result = Scalar("bool") if own in _PREDICATES else Scalar(kind.part, kind.is_weak) if own in _REAL else kind
    call = "" if own in ("re", "im") else "()"
    return Value(f"{_placed(value.as_type(kind))}.{own}{call}", result)


def part(expressions, node, value):
    """z.real and z.imag of a number."""
    if value.type == UNKNOWN:
        return NOTHING
    if value.is_constant:
        return constant(getattr(value.constant, node.attr))
    if value.type.is_complex:
        return method(value, node.attr)
    kind = INT if value.type.name == "bool" and not expressions.is_element else value.type
    return Value(value.as_type(kind), kind) if node.attr == "real" else Value(Value("0", INT, 0).as_type(kind), kind, 0)


def of_call(expressions, node, function):
    """A function of NumPy or cmath of a complex number, and complex(x, y); None for other calls."""
    if function is builtins.complex:
        return _made(expressions, node)
    name = getattr(function, "__name__", "")
    if name not in FUNCTIONS and name not in _METHODS:
        return None
    numpy = sys.modules.get("numpy")
    is_numpys = numpy is not None and getattr(numpy, name, None) is function
    if is_numpys and name in FUNCTIONS and len(node.args) == 1 and not node.keywords:
        value = expressions.scalar(node.args[0])
        if value.type == UNKNOWN:
            return NOTHING
        if not value.type.is_complex and name in CONJUGATES:
            is_bool = value.type.name == "bool"  # whose conjugates are int8 in NumPy
            return Value(value.as_type(Scalar("i8")), Scalar("i8")) if is_bool else as_numpys(value)
        if not value.type.is_complex and name in PARTS:
            attribute = ast.copy_location(ast.Attribute(node.args[0], name, ast.Load()), node)
            return part(expressions, attribute, value)
        if not value.type.is_complex:
            kind = promote(value.type, COMPLEX)
            value = Value(value.as_type(kind), kind)
        found = method(value, name)
        return found if name in PARTS else as_numpys(found)
    if len(node.args) != 1 or node.keywords:
        return None
    if getattr(cmath, name, None) is function:
        value = expressions.scalar(node.args[0])
        return NOTHING if value.type == UNKNOWN else method(Value(value.as_type(COMPLEX), COMPLEX), name)
    if not is_numpys and function is not builtins.abs:
        return None
    value = expressions.value(node.args[0])
    if not isinstance(value.type, Scalar) or not value.type.is_complex:
        return None
    return method(value, name) if function is builtins.abs else as_numpys(method(value, name))


def _made(expressions, node):
    """complex(x), complex(x, y)."""
    if not 1 <= len(node.args) <= 2 or node.keywords:
        expressions.fail(node, "complex takes a real and an imaginary part by position")
    values = [expressions.scalar(each) for each in node.args]
    if UNKNOWN in [value.type for value in values]:
        return NOTHING
    if all(value.is_constant for value in values):
        return constant(complex(*(value.constant for value in values)))
    if len(values) == 1:
        return Value(values[0].as_type(COMPLEX), COMPLEX)
    if any(value.type.is_complex for value in values):
        expressions.fail(node, "the parts of a complex number are real here")
    return Value(f"{COMPLEX.name}({', '.join(value.as_type(FLOAT) for value in values)})", COMPLEX)


def accumulator(expressions, kind, symbol):
    """How a parallel loop reduces: the operator in its head, and a function that gives the update of a variable by a
    text. Structs are reduced by a function."""
    if not kind.is_complex:
        return symbol, lambda name, text: f"{name} {symbol}= {text};"
    own = f"_{'sum' if symbol == '+' else 'product'}_{kind.name}"
    own = expressions.unit.function(
        own, f"fn {own}(a: {kind.name}, b: {kind.name}) -> {kind.name} => a {symbol} b;")
    return own, lambda name, text: f"{name} = {own}({name}, {text});"


def elements(expressions, node):
    """The operand of z.real, z.imag and z.conj(), which work element by element; none of other nodes."""
    if isinstance(node, ast.Attribute) and node.attr in PARTS:
        return [node.value]
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CONJUGATES and \
            not node.args + node.keywords:
        return [node.func.value]
    return []


def check_real(value, what):
    """Raises where an array is one of complex numbers, for which there is nothing here."""
    name = value.type.element if isinstance(value.type, Array) else getattr(value.type, "name", "")
    if name in COMPLEXES:
        raise Unconvertible(f"{what} of complex numbers cannot be compiled: write a loop, or take .real and .imag")
