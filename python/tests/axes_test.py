#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Functions of NumPy along an axis, and what arrays of indices select and set."""

import numpy as np
import support

import dhpvm

random = np.random.default_rng(3)
case = support.Cases(fit=support.nearly)
SAMPLE, MATRIX, CUBE = random.random(50), random.random((5, 4)), random.random((3, 4, 5))
LABELS, GROUPS = random.integers(0, 3, 30), random.integers(0, 3, 30)
ORDER, COLUMNS = np.array([3, 0, -1]), np.array([1, 2, 0])


@case(MATRIX, CUBE, SAMPLE, MATRIX > 0.5)
def differences(m, t, x, b):
    return np.diff(m, axis=0), np.diff(m, axis=1), np.diff(m, n=2), np.diff(m), np.diff(t, axis=1), \
        np.diff(t, 1, 0), np.diff(x, 3), np.diff(b, axis=0), np.diff(b[0]), np.diff(m.astype(np.float32), axis=-2)


@case(MATRIX, CUBE, SAMPLE[:5])
def averages(m, t, w):
    return np.average(m), np.average(m, axis=0), np.average(m, axis=1), np.average(m, axis=0, weights=w), \
        np.average(m, 1, w[:4]), np.average(m, weights=m + 1), np.average(t, axis=2), np.average(t, axis=-2), \
        np.average(w, weights=w), np.average(m, axis=1, weights=m), np.average((m * 9).astype(int), axis=0)


@case(MATRIX, CUBE, SAMPLE)
def norms(m, t, x):
    return np.linalg.norm(m, axis=1, keepdims=True), np.linalg.norm(m), np.linalg.norm(x, 1), \
        np.linalg.norm(x, np.inf), np.linalg.norm(t, axis=2), np.linalg.norm(m, 1, axis=0), \
        np.linalg.norm(m, ord=2, axis=1), np.linalg.norm(m - m[0], axis=1)


@case(MATRIX, CUBE)
def deviations(m, t):
    return m.std(axis=0, keepdims=True), np.std(t, axis=0), t.var(axis=1), t.std(axis=2, ddof=1), \
        (m - m.mean(axis=1, keepdims=True)) / m.std(axis=1, keepdims=True), np.median(m, axis=1), \
        np.median(m, axis=0, keepdims=True)


@case(MATRIX, SAMPLE, LABELS)
def percentiles(m, x, labels):
    return np.percentile(m, 50, axis=0), np.percentile(m, [25, 75]), np.percentile(m, [25, 75], axis=0), \
        np.quantile(m, [0.1, 0.5, 0.9], axis=1), np.quantile(x, 0.3), np.percentile(labels, 90), \
        np.percentile(labels, [10, 30.5])


@case(MATRIX, CUBE, MATRIX > 0.5)
def counts(m, t, b):
    return np.count_nonzero(m > 0.5, axis=0), np.count_nonzero(b, axis=1), np.count_nonzero(t > 0.4, axis=2), \
        np.count_nonzero(b), np.count_nonzero(m[0] > 0.2)


@case(np.sort(SAMPLE), SAMPLE, LABELS)
def places(a, x, labels):
    return np.searchsorted(a, x, side="right"), np.searchsorted(a, x), np.searchsorted(a, 0.5, side="right"), \
        np.searchsorted(a, 0.5, "left"), np.digitize(x, a), np.digitize(x, a, right=True), np.digitize(0.4, a), \
        np.searchsorted(np.sort(labels), [1, 2], "right"), np.searchsorted([1, 2, 3], labels)


@case(SAMPLE, LABELS, MATRIX)
def histograms(x, labels, m):
    density, edges = np.histogram(x, bins=8, density=True)
    of_list, _ = np.histogram(x, bins=[0, 0.2, 0.5, 1])
    weighted, _ = np.histogram(labels, weights=labels * 0.5)
    in_range, _ = np.histogram(m, 5, (0, 1))
    both, _ = np.histogram(x, np.array([0, 0.2, 0.5]), density=True)
    return density, edges, of_list, weighted, in_range, both


