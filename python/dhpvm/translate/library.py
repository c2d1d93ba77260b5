# SPDX-License-Identifier: Apache-2.0
"""The functions of NumPy and math that exist in Python: in array_functions.py, number_functions.py,
scalar_functions.py, sample_functions.py and turning_functions.py."""

from __future__ import annotations

import ast
import heapq
import math

import numpy as np

from . import axes, complex_numbers, functions, joins, observed, orders, products, views
from .array_functions import (argwhere, count_nonzero, diag, diagflat, diff, ediff1d, eye, fill_diagonal, flatnonzero,
                              meshgrid_x, meshgrid_y, nonzero_along, outer, ravel, reshape, roll, take_along, trace,
                              triangle, tril, triu)
from .number_functions import (allclose, argsort, array_equal, average, bincount, cumprod, cumsum, digitize,
                               fill, interp, interp_one, maximum_accumulate, median, minimum_accumulate,
                               nanmax, nanmean, nanmin, nanstd, nansum, nanvar, norm, percentile, percentiles, ptp,
                               quantile, quantiles, searchsorted, searchsorted_all, sort, std, trapezoid,
                               unique, unique_counts, unique_inverse, var)
from .equation_functions import cholesky, det, inv, solve
from .heap_functions import heapify, heappop, heappush, heappushpop, heapreplace
from .keyed import ORDERS
from .matrix_functions import (cond, eigh, eigvalsh, lstsq, matrix_power, matrix_rank, pinv, polyfit, svd, svdvals,
                               vander)
from .own_calls import call, checked
from .sample_functions import (add_at, convolve, corrcoef, correlate, cov, cross, delete, gradient, hamming,
                               hanning, histogram, histogram2d, histogram_density, histogram_of_edges, insert, isin,
                               logspace, nan_to_num, nanmedian, nanpercentile, pad, polyval, round_to, sinc)
from .scalar_functions import (arccosh, arcsinh, arctanh, comb, degrees, dist, factorial, fmax, fmin, gcd, heaviside,
                               invert, isclose, isqrt, lcm, log, logical_and, logical_not, logical_or, logical_xor,
                               math_acosh,
                               math_asinh, math_atanh, math_degrees, math_erfc, math_gamma, math_isclose, math_lgamma,
                               math_radians, negative, observed_acosh, observed_atanh, observed_gamma, observed_lgamma,
                               power, radians, sign, signbit)
from .set_functions import intersect1d, setdiff1d, union1d
from .sums_over_indices import einsum
from .turning_functions import (extract, flip, fliplr, flipud, kron, nanargmax, nanargmin, nancumsum, repeat, rot90,
                                sliding_window_view, tile)
from .window_functions import median_around, percentile_around, quantile_around
from .types import BOOL, INT, NONE, UNKNOWN, Array, List, Scalar, Tuple, float_of
from .values import NOTHING, Value, as_numpys, constant, tuple_of

