# SPDX-License-Identifier: Apache-2.0
"""Calls of the functions that are written here as Python, and the sorting that the language has itself."""

from __future__ import annotations

import ast
import os

from ..errors import TranslationError
from . import complex_numbers, functions, whole
from .matrix_functions import cond, eigh, eigvalsh, lstsq, matrix_rank, pinv, polyfit, svd, svdvals
from .number_functions import argsort, bincount, interp, nanmean, nansum, norm, ptp, sort, std, var
from .sample_functions import corrcoef, correlate, cov, histogram, nan_to_num, round_to, sinc
from .scalar_functions import heaviside, sign
from .types import FLOATS, INTEGERS, UNKNOWN, Array
from .values import NOTHING, Value

# Those that would have other results for complex numbers than NumPy's.
_OF_REALS = (var, std, ptp, norm, nansum, nanmean, cov, corrcoef, correlate, bincount, interp, histogram, sign,
             heaviside, nan_to_num, sinc, round_to, cond, eigh, eigvalsh, lstsq, matrix_rank, pinv, polyfit, svd,
             svdvals)
_FOLDER = os.path.dirname(__file__)


def _by_digits(expressions, node, own, value):
    """np.sort and np.argsort by the language's own sorting, which is for numbers and outside of prange loops; None for
    others. Zeros of both signs are equal for an order, as in NumPy."""
    kind = value.type
    if own not in (sort, argsort) or not isinstance(kind, Array) or kind.rank != 1 or expressions.is_sequential or \
            kind.element not in (*INTEGERS, *FLOATS):
        return None
    text = expressions.named(node, value).text if value.view is None else whole.new_array(expressions, node, value).text
    if own is argsort and kind.element in FLOATS:
        zero = ast.copy_location(ast.BinOp(node, ast.Add(), ast.Constant(0.0)), node)
        text = whole.new_array(expressions, node, expressions.given(
            ast.fix_missing_locations(zero), node, Value(text, kind))).text
    module = expressions.unit.module("sort")
    return Value(f"{module}.{'sorted' if own is sort else 'argsort'}({text})",
                 kind if own is sort else Array("i64", 1))


def call(expressions, node, own, nodes, values):
    """Calls one of these functions. An error in it is one of the call."""
    known = _by_digits(expressions, node, own, values[0]) if len(values) == 1 else None
    if known is not None:
        return known
    if own in _OF_REALS:
        for value in values:
            complex_numbers.check_real(value, own.__name__)
    try:
        return functions.of_function(expressions, node, own, nodes, values)
    except TranslationError as error:
        if os.path.dirname(getattr(error, "file", "")) != _FOLDER:
            raise
        expressions.fail(node, error.message)


def checked(expressions, node, name, value, rank):
    """Fails unless it is an array of at most so many dimensions. NOTHING if its type is not known yet."""
    if value.type == UNKNOWN:
        return NOTHING
    if not isinstance(value.type, Array):
        expressions.fail(node, f"{name} is for arrays, and this is {value.type}")
    if value.type.rank > rank:
        expressions.fail(node, f"{name} is for arrays of {rank} dimension{'s' * (rank > 1)} here, and this is an "
                               f"{value.type}: write a loop")
    return None