@case(LABELS, GROUPS, SAMPLE[:30])
def orders(a, b, x):
    return np.lexsort((x, b, a)), np.lexsort((a, b)), np.inner(a, b), np.vdot(x, a), np.inner(x, x)


@case(SAMPLE[:6], SAMPLE[6:12], MATRIX)
def into_arrays(x, y, m):
    z, w, q = np.empty_like(x), np.zeros(5), np.zeros((5, 5))
    np.add(x, y, out=z)
    np.multiply(z, 2, out=z)
    np.sqrt(z, out=z)
    np.clip(z, 0.5, 1.5, out=z)
    m.clip(0.2, 0.8, out=m)
    np.sum(m, axis=1, out=w)
    np.dot(m, m.T, out=q)
    np.exp(x, out=y[:])
    return z, w, q, y


@case(SAMPLE[:6], SAMPLE[6:12], MATRIX)
def joined_by_brackets(x, y, m):
    return np.r_[0, x, 1, 2.5], np.c_[x, y], np.r_[x[1:], y[::2]], np.c_[m, m[:, 0]], np.append(x, 3)


@case(SAMPLE[:6], SAMPLE[6:12])
def dimensions_of_one(x, y):
    for i in range(2):
        k = x.reshape(-1, 1)
        k = k * 2
    d = x.reshape((6, 1))
    return x.reshape(-1, 1) * y, x.reshape(1, -1) + y.reshape(-1, 1), x.reshape(len(x), 1) - y.reshape(1, 6), \
        x.reshape(2, 1, 3) + x.reshape(2, 3), k.copy(), np.expand_dims(x, 1) * y, np.expand_dims(y, axis=0).copy(), \
        d.shape[1], d * y


# ---- What is set.

@case(np.arange(8.0), ORDER)
def sets_elements(a, order):
    a[order] = 5
    a[order] = order * 2
    a[order] += 1
    a[order] = a[1:4]
    a[order] = a[2:5] * 3
    a[order] = a[::-1][:3]
    a[[0, 1]] = [7, 8.5]
    return a


@case(MATRIX, ORDER, COLUMNS)
def sets_rows_and_columns(m, rows, columns):
    m[rows, columns] = 1
    m[rows, columns] += columns
    m[rows, 1] = 4
    m[rows, 2] = columns
    m[:, columns] = 9
    m[1:3, columns] = rows
    m[:, columns] += m[:, :3]
    m[rows] = 2
    m[rows] = np.arange(4.0)
    m[rows] = m[:3]
    m[rows] *= 2
    m[1, columns] = 5
    m[[2, 0]] = m[[0, 2]]
    m[m[:, 0] > 0.3, 1] = 0
    m[[0, 1], [1, 2]] = 7
    return m


@case(CUBE, COLUMNS)
def sets_in_three_dimensions(t, columns):
    t[0, columns, 1] = 7
    t[0, columns] = 8
    t[1, :, columns] = 3
    return t


@case(MATRIX, COLUMNS)
def lists_of_numbers(m, columns):
    m[0] = [1, 2, 3, 4.5]
    m[1, :3] = [9, 8, 7]
    m[2, columns] = [1, 2, 3]
    m[:3, 0] = (4, 5, 6)
    x = np.concatenate(([0.0], m[0], [1, 2]))
    return m, x, np.hstack(([1], columns)), np.append([0], columns), np.vstack(([1, 2, 3], columns))


def adds_a_half(a, order):
    a[order] += 0.5


class Axes(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_what_does_not_fit(self):
        with self.assertRaisesRegex(dhpvm.TranslationError, "does not fit into an array of int64"):
            dhpvm.jit(adds_a_half)(np.arange(8), ORDER)
        with self.assertRaisesRegex(ValueError, "as many values as indices"):
            dhpvm.jit(sets_elements)(np.arange(8.0), ORDER[:2])


if __name__ == "__main__":
    support.main()