# Their names in NumPy and math; the number of dimensions that the first argument may have, 0 if it is a number.
_FUNCTIONS = {
    np.take: (take_along, 2), np.flatnonzero: (flatnonzero, 1), np.count_nonzero: (count_nonzero, 3),
    np.ravel: (ravel, 3), np.roll: (roll, 2), np.diff: (diff, 3), np.outer: (outer, 1),
    np.eye: (eye, 0), np.identity: (eye, 0),
    np.tril: (tril, 2), np.triu: (triu, 2), np.digitize: (digitize, 1), math.isclose: (math_isclose, 0),
    np.trace: (trace, 2), np.diag: (diag, 2), np.diagflat: (diagflat, 2), np.average: (average, 3),
    np.fill_diagonal: (fill_diagonal, 2),
    np.var: (var, 3), np.std: (std, 3), np.ptp: (ptp, 3),
    np.linalg.norm: (norm, 3), np.nansum: (nansum, 3), np.nanmean: (nanmean, 3), np.array_equal: (array_equal, 2),
    np.allclose: (allclose, 3), np.cumprod: (cumprod, 1), np.bincount: (bincount, 1), np.sort: (sort, 1),
    np.argsort: (argsort, 1), np.median: (median, 3), np.searchsorted: (searchsorted, 1),
    getattr(np, "trapezoid", None) or np.trapz: (trapezoid, 1),
    np.nanmin: (nanmin, 3), np.nanmax: (nanmax, 3),
    np.quantile: (quantile, 3), np.percentile: (percentile, 3), np.unique: (unique, 3), np.flip: (flip, 3),
    np.flipud: (flipud, 3), np.fliplr: (fliplr, 3), np.tile: (tile, 2), np.repeat: (repeat, 2),
    np.rot90: (rot90, 2), np.kron: (kron, 2), np.extract: (extract, 2), np.nancumsum: (nancumsum, 1),
    np.nanargmin: (nanargmin, 3), np.nanargmax: (nanargmax, 3),
    np.minimum.accumulate: (minimum_accumulate, 1), np.maximum.accumulate: (maximum_accumulate, 1),
    math.radians: (math_radians, 0), math.degrees: (math_degrees, 0), math.gcd: (gcd, 0), math.isqrt: (isqrt, 0),
    math.factorial: (factorial, 0), math.lcm: (lcm, 0), math.comb: (comb, 0), math.asinh: (math_asinh, 0),
    math.acosh: (math_acosh, 0), math.atanh: (math_atanh, 0), math.gamma: (math_gamma, 0),
    math.lgamma: (math_lgamma, 0), math.erfc: (math_erfc, 0), math.dist: (dist, 0), pow: (power, 0),
    np.ediff1d: (ediff1d, 3),
    np.convolve: (convolve, 1), np.correlate: (correlate, 1),
    np.gradient: (gradient, 1), np.pad: (pad, 2), np.histogram: (histogram, 3), np.cov: (cov, 2),
    np.corrcoef: (corrcoef, 2), np.polyval: (polyval, 1), np.cross: (cross, 2), np.logspace: (logspace, 0),
    np.insert: (insert, 1), np.delete: (delete, 1), np.add.at: (add_at, 1), np.linalg.solve: (solve, 2),
    np.linalg.inv: (inv, 2), np.linalg.det: (det, 2), np.argwhere: (argwhere, 2), np.nanstd: (nanstd, 3),
    np.nanvar: (nanvar, 3), np.nanmedian: (nanmedian, 3), np.nanpercentile: (nanpercentile, 3), np.isin: (isin, 2),
    np.linalg.cholesky: (cholesky, 2), np.linalg.eigh: (eigh, 2), np.linalg.eigvalsh: (eigvalsh, 2),
    np.linalg.lstsq: (lstsq, 2), np.linalg.pinv: (pinv, 2), np.linalg.cond: (cond, 2),
    np.linalg.matrix_rank: (matrix_rank, 2), np.linalg.matrix_power: (matrix_power, 2), np.vander: (vander, 1),
    np.polyfit: (polyfit, 1), getattr(np.linalg, "svdvals", svdvals): (svdvals, 2), np.hanning: (hanning, 0),
    np.hamming: (hamming, 0), np.histogram2d: (histogram2d, 1), np.intersect1d: (intersect1d, 3),
    np.setdiff1d: (setdiff1d, 3), np.union1d: (union1d, 3),
    np.lib.stride_tricks.sliding_window_view: (sliding_window_view, 1),
}
_HEAPS = {heapq.heappush: heappush, heapq.heappop: heappop, heapq.heapify: heapify, heapq.heapreplace: heapreplace,
          heapq.heappushpop: heappushpop}
_METHODS = {"squeeze": np.squeeze, "std": np.std, "var": np.var, "ravel": np.ravel, "flatten": np.ravel,
            "take": np.take, "trace": np.trace, "cumprod": np.cumprod, "diagonal": np.diag, "argsort": np.argsort,
            "repeat": np.repeat, "clip": np.clip, "ptp": np.ptp, "nonzero": np.nonzero, "searchsorted": np.searchsorted}
