# SPDX-License-Identifier: Apache-2.0
"""What Python raises where a number has no result, in a `try` that would catch it. Elsewhere the result is nan or inf:
so nothing else pays for the tests."""

from __future__ import annotations

# The functions of math whose infinite results are an OverflowError; those of others are a ValueError.
_GROWING = ("exp", "exp2", "expm1", "sinh", "cosh")
_CHECKED = (*_GROWING, "sqrt", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "pow", "fmod")

_UNARY = """fn _observed_{0}(x: f64) -> f64 {{
    let r = {1}.{0}(x);
    assert(r == r || x != x, "ValueError: math domain error");
    assert(r - r == 0.0 || x - x != 0.0, "{2}");
    return r;
}}"""
_POW = """fn _observed_pow(x: f64, y: f64) -> f64 {{
    let r = {}.pow(x, y);
    let is_finite = x - x == 0.0 && y - y == 0.0;
    assert(r == r || x != x || y != y, "ValueError: math domain error");
    assert(r - r == 0.0 || !is_finite || x != 0.0, "ValueError: math domain error");
    assert(r - r == 0.0 || !is_finite, "OverflowError: math range error");
    return r;
}}"""
_FMOD = """fn _observed_fmod(x: f64, y: f64) -> f64 {
    assert((x - x == 0.0 && y != 0.0) || x != x || y != y, "ValueError: math domain error");
    return x % y;
}"""


def catches(expressions, *kinds):
    """Whether an exception of one of these classes would be caught."""
    return any(map(expressions.statements.catches, kinds))


def name_of(expressions, name):
    """The function for this one of math that raises what Python raises; None where it would not be caught."""
    if name not in _CHECKED or not catches(expressions, ValueError, OverflowError):
        return None
    if name == "fmod":
        return expressions.unit.function("_observed_fmod", _FMOD)
    module = expressions.unit.module("math")
    error = "OverflowError: math range error" if name in _GROWING else "ValueError: math domain error"
    text = _POW.format(module) if name == "pow" else _UNARY.format(name, module, error)
    return expressions.unit.function(f"_observed_{name}", text)


def to_integer(expressions, value, text):
    """The text of a float that becomes an integer of Python's own."""
    if not value.type.is_float or not catches(expressions, ValueError, OverflowError):
        return text
    return f"{expressions.unit.helper('observed_to_integer', value.type.name)}({text})"
