# SPDX-License-Identifier: Apache-2.0
"""Arrays of equal steps: np.arange and np.linspace, with the bits that NumPy gives."""

from __future__ import annotations

import ast
import sys

from . import dtypes
from .kernels import Kernel
from .types import BOOL, FLOAT, INT, UNKNOWN, Array, Scalar, literal, promote
from .values import NOTHING, Value


def of_call(expressions, node, function):
    """The array of such a call; None for other functions."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not (function is numpy.arange or function is numpy.linspace):
        return None
    if expressions.is_sequential:
        expressions.fail(node, "a prange loop cannot make arrays: make them before the loop")
    return (_arange if function is numpy.arange else _linspace)(expressions, node)


def _numbers(expressions, node, nodes):
    values = [expressions.scalar(each) for each in nodes]
    if any(value.type == BOOL or (value.type != UNKNOWN and value.type.is_complex) for value in values):
        expressions.fail(node, "real numbers are needed here")
    return None if UNKNOWN in [value.type for value in values] else values


def _arange(expressions, node):
    """np.arange(stop), np.arange(start, stop), np.arange(start, stop, step), also by name."""
    named = {each.arg: each.value for each in node.keywords}
    names = ("start", "stop", "step", "dtype") if len(node.args) != 1 or "stop" in named else ("stop",)
    given = dict(zip(names, node.args))
    if set(given) & set(named) or set(named) - {"start", "stop", "step", "dtype"} or len(node.args) > 4 or \
            "stop" not in {*given, *named}:
        expressions.fail(node, "np.arange takes start, stop, step and dtype here")
    given = {"start": ast.Constant(0), "step": ast.Constant(1), "dtype": None, **given, **named}
    asked = [given["dtype"]] if given["dtype"] is not None else []
    values = _numbers(expressions, node, [given[name] for name in ("start", "stop", "step")])
    if values is None:
        return NOTHING
    start, stop, step = values
    given = Scalar("i64")
    for value in (start, stop, step):
        given = promote(given, Scalar(value.type.name))
    kind = Scalar(dtypes.element(expressions, asked[0]) if asked else given.name)
    if kind == Scalar("bool") or (kind.is_integer and given.is_float):
        expressions.fail(node, f"np.arange of {given} numbers has no elements of type {kind}")
    kernel = Kernel(expressions, node)
    start, stop, step = (kernel.number(value) for value in (start, stop, step))
    if given.is_integer:
        size = f"{expressions.unit.helper('range_len', 'i64')}" \
               f"({start.as_type(INT)}, {stop.as_type(INT)}, {step.as_type(INT)})"
    else:
        math = expressions.unit.module("math")
        steps = f"(({stop.as_type(FLOAT)} - {start.as_type(FLOAT)}) / {step.as_type(FLOAT)})"
        size = f"{math}.max({math}.ceil({steps}) as i64, 0)"
    result = Array(kind.name, 1)
    second = f"({start.as_type(given)} + {step.as_type(given)})"
    kernel.lines += [f"let first: {kind.name} = {start.as_type(kind)};",
                     f"let second: {kind.name} = {Value(second, Scalar(given.name)).as_type(kind)};",
                     f"let r = {result.text}({size});"]
    index = Value("i", INT).as_type(kind)
    kernel.loop(["r.len"], lambda indices: [
        f"r[i] = if i == 1 {{ second }} else {{ first + {index} * (second - first) }};"])
    return kernel.call(result, "r")


def _linspace(expressions, node):
    """np.linspace(start, stop, num=50, endpoint=True)."""
    given = dict(zip(("start", "stop", "num"), node.args)) | {each.arg: each.value for each in node.keywords}
    endpoint = given.pop("endpoint", ast.Constant(True))
    if len(node.args) > 3 or set(given) - {"num"} != {"start", "stop"} or not isinstance(endpoint, ast.Constant):
        expressions.fail(node, "np.linspace takes start, stop, num, and endpoint=False here")
    values = _numbers(expressions, node, [given["start"], given["stop"]])
    size = expressions.integer(given["num"]) if "num" in given else "50"
    if values is None:
        return NOTHING
    if Scalar("f32") in [value.type for value in values]:
        expressions.fail(node, "np.linspace is for float64 here: write float(x)")
    kernel = Kernel(expressions, node)
    start, stop = (kernel.number(value).as_type(FLOAT) for value in values)
    size = kernel.text(size)
    kernel.check(f"{size} >= 0", "the number of samples is negative")
    zero = literal(0, "f64")
    steps = f"{expressions.unit.module('math')}.max({size}{' - 1' * bool(endpoint.value)}, 1)"
    kernel.lines += [f"let r = [f64]({size});", f"let steps = {steps} as f64;", f"let whole = {stop} - {start};",
                     "let step = whole / steps;"]
    element = f"if step != {zero} {{ (i as f64) * step + {start} }} else {{ (i as f64) / steps * whole + {start} }}"
    if endpoint.value:
        element = f"if i == {size} - 1 && i > 0 {{ {stop} }} else {{ {element} }}"
    kernel.loop([size], lambda indices: [f"r[i] = {element};"])
    return kernel.call(Array("f64", 1), "r")