# np.shape(a) as a.shape.
_ATTRIBUTES = {np.shape: "shape", np.size: "size", np.ndim: "ndim"}
# Further results of np.unique, and of how many dimensions the array may be.
_UNIQUE = {"return_counts": (unique_counts, 3), "return_inverse": (unique_inverse, 1)}
# Those that work element by element.
ELEMENTS = {np.sign: sign, np.negative: negative, np.heaviside: heaviside, np.logical_and: logical_and,
            np.logical_or: logical_or, np.logical_xor: logical_xor,
            np.logical_not: logical_not, np.isclose: isclose, np.radians: radians, np.deg2rad: radians,
            np.degrees: degrees, np.rad2deg: degrees, np.nan_to_num: nan_to_num, np.sinc: sinc,
            np.round: round_to, np.around: round_to, np.fmax: fmax, np.fmin: fmin, np.invert: invert,
            np.arcsinh: arcsinh, np.arccosh: arccosh, np.arctanh: arctanh, np.gcd: gcd, np.lcm: lcm,
            np.signbit: signbit}
# Those that are computed in the type of a float.
_OF_REALS = (np.radians, np.deg2rad, np.degrees, np.rad2deg, np.arcsinh, np.arccosh, np.arctanh)
# In a `try`: see observed.py.
_OBSERVED = {math.gamma: observed_gamma, math.lgamma: observed_lgamma, math.acosh: observed_acosh,
             math.atanh: observed_atanh}
# In prange loops, of all elements.
_AROUND = {np.median: median_around, np.quantile: quantile_around, np.percentile: percentile_around}
_ALONG_AXIS = (np.std, np.var, np.median, np.quantile, np.percentile, np.average, np.linalg.norm, np.count_nonzero)


def is_of_elements(function):
    """Whether it is a function that is applied to each element of arrays."""
    return callable(function) and getattr(function, "__hash__", None) is not None and function in ELEMENTS


