#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Eigenvalues, singular values and least squares; medians and quantiles in prange loops; covariances of columns."""

import support
from support import np

import dhpvm
from dhpvm import prange

case = support.Cases(support.nearly)
R = np.random.default_rng(5)
TALL, WIDE, X = R.normal(size=(12, 7)), R.normal(size=(4, 9)), R.normal(size=30)
SQUARE, TWICE = TALL.T @ TALL, TALL[:, [0, 1, 0]].copy()
IMAGE = R.integers(0, 20, (14, 11)).astype(np.uint8)


@case(SQUARE)
@case(SQUARE + 1e3)
@case(np.eye(3))
@case(np.zeros((3, 3)))
@case(np.array([[2, 1], [1, 2]]))
def eigen(a):
    w, v = np.linalg.eigh(a)
    return w, np.abs(v @ np.diag(w) @ v.T - a).max() <= 1e-12 * max(1.0, np.abs(a).max()), np.linalg.eigvalsh(a), \
        np.abs(v.T @ v - np.eye(len(a))).max() < 1e-13


@case(TALL)
@case(WIDE)
@case(SQUARE)
@case(TALL * 1e200)
@case(TALL * 1e-200)
def singular(a):
    u, s, vt = np.linalg.svd(a, full_matrices=False)
    t = u @ np.diag(s) @ vt
    return s, np.abs(t - a).max() <= 1e-13 * np.abs(a).max(), np.abs(u.T @ u - np.eye(u.shape[1])).max() < 1e-13, \
        u.shape, vt.shape, np.linalg.svd(a, compute_uv=False)


@case(TALL)
@case(WIDE)
@case(TWICE)
@case(np.zeros((4, 2)))
def with_all_vectors(a):
    u, s, vt = np.linalg.svd(a)
    k = len(s)
    return np.round(s, 9) + 0.0, np.abs(u[:, :k] @ np.diag(s) @ vt[:k] - a).max() < 1e-13, \
        np.abs(u.T @ u - np.eye(len(u))).max() < 1e-13, np.abs(vt @ vt.T - np.eye(len(vt))).max() < 1e-13


@case(TALL, X[:12].copy())
@case(WIDE, X[:4].copy())
@case(TWICE, X[:12].copy())
@case(SQUARE, X[:7].copy())
def least_squares(a, b):
    x, left, rank, s = np.linalg.lstsq(a, b, rcond=None)
    return x, left, rank, s[:2].copy(), np.linalg.lstsq(a, b)[0], np.linalg.pinv(a), np.linalg.matrix_rank(a)


@case(TALL, R.normal(size=(12, 3)))
def of_several_sides(a, b):
    x, left, rank, _ = np.linalg.lstsq(a, b, rcond=None)
    return x, left, rank


@case(X, X[::-1].copy())
def polynomials(x, y):
    c = np.polyfit(x, y, 3)
    return c, np.polyfit(x, y, deg=1)[0], np.polyval(c, x), np.vander(x, 3), np.vander(x[:3], increasing=True), \
        np.linalg.cond(np.vander(x, 3))


@case(np.array([[1, 2], [3, 4]]), 5)
@case(np.array([[1.5, 2], [3, 4]]), 0)
def powers(a, n):
    return np.linalg.matrix_power(a, n)


@case(SQUARE.astype(np.float32))
def of_floats(a):
    w, _ = np.linalg.eigh(a)
    return w[-3:].copy(), np.linalg.svd(a)[1][:3].copy()


@case(IMAGE, 1)
@case(IMAGE, 2)
def median_of_windows(image, r):
    h, w = image.shape
    out = image.copy()
    for i in prange(r, h - r):
        for j in range(r, w - r):
            out[i, j] = np.median(image[i - r:i + r + 1, j - r:j + r + 1])
    return out


@case(X.round(1), 5)
@case(X.round(1), 6)
@case(X, 1)
@case(np.where(X > 1.2, np.nan, X), 4)
@case(np.zeros(20), 3)
def rolling(x, w):
    n = len(x) - w + 1
    m, q, p = np.empty(n), np.empty(n), np.empty(n)
    for i in prange(n):
        m[i] = np.median(x[i:i + w])
        q[i] = np.quantile(x[i:i + w], 0.3)
        p[i] = np.percentile(x[i:i + w], 90)
    return m, q, p


@case(TALL, X)
def covariances(a, x):
    return np.cov(a, rowvar=False), np.corrcoef(a, rowvar=False), np.cov(a), np.cov(a, ddof=0), \
        np.cov(x, x[::-1].copy(), bias=True), np.corrcoef(a)


def eigenvalues(a):
    return np.linalg.eigvalsh(a)


def singular_values(a):
    return np.linalg.svd(a)[1]


class Matrices(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_without_result(self):
        bad = np.array([[1.0, np.nan], [np.nan, 2.0]])
        for function in (eigenvalues, singular_values):
            self.assertRaisesRegex(ValueError, "do not converge", dhpvm.jit(function), bad)
        self.assertRaisesRegex(ValueError, "not square", dhpvm.jit(eigenvalues), np.ones((2, 3)))
        self.assertRaisesRegex(dhpvm.TranslationError, "complex", dhpvm.jit(eigenvalues), np.ones((2, 2), complex))


if __name__ == "__main__":
    support.main()
