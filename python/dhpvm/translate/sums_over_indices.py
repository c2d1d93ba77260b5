# SPDX-License-Identifier: Apache-2.0
"""np.einsum, as a product of matrices or as a sum over axes of a product: its arrays have up to three indices."""

from __future__ import annotations

import ast
import re

import numpy as np


def einsum(expressions, node):
    """np.einsum("ij,jk->ik", a, b)."""
    expressions.source.names["'numpy"] = np
    subscripts, arrays = node.args[0], node.args[1:]
    text = subscripts.value.replace(" ", "") if isinstance(subscripts, ast.Constant) and isinstance(
        subscripts.value, str) else ""
    found = re.fullmatch(r"([a-zA-Z]+(?:,[a-zA-Z]+)*)(?:->([a-zA-Z]*))?", text)
    if found is None or node.keywords:
        expressions.fail(node, "einsum takes a text such as 'ij,jk->ik', and the arrays, here")
    if any(getattr(expressions.value(each).type, "element", "") == "bool" for each in arrays):
        expressions.fail(node, "NumPy's sums of bools are bools in einsum: write x.astype(int)")
    given = found[1].split(",")
    if len(given) != len(arrays):
        expressions.fail(node, f"einsum has {len(given)} lists of indices for {len(arrays)} arrays")
    letters = "".join(given)
    result = found[2] if found[2] is not None else "".join(
        sorted(each for each in set(letters) if letters.count(each) == 1))
    if given in (["aa"], [letters[0] * 2]) and result == "":
        return expressions.value(_at(node, _numpy_call("trace", arrays)))
    order = result + "".join(each for each in dict.fromkeys(letters) if each not in result)
    if len(order) > 3 or len(set(result)) < len(result) or not set(result) <= set(letters) or any(
            len(set(each)) < len(each) for each in given):
        expressions.fail(node, "einsum has up to three indices here, each once for an array: write loops")
    for array, indices in zip(arrays, given):
        rank = getattr(expressions.value(array).type, "rank", len(indices))
        if rank != len(indices):
            expressions.fail(node, f"einsum has the indices '{indices}' for an array of {rank} dimensions")
    made = _matrices(arrays, given, result) or _products(arrays, given, result, order)
    return expressions.value(_at(node, made))


def _matrices(arrays, given, result):
    """a @ b, where two matrices have one index in common, and the result the two others; None for other sums."""
    if [len(each) for each in given] != [2, 2] or len(result) != 2 or len(set(given[0]) & set(given[1])) != 1:
        return None
    (summed,) = set(given[0]) & set(given[1])
    if summed in result:
        return None
    if result[0] in given[1]:
        arrays, given = arrays[::-1], given[::-1]
    left = arrays[0] if given[0][1] == summed else _transposed(arrays[0])
    right = arrays[1] if given[1][0] == summed else _transposed(arrays[1])
    return ast.BinOp(left, ast.MatMult(), right)


def _products(arrays, given, result, order):
    """The arrays with all indices as their axes, multiplied, and summed over those that the result does not have."""
    factors = []
    for array, indices in zip(arrays, given):
        wanted = [each for each in order if each in indices]
        if list(indices) != wanted:
            axes = ast.Tuple([ast.Constant(indices.index(each)) for each in wanted], ast.Load())
            array = _numpy_call("transpose", [array, axes])
        if len(indices) < len(order):
            places = [ast.Slice() if each in indices else ast.Constant(None) for each in order]
            array = ast.Subscript(array, ast.Tuple(places, ast.Load()), ast.Load())
        factors.append(array)
    made = factors[0]
    for each in factors[1:]:
        made = ast.BinOp(made, ast.Mult(), each)
    summed = list(range(len(result), len(order)))
    if summed and not result:
        return _numpy_call("sum", [made])
    if summed:
        axes = [ast.Constant(axis) for axis in summed]
        call = _numpy_call("sum", [made])
        call.keywords.append(ast.keyword("axis", axes[0] if len(axes) == 1 else ast.Tuple(axes, ast.Load())))
        return call
    return made if len(factors) > 1 else _numpy_call("copy", [made])


def _transposed(array):
    return ast.Attribute(array, "T", ast.Load())


def _numpy_call(name, arguments):
    """A call of this function of NumPy, by a name that nobody can write."""
    return ast.Call(ast.Attribute(ast.Name("'numpy", ast.Load()), name, ast.Load()), list(arguments), [])


def _at(node, made):
    return ast.fix_missing_locations(ast.copy_location(made, node))
