# SPDX-License-Identifier: Apache-2.0
"""Products of vectors and matrices: a @ b, np.dot, np.matmul."""

from __future__ import annotations

import sys

from . import complex_numbers
from .kernels import DIFFERENT, call_of
from .types import BOOL, UNKNOWN, Array, Scalar, literal, promote
from .values import NOTHING


def product(expressions, node, left, right):
    """The product of arrays of one or two dimensions. Each element is a sum in the order of the indices."""
    if UNKNOWN in (left.type, right.type):
        return NOTHING
    for value in (left, right):
        if not isinstance(value.type, Array) or value.type.rank > 2:
            expressions.fail(node, f"a product is one of arrays with 1 or 2 dimensions, and this is "
                                   f"{value.type}")
    are_bools = left.type.element == right.type.element == "bool"
    kind = BOOL if are_bools else promote(Scalar(left.type.element), Scalar(right.type.element))
    rank = left.type.rank + right.type.rank - 2
    if expressions.is_sequential and rank:
        expressions.fail(node, "a prange loop cannot make arrays: write the loops")
    # Where it is read for each row and column, an expression is computed once.
    left, right = (expressions.named(node, value) if rank else value for value in (left, right))

    def build(kernel):
        rows, columns = kernel.shape(left), kernel.shape(right)
        if rows[-1] != columns[0]:
            kernel.check(f"{rows[-1]} == {columns[0]}", DIFFERENT)
        start = literal(0, kind.name)

        def term(before, behind):
            return f"{kernel.element(left, [*before, 'n']).as_type(kind)} {'&&' if are_bools else '*'} " \
                   f"{kernel.element(right, ['n', *behind]).as_type(kind)}"

        if not rank and are_bools:  # any of them
            kernel.lines.append("var s = 0;")
            kernel.loop([rows[0]], lambda indices: [
                f"let n = {indices[0]};", f"s |= (({term([], [])}) as i64);"], "|: s")
            return kind, "s != 0"
        if not rank:
            kernel.lines.append(f"var s: {kind.name} = {start};")
            operator, update = complex_numbers.accumulator(expressions, kind, "+")
            kernel.loop([rows[0]], lambda indices: [
                f"let n = {indices[0]};", update("s", term([], []))], f"{operator}: s")
            return kind, "s"

        def updated(product):
            return f"s = s || {product};" if are_bools else f"s += {product};"

        result, outer = Array(kind.name, rank), rows[:-1] + columns[1:]
        kernel.lines.append(f"let r = {result.text}({', '.join(outer)});")
        kernel.loop(outer, lambda indices: [
            f"var s: {kind.name} = {start};",
            f"for n in 0..{rows[-1]} {{ {updated(term(indices[:len(rows) - 1], indices[len(rows) - 1:]))} }}",
            f"r[{', '.join(indices)}] = s;"])
        return result, "r"

    return call_of(expressions, node, build)


def of_call(expressions, node, function):
    """np.dot(a, b) and np.matmul(a, b); None for other functions."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not any(function is each for each in (numpy.dot, numpy.matmul)):
        return None
    if len(node.args) != 2 or node.keywords:
        expressions.fail(node, "a product takes two arrays")
    return product(expressions, node, *(expressions.value(each) for each in node.args))