def of_call(expressions, node, function):
    """The value of a call of a function that is written here; None for other functions."""
    if not callable(function) or getattr(function, "__hash__", None) is None:
        return None
    if function in ELEMENTS:
        nodes, values = functions.arguments(expressions, node, ELEMENTS[function])
        _check_numbers(expressions, node, function, [value.type for value in values])
        if function in _OF_REALS:
            values = [value if value.type == UNKNOWN else Value(value.as_type(float_of(value.type)),
                                                                float_of(value.type)) for value in values]
        value = call(expressions, node, ELEMENTS[function], nodes, values)
        return as_numpys(value)
    if function in ORDERS:
        return call(expressions, node, function, *functions.arguments(expressions, node, function))
    if function in _HEAPS:
        return _on_heap(expressions, node, _HEAPS[function])
    if function in _ALONG_AXIS and "keepdims" in [each.arg for each in node.keywords]:
        return _with_kept_axis(expressions, node, function)
    if function is sort or function is argsort:  # of the functions that are written here
        return call(expressions, node, function, node.args, [expressions.value(each) for each in node.args])
    if function is math.log and len(node.args) == 2:
        return call(expressions, node, log, node.args, [expressions.scalar(each) for each in node.args])
    if function in (np.nonzero, np.where) and len(node.args) == 1 and not node.keywords:
        value = expressions.value(node.args[0])
        failed = checked(expressions, node, "nonzero", value, 2)
        if failed is not None:
            return failed
        if value.type.rank == 1:
            return tuple_of([call(expressions, node, flatnonzero, node.args, [value])])
        return tuple_of(call(expressions, node, nonzero_along, [*node.args, node], [value, constant(axis)])
                        for axis in (0, 1))
    if function is np.roll and _several_shifts(expressions, node):
        return _rolled(expressions, node)
    if function is np.meshgrid:
        return _meshgrid(expressions, node)
    if function is np.interp:
        nodes, values = functions.arguments(expressions, node, interp)
        own = interp if isinstance(values[0].type, Array) else interp_one
        return call(expressions, node, own, nodes, values)
    if function in _AROUND and expressions.is_sequential and not any(each.arg == "axis" for each in node.keywords):
        nodes, values = functions.arguments(expressions, node, _AROUND[function], expressions.index)
        return checked(expressions, node, function.__name__, values[0], 3) or call(
            expressions, node, _AROUND[function], nodes, values)
    if function in (np.quantile, np.percentile):
        own = _FUNCTIONS[function][0]
        nodes, values = functions.arguments(expressions, node, own, expressions.index)
        if isinstance(values[0].type, Array) and values[0].type.element == "bool":
            expressions.fail(node, f"{function.__name__} of bools, which NumPy has not either: use x.astype(float)")
        if isinstance(values[1].type, Array):
            own = quantiles if own is quantile else percentiles
        return call(expressions, node, own, nodes, values)
    if function is np.searchsorted:
        nodes, values = functions.arguments(expressions, node, searchsorted, expressions.index)
        if isinstance(values[1].type, Array):
            return checked(expressions, node, "searchsorted", values[1], 1) or call(
                expressions, node, searchsorted_all, nodes, values)
    if function is np.einsum and node.args:
        return einsum(expressions, node)
    if function is np.linalg.svd:
        return _svd(expressions, node)
    if function is np.lexsort:
        return orders.lexsort(expressions, node)
    if function is np.inner or function is np.vdot:
        return _inner(expressions, node)
    if function in joins.JOINED:
        return joins.joined(expressions, node, function)
    if function is np.expand_dims and len(node.args) + len(node.keywords) == 2:
        return axes.with_axis(expressions, node)
    if function is np.squeeze:
        return axes.squeezed(expressions, node)
    if function is np.reshape and len(node.args) == 2:
        return _reshaped(expressions, node, node.args[0], node.args[1:])
    if function in (np.eye, np.identity) and "dtype" in [each.arg for each in node.keywords]:
        return _as_dtype(expressions, node)
    if function is np.unravel_index and len(node.args) == 2 and not node.keywords:
        return _unravelled(expressions, node)
    if function in (np.triu_indices, np.tril_indices) and not node.keywords and 1 <= len(node.args) <= 3:
        n, k, m = ([expressions.scalar(each) for each in node.args] + [constant(0)] * 2)[:3]
        given = [n, k, m if len(node.args) == 3 else n, constant(function is np.triu_indices)]
        return tuple_of(call(expressions, node, triangle, [node] * 5, [*given, constant(axis)]) for axis in (0, 1))
    if function is np.transpose and len(node.args) == 2 and not node.keywords or (
            function in (np.swapaxes, np.moveaxis)):
        return axes.permuted(expressions, node, expressions.value(node.args[0]), node.args[1:], function)
    if function is np.transpose and not node.keywords and len(node.args) == 1:
        return expressions.value(ast.copy_location(ast.Attribute(node.args[0], "T", ast.Load()), node))
    if function in _ATTRIBUTES and len(node.args) == 1 and not node.keywords:
        attribute = ast.Attribute(node.args[0], _ATTRIBUTES[function], ast.Load())
        return expressions.value(ast.copy_location(attribute, node))
    if function not in _FUNCTIONS:
        return None
    own, rank = _FUNCTIONS[function]
    if function in _OBSERVED and observed.catches(expressions, ValueError, OverflowError):
        own = _OBSERVED[function]
    name = own.__name__
    if own in (sort, argsort):  # is stable, of whatever kind
        return orders.ordered(expressions, node, own)
    asked = [each.arg for each in node.keywords] if own is unique else []
    if len(asked) == 1 and asked[0] in _UNIQUE and expressions.known_test(node.keywords[0].value):
        own, rank = _UNIQUE[asked[0]]
        node = _without(node, asked[0])
    density = [each for each in node.keywords if each.arg == "density"] if own is histogram else []
    if density:
        node = _without(node, "density")
        own = histogram_density if expressions.known_test(density[0].value) else histogram
    nodes, values = functions.arguments(expressions, node, own, expressions.index)
    if own is histogram and isinstance(values[1].type, Array):
        own = histogram_of_edges
    if not rank or (own is digitize and isinstance(values[0].type, Scalar)):
        return call(expressions, node, own, nodes, values)
    _check_ranks(expressions, node, own, [value.type for value in values])
    if own in (ediff1d, gradient, cross) and getattr(values[0].type, "element", "") == "bool":
        expressions.fail(node, f"NumPy has no - of bools, and so no {name} of them: write {name} of x.astype(int)")
    return checked(expressions, node, name, values[0], rank) or call(expressions, node, own, nodes, values)


