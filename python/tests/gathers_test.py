# SPDX-License-Identifier: Apache-2.0
"""Arrays as indices in prange loops: y[i] = values @ x[columns]."""

import support
from support import np

import dhpvm
from dhpvm import prange

case = support.Cases(support.nearly)
R = np.random.default_rng(3)
ROW = np.array([0, 3, 3, 5, 8]).astype(np.uint32)
COL = np.array([1, 0, 3, 2, 2, 3, 0, 1]).astype(np.uint32)
VAL, X = R.random(8), R.random(4)


@case(ROW, COL, VAL, X)
@case(ROW, COL.astype(np.int64), VAL, X)
@case(ROW, COL.astype(np.int64) - 4, VAL, X)
@case(ROW, COL, VAL, R.random(8)[::2])
def spmv(A_row, A_col, A_val, x):
    y = np.empty(A_row.size - 1, A_val.dtype)
    for i in prange(A_row.size - 1):
        cols = A_col[A_row[i]:A_row[i + 1]]
        vals = A_val[A_row[i]:A_row[i + 1]]
        y[i] = vals @ x[cols]
    return y


@case(COL.astype(int).reshape(2, 4), X, R.random((2, 4)))
def gathered(index, x, w):
    out = np.zeros((2, 4))
    s = np.zeros((2, 4))
    for i in prange(2):
        out[i] = x[index[i]] * w[i]
        t = x[index[i]]
        t[0] += 1.0
        s[i, 0] = np.sum(x[index[i]] ** 2) + t.sum() + x[index[i]].max()
        s[i, 1:] = x[index[i, 1:]]
        s[i, 1] += np.sum(w[i][index[i]] > 0.5)
    return out, s


def permutes(x, order):
    for i in prange(1):
        x[:] = x[order]


def rows(x, order):
    for i in prange(2):
        x[i, :] = x[i][order] + 1.0


def beyond(x, order):
    y = np.zeros(2)
    for i in prange(2):
        y[i] = x[order].sum()
    return y


def masks(x, order):
    y = np.zeros(2)
    for i in prange(2):
        t = x[x > 1]
        y[i] = t[0]
    return y


class Gathers(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_wrong_use(self):
        order = np.array([3, 2, 1, 0])
        for index in ([0, 4], [-5, 1]):
            self.assertRaises(IndexError, dhpvm.jit(beyond), np.arange(4.0), np.array(index))
        for function, x, text in ((rows, np.ones((2, 4)), "reads elements that it has written"),
                                  (permutes, np.ones(4), "one by one"), (beyond, np.ones((5, 2)), "as one of a line"),
                                  (masks, np.ones(4), "as one of a line")):
            self.assertRaisesRegex(dhpvm.TranslationError, text, dhpvm.jit(function), x, order)


if __name__ == "__main__":
    support.main()
