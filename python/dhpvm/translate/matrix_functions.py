# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues, singular values and least squares by Jacobi's rotations, as Python: all of them are compiled with the
functions that call them. See Golub and Van Loan, Matrix Computations, 8.5 and 8.6."""

import numpy as np

EPSILON = 2.220446049250313e-16
MOST_SWEEPS = 60  # it takes six to ten


def rotate_rows(m, p, q, c, s):
    for k in range(m.shape[1]):
        x, y = m[p, k], m[q, k]
        m[p, k] = c * x - s * y
        m[q, k] = s * x + c * y


def tangent_of(difference, product):
    """The tangent of the smaller angle whose rotation makes the product of two rows 0."""
    ratio = difference / (2.0 * product)
    root = np.sqrt(ratio * ratio + 1.0)
    return 1.0 / (ratio + root) if ratio >= 0.0 else 1.0 / (ratio - root)


def make_diagonal(m, v):
    """Rotates a symmetric matrix until it is diagonal, and the rows of v with it."""
    n = len(m)
    for _ in range(MOST_SWEEPS):
        largest = np.abs(m).max() if n > 0 else 0.0
        if not np.isfinite(largest):
            raise ValueError("the eigenvalues do not converge: the matrix has nan or inf")
        is_done = True
        for p in range(n):
            for q in range(p + 1, n):
                if abs(m[p, q]) <= 1e-3 * EPSILON * largest:
                    continue
                is_done = False
                t = tangent_of(m[q, q] - m[p, p], m[p, q])
                c = 1.0 / np.sqrt(t * t + 1.0)
                rotate_rows(m, p, q, c, t * c)
                for k in range(n):
                    x, y = m[k, p], m[k, q]
                    m[k, p] = c * x - t * c * y
                    m[k, q] = t * c * x + c * y
                rotate_rows(v, p, q, c, t * c)
        if is_done:
            return
    raise ValueError("the eigenvalues do not converge")


def eigh(a, UPLO="L"):
    n = len(a)
    if a.shape[1] != n:
        raise ValueError("the matrix is not square")
    m, v = np.empty((n, n)), np.eye(n)
    for i in range(n):
        for j in range(i + 1):
            m[i, j] = a[i, j] if UPLO == "L" else a[j, i]
            m[j, i] = m[i, j]
    make_diagonal(m, v)
    found = np.empty(n)
    for i in range(n):
        found[i] = m[i, i]
    order = np.argsort(found)
    kind = 1.0 * a.ravel()[:0]
    values, vectors = np.empty(n, kind.dtype), np.empty((n, n), kind.dtype)
    for i in range(n):
        values[i] = found[order[i]]
        for j in range(n):
            vectors[j, i] = v[order[i], j]
    return values, vectors


def eigvalsh(a, UPLO="L"):
    values, _ = eigh(a, UPLO)
    return values


def make_orthogonal(rows, v):
    """Rotates rows until each is orthogonal to all others, and the rows of v with them."""
    n = len(rows)
    for _ in range(MOST_SWEEPS):
        is_done = True
        for p in range(n):
            for q in range(p + 1, n):
                a, b, product = 0.0, 0.0, 0.0
                for k in range(rows.shape[1]):
                    x, y = rows[p, k], rows[q, k]
                    a += x * x
                    b += y * y
                    product += x * y
                if not np.isfinite(a + b):
                    raise ValueError("the singular values do not converge: the matrix has nan or inf")
                if abs(product) <= EPSILON * np.sqrt(a) * np.sqrt(b):
                    continue
                is_done = False
                t = tangent_of(b - a, product)
                c = 1.0 / np.sqrt(t * t + 1.0)
                rotate_rows(rows, p, q, c, t * c)
                rotate_rows(v, p, q, c, t * c)
        if is_done:
            return
    raise ValueError("the singular values do not converge")


def complete(rows, count):
    """Sets the rows from `count` on to what makes all of them orthogonal, and 1 long."""
    n, unit = rows.shape[1], 0
    for i in range(count, len(rows)):
        length = 0.0
        while not length > 0.5:
            for k in range(n):
                rows[i, k] = 0.0
            rows[i, unit % n] = 1.0
            unit += 1
            limit = 0.5 / np.sqrt(n) if unit <= n else 0.0
            for _ in range(2):  # once leaves the rounding of the first time
                for j in range(i):
                    product = 0.0
                    for k in range(n):
                        product += rows[i, k] * rows[j, k]
                    for k in range(n):
                        rows[i, k] -= product * rows[j, k]
            square = 0.0
            for k in range(n):
                square += rows[i, k] * rows[i, k]
            length = 1.0 if square > limit * limit else 0.0
        for k in range(n):
            rows[i, k] /= np.sqrt(square)


def decomposed(a):
    """Rows of left vectors, the singular values from the greatest on, and rows of right vectors, of a matrix that has
    no more columns than rows. Left vectors of values that are 0 are not set; the number of others comes last."""
    m, n = a.shape
    rows, v = np.empty((n, m)), np.eye(n)
    largest = 0.0
    for i in range(m):
        for j in range(n):
            rows[j, i] = a[i, j]
            largest = max(largest, abs(rows[j, i]))
    # So that no square is too large or too small.
    scale = 2.0 ** np.floor(np.log2(largest)) if 0.0 < largest and np.isfinite(largest) else 1.0
    for j in range(n):
        for i in range(m):
            rows[j, i] /= scale
    make_orthogonal(rows, v)
    lengths = np.empty(n)
    for j in range(n):
        lengths[j] = np.sqrt((rows[j] * rows[j]).sum())
    order = np.argsort(-lengths)
    left, right, count = np.zeros((n, m)), np.empty((n, n)), 0
    for i in range(n):
        length = lengths[order[i]]
        # The rest of a vector that is a sum of others has no direction.
        if length > EPSILON * m * lengths[order[0]]:
            count = i + 1
            for k in range(m):
                left[i, k] = rows[order[i], k] / length
        for k in range(n):
            right[i, k] = v[order[i], k]
    return left, lengths[order] * scale, right, count


def upright(a):
    """A copy of the matrix with no more columns than rows."""
    if a.shape[0] < a.shape[1]:
        return a.T * 1.0
    return a * 1.0


def svdvals(x):
    kind = 1.0 * x.ravel()[:0]
    _, values, _, _ = decomposed(upright(x))
    return values.astype(kind.dtype)


def svd(a, full_matrices=True):
    kind = 1.0 * a.ravel()[:0]
    m, n = a.shape
    is_wide = m < n
    left, values, right, count = decomposed(upright(a))
    height = max(m, n)
    rows = np.zeros((height if full_matrices else min(m, n), height))
    for i in range(count):
        for k in range(height):
            rows[i, k] = left[i, k]
    complete(rows, count)
    u = np.empty((m, m if is_wide or full_matrices else n), kind.dtype)
    vt = np.empty((n if full_matrices or not is_wide else m, n), kind.dtype)
    if is_wide:
        u[:] = right.T
        vt[:] = rows
    else:
        u[:] = rows.T
        vt[:] = right
    return u, values.astype(kind.dtype), vt


def least_squares(a, b, rcond):
    """The solution of least squares that is shortest, for each column of b; the rank and the singular values."""
    m, n = a.shape
    if len(b) != m:
        raise ValueError("a system of equations has as many right sides as rows")
    is_wide = m < n
    left, s, right, _ = decomposed(upright(a))
    rank = 0
    for i in range(len(s)):
        if s[i] > rcond * s[0]:
            rank += 1
    x = np.zeros((n, b.shape[1]))
    for j in range(b.shape[1]):
        for i in range(rank):
            product = 0.0
            for k in range(m):
                product += (right[i, k] if is_wide else left[i, k]) * b[k, j]
            for k in range(n):
                x[k, j] += product / s[i] * (left[i, k] if is_wide else right[i, k])
    return x, rank, s


def lstsq(a, b, rcond=None):
    kind = 1.0 * a.ravel()[:0] * b.ravel()[:0]
    m, n = a.shape
    limit = EPSILON * max(m, n)
    if rcond is not None and rcond >= 0:
        limit = rcond
    columns = np.empty((len(b), 1 if b.ndim == 1 else b.shape[-1]))
    if b.ndim == 1:
        columns[:, 0] = b
    if b.ndim == 2:
        columns[:] = b
    found, rank, values = least_squares(a, columns, limit)
    left_over = np.zeros(columns.shape[1] if rank == n and m > n else 0, kind.dtype)
    for j in range(len(left_over)):
        square = 0.0
        for i in range(m):
            difference = columns[i, j] * 1.0
            for k in range(n):
                difference -= a[i, k] * found[k, j]
            square += difference * difference
        left_over[j] = square
    if b.ndim == 1:
        return found[:, 0].astype(kind.dtype), left_over, rank, values.astype(kind.dtype)
    if b.ndim == 2:
        return found.astype(kind.dtype), left_over, rank, values.astype(kind.dtype)


def pinv(a, rcond=1e-15):
    kind = 1.0 * a.ravel()[:0]
    x, _, _ = least_squares(a, np.eye(len(a)), rcond)
    return x.astype(kind.dtype)


def matrix_rank(A, tol=None):
    _, s, _, _ = decomposed(upright(A))
    limit = s[0] * max(A.shape[0], A.shape[1]) * EPSILON
    if tol is not None:
        limit = tol
    return np.sum(s > limit)


def cond(x):
    _, s, _, _ = decomposed(upright(x))
    return s[0] / s[-1]


def vander(x, N=None, increasing=False):
    count = len(x)
    if N is not None:
        count = N
    m = np.ones((len(x), count), (x[:0] * np.int64(1)).dtype)
    for i in range(len(x)):
        for j in range(1, count):
            if increasing:
                m[i, j] = m[i, j - 1] * x[i]
            else:
                m[i, count - 1 - j] = m[i, count - j] * x[i]
    return m


def polyfit(x, y, deg):
    if len(x) == 0 or len(x) != len(y):
        raise ValueError("polyfit takes as many x as y, at least one")
    m, scale = np.empty((len(x), deg + 1)), np.zeros(deg + 1)
    for i in range(len(x)):
        power = 1.0
        for j in range(deg, -1, -1):
            m[i, j] = power
            scale[j] += power * power
            power *= x[i]
    scale = np.sqrt(scale)
    m /= scale
    columns = np.empty((len(y), 1))
    columns[:, 0] = y
    found, _, _ = least_squares(m, columns, len(x) * EPSILON)
    return found[:, 0] / scale


def matrix_power(a, n):
    left, power = abs(n), np.eye(len(a)).astype(a.dtype)
    square = a.copy()
    while left > 0:
        if left % 2 == 1:
            power = power @ square
        square = square @ square
        left //= 2
    return power