def _check_numbers(expressions, node, function, kinds):
    """Raises where NumPy has no such function of these numbers."""
    if function in (np.negative, np.sign, np.round, np.around) and kinds[0] == BOOL:
        instead = "~a" if function is np.negative else f"np.{function.__name__} of x.astype(int)"
        expressions.fail(node, f"np.{function.__name__} is for numbers, and this is bool: write {instead}")
    if function in (np.gcd, np.lcm) and any(
            kind == BOOL or kind.is_float or kind.is_complex for kind in kinds if kind != UNKNOWN):
        expressions.fail(node, f"np.{function.__name__} is for integers: write np.{function.__name__} of x.astype(int)")


def _several_shifts(expressions, node):
    given = [*node.args[1:], *(each.value for each in node.keywords)]
    return len(given) == 2 and any(expressions.value(each).items for each in given)


def _rolled(expressions, node):
    """np.roll(a, (1, -1), axis=(0, 1)): by one after the other."""
    nodes, values = functions.arguments(expressions, node, roll)
    shifts, axes_of = (value.items or (value,) for value in values[1:])
    if len(shifts) == 1 or len(axes_of) == 1:
        shifts, axes_of = shifts * len(axes_of), axes_of * len(shifts)
    if len(shifts) != len(axes_of):
        expressions.fail(node, "as many shifts as axes are needed")
    found = values[0]
    for shift, axis in zip(shifts, axes_of):
        failed = checked(expressions, node, "roll", found, 2)
        if failed is not None:
            return failed
        found = call(expressions, node, roll, nodes, [found, shift, axis])
    return found


def _meshgrid(expressions, node):
    """np.meshgrid(x, y), and with indexing="ij", where x goes along the rows."""
    order = [getattr(each.value, "value", None) for each in node.keywords if each.arg == "indexing"]
    if len(node.args) != 2 or len(order) < len(node.keywords) or order not in ([], ["xy"], ["ij"]):
        expressions.fail(node, "np.meshgrid takes two arrays, and indexing='xy' or 'ij' here")
    values = [expressions.value(each) for each in node.args]
    failed = [checked(expressions, node, "meshgrid", value, 1) for value in values]
    if any(failed):
        return next(filter(None, failed))
    if order == ["ij"]:
        return tuple_of(call(expressions, node, own, node.args[::-1], values[::-1]) for own in (meshgrid_y, meshgrid_x))
    return tuple_of(call(expressions, node, own, node.args, values) for own in (meshgrid_x, meshgrid_y))


def _without(node, name):
    """The call without this keyword."""
    return ast.copy_location(ast.Call(node.func, node.args, [each for each in node.keywords if each.arg != name]), node)


def _with_kept_axis(expressions, node, function):
    """np.std(a, axis=1, keepdims=True)."""
    kept = next(each for each in node.keywords if each.arg == "keepdims")
    result = of_call(expressions, _without(node, "keepdims"), function)
    if UNKNOWN == result.type or not expressions.known_test(kept.value):
        return result
    asked = [expressions.scalar(each) for each in (
        *node.args[1:], *(each.value for each in node.keywords if each.arg == "axis"))]
    kind = expressions.value(node.args[0]).type if node.args else None
    if not asked or not asked[0].is_constant or not isinstance(result.type, Array) or result.type.rank != kind.rank - 1:
        expressions.fail(node, "keepdims is for arrays of two and three dimensions with a constant axis=..")
    return views.with_new_axis(result, asked[0].constant % kind.rank)


def _on_heap(expressions, node, own):
    """heapq.heappush(heap, x) and its kin."""
    nodes, values = functions.arguments(expressions, node, own)
    if not isinstance(values[0].type, List) and values[0].type != UNKNOWN:
        expressions.fail(node, f"a heap is a list that is made in the function, and this is {values[0].type}: write "
                               "heap = [], or heap = list(x)")
    return call(expressions, node, own, nodes, values)


def _svd(expressions, node):
    """np.linalg.svd(a), with compute_uv=False the singular values alone."""
    asked = [each.value for each in node.keywords if each.arg == "compute_uv"]
    known = expressions.known_test(asked[0]) if asked else True
    if known is None:
        expressions.fail(node, "compute_uv is True or False here")
    if not known:
        node = ast.copy_location(ast.Call(node.func, node.args[:1], []), node)
    own = svd if known else svdvals
    nodes, values = functions.arguments(expressions, _without(node, "compute_uv"), own)
    return checked(expressions, node, "svd", values[0], 2) or call(expressions, node, own, nodes, values)


def _inner(expressions, node):
    """np.inner(a, b), np.vdot(a, b) of one dimension."""
    if len(node.args) != 2 or node.keywords:
        expressions.fail(node, f"np.{node.func.attr} takes two arrays" if isinstance(node.func, ast.Attribute) else
                         "a product takes two arrays")
    values = [expressions.index(each) for each in node.args]
    for value in values:
        failed = checked(expressions, node, "this product", value, 1)
        if failed is not None:
            return failed
        complex_numbers.check_real(value, "this product")
    return products.product(expressions, node, *values)


def _check_ranks(expressions, node, own, kinds):
    """Raises where there is nothing for arrays of these dimensions."""
    if not isinstance(kinds[0], Array):
        return
    if own in (tril, triu, trace, fliplr, rot90) and kinds[0].rank == 1:
        expressions.fail(node, f"{own.__name__} is for arrays of 2 dimensions")
    if own is norm and kinds[0].rank > 1 and kinds[1] != NONE and kinds[2] == NONE:
        expressions.fail(node, "the norm of a matrix is a root of a sum of squares here: leave out ord, or name the "
                               "axis of its rows or columns")
    if own is diff and kinds[0].rank > 1 and any(kind not in (NONE, UNKNOWN) for kind in kinds[3:]):
        expressions.fail(node, "prepend and append are for arrays of one dimension here: join them first, by "
                               "np.concatenate((b, a))")
    if own is average and kinds[2] not in (NONE, UNKNOWN) and getattr(kinds[2], "rank", 0) != kinds[0].rank and (
            kinds[0].rank != 2 or kinds[1] == NONE or getattr(kinds[2], "rank", 0) != 1):
        expressions.fail(node, "the weights of an average are an array of the same shape here, or one for each row or "
                               "column of two dimensions, with axis=..")
    if own in (median, quantile, percentile) and kinds[0].rank == 3 and kinds[-1] != NONE:
        expressions.fail(node, f"{own.__name__} along an axis is for arrays of 2 dimensions here: write a loop")


def _unravelled(expressions, node):
    """np.unravel_index(k, a.shape)."""
    place, shape = expressions.scalar(node.args[0]), expressions.value(node.args[1])
    if UNKNOWN in (place.type, shape.type):
        return NOTHING
    if not shape.items:
        expressions.fail(node, "np.unravel_index takes an index and a shape, which is a tuple")
    place, found = expressions.statements.kept(place, node), []
    for position, size in enumerate(shape.items):
        behind = " * ".join(item.as_type(INT) for item in shape.items[position + 1:])
        index = f"({place.as_type(INT)} / ({behind}))" if behind else place.as_type(INT)
        found.append(Value(index if position == 0 else f"({index} % {size.as_type(INT)})", Scalar("i64")))
    return tuple_of(found)


def _as_dtype(expressions, node):
    """np.eye(n, dtype=int), as np.eye(n).astype(int)."""
    dtype = next(each.value for each in node.keywords if each.arg == "dtype")
    call = ast.Call(ast.Attribute(_without(node, "dtype"), "astype", ast.Load()), [dtype], [])
    return expressions.named(node, expressions.value(ast.fix_missing_locations(ast.copy_location(call, node))))


def flat(expressions, node, value):
    """All elements in their order."""
    return call(expressions, node, ravel, [node], [value])


def running_sums(expressions, node, value, axis):
    """np.cumsum(a, axis=0)."""
    if value.type.rank > 2 or not -2 <= axis < 2:
        expressions.fail(node, "cumsum along an axis is for arrays of two dimensions here: write a loop")
    return call(expressions, node, cumsum, [node, node], [value, constant(axis % 2)])


def of_method(expressions, node):
    """The value of a.std() and its kin; None for other methods."""
    name = node.func.attr
    if name == "reshape":
        return _reshaped(expressions, node, node.func.value, node.args)
    if name not in _METHODS:
        return None
    as_call = ast.copy_location(ast.Call(node.func, [node.func.value, *node.args], node.keywords), node)
    return of_call(expressions, as_call, _METHODS[name])


def in_place(expressions, node, array):
    """a.sort() and a.fill(x)."""
    if views.base_of(node.func.value) is None:
        expressions.fail(node, f"{node.func.attr} is for an array that has a name")
    if node.func.attr == "sort":
        return orders.sorted_in_place(expressions, node, array)
    if node.keywords or len(node.args) != 1:
        expressions.fail(node, "fill takes a number")
    return checked(expressions, node, "fill", array, 3) or call(
        expressions, node, fill, [node.func.value, *node.args], [array, expressions.scalar(node.args[0])])


def _reshaped(expressions, node, array, given):
    """a.reshape(n, m), a.reshape((n, m)): elements in their order, as a new array."""
    sizes = given[0].elts if len(given) == 1 and isinstance(given[0], (ast.Tuple, ast.List)) else given
    if not 1 <= len(sizes) <= 3 or node.keywords:
        expressions.fail(node, "reshape takes one to three sizes by position here")
    values = [expressions.value(each) for each in [array, *sizes]]
    if UNKNOWN in [value.type for value in values]:
        return NOTHING
    if len(sizes) == 1 and isinstance(values[1].type, Tuple) and values[1].items:
        values[1:] = values[1].items
        sizes = [sizes[0]] * len(values[1:])
    ones = [i for i, value in enumerate(values[1:]) if value.is_constant and value.constant == 1]
    if ones and len(ones) < len(sizes) and checked(expressions, node, "reshape", values[0], 3) is None:
        # Dimensions of size 1 stretch, as those that are written as None.
        left = [each for i, each in enumerate(sizes) if i not in ones]
        result = call(expressions, node, reshape, [array, *left, *[node] * (3 - len(left))],
                      [values[0], *(value for i, value in enumerate(values[1:]) if i not in ones),
                       *[constant(None)] * (3 - len(left))])
        result = result if result.type == UNKNOWN else expressions.statements.kept(result, node)
        for at in ones if result.type != UNKNOWN else ():
            result = views.with_new_axis(result, at)
        return result
    if checked(expressions, node, "reshape", values[0], 3) is None:
        for size, value in zip(sizes, values[1:]):
            if not isinstance(value.type, Scalar) or not value.type.is_integer:
                expressions.fail(size, f"a size is an integer, and this is {value.type}")
    missing = [constant(None)] * (3 - len(sizes))
    return call(expressions, node, reshape, [array, *sizes, *missing], values + missing)


# ---- Copies of what NumPy has as a view.

_SHARING = {"ascontiguousarray": np.ascontiguousarray, "reshape": np.reshape, "ravel": np.ravel, "diagonal": np.diag,
            "real": np.real, "imag": np.imag, "sliding_window_view": np.lib.stride_tricks.sliding_window_view}
# Those whose copies functions may return: what Python writes to these is written to nothing else.
_TURNED = (np.flip, np.flipud, np.fliplr, np.rot90)


def shared_array(expressions, node, is_returned=False):
    """The name of the array whose memory a.reshape(..) and its kin may be in NumPy, where it is a copy here; else
    None."""
    is_shared = False
    while isinstance(node, (ast.Subscript, ast.Attribute, ast.Call)):
        if not isinstance(node, ast.Call):
            is_shared |= isinstance(node, ast.Attribute) and node.attr in complex_numbers.PARTS
            node = node.value
            continue
        try:
            function = expressions.source.meaning(node.func, expressions.scope.names())
            given = node.args[0] if node.args else None
        except LookupError:
            function = _SHARING.get(getattr(node.func, "attr", ""))
            given = getattr(node.func, "value", None)
        sharing = [*_SHARING.values(), *(() if is_returned else _TURNED)]
        if not any(function is each for each in sharing):
            return None
        if function is np.diag and getattr(expressions.value(given).type, "rank", 2) == 1:
            return None  # a matrix with this diagonal
        node, is_shared = given, True
    return node if is_shared and isinstance(node, ast.Name) else None
