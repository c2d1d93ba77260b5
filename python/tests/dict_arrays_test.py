# SPDX-License-Identifier: Apache-2.0
"""Dictionaries whose values are arrays."""

import support
from support import np

import dhpvm

case = support.Cases()
K, V = np.array([3, 1, 3, 2, 1, 3]), np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


@case(K, V)
def groups(keys, values):
    acc = {}
    for i in range(len(keys)):
        k = keys[i]
        if k not in acc:
            acc[k] = np.zeros(3)
        acc[k][0] += 1
        acc[k][1] += values[i]
        acc[k][2] = max(acc[k][2], values[i])
        row = acc[k]
        row[0] += 0.5
    out = np.zeros((len(acc), 3))
    row = 0
    for k in acc:
        out[row] = acc[k]
        row += 1
    s = 0.0
    for k, v in acc.items():
        s += k * v.sum()
        v[1] = 7.0
        v *= 2
    for v in acc.values():
        s += v[1]
    acc[1] += np.arange(3.0)
    acc[2][1:] = acc[1][:2] * 2
    acc[3] = acc[3] + 1.0
    return out, s, acc[1], acc[2].sum() + acc[3].sum()


@case(K, V)
def matrices(keys, values):
    acc = {}
    for k, v in zip(keys, values):
        if k in acc:
            acc[k] += np.eye(2) * v
        else:
            acc[k] = np.eye(2) * v
    s = 0.0
    for k in acc:
        s += k * acc[k][1, 1] + (acc[k] @ acc[k]).sum()
    return s, len(acc)


@case(K, V)
def returned(keys, values):
    acc = {}
    for i in range(len(keys)):
        acc[keys[i]] = values[i:i + 2]
    return acc


@case(K, V)
def named(keys, values):
    acc = {}
    a = np.zeros(2)
    acc[1] = a
    acc[2] = a
    acc[1][0] = 5.0
    a[1] = 3.0
    b = acc.pop(1)
    b[0] += 1
    return a, acc[2]


@case(K, V.copy())
def parameter(keys, values):
    acc = {1: values}
    acc[1][0] = 5.0
    return values[0]


def shares(keys, values):
    acc = {}
    acc[1] = values[1:]
    acc[1][0] = 5.0
    return values[1]


def mixed(keys, values):
    acc = {}
    acc[1] = values
    acc[2] = keys
    return 1.0


def get(keys, values):
    acc = {1: values}
    x = acc.get(2)
    if x is None:
        return 0.0
    return x[0]


def get_list(keys, values):
    acc = {1: [2, 3]}
    x = acc.get(2)
    if x is None:
        return 0
    return x[0]


@case(K, V)
def more(keys, values):
    acc = {}
    for k in keys:
        row = acc.setdefault(k, np.zeros(2))
        row[1] += k
        acc[k][0] += 1
    other = acc
    x = acc.get(7, np.ones(2))
    x[0] = 4.0
    y = acc[1].copy()
    y += 1
    del acc[2]
    lists = {}
    for k in keys:
        if k not in lists:
            lists[k] = [np.zeros(1)]
        lists[k].append(np.ones(2))
    return x.sum() + len(other) + y.sum(), acc, lists[1][0].sum()

class DictArrays(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_refused(self):
        for function, text in ((shares, "this may be the memory of 'values'"), (mixed, "a variable has one type"),
                               (get, "ask with `k in d`"), (get_list, "ask with `k in d`")):
            self.assertRaisesRegex(dhpvm.TranslationError, text, dhpvm.jit(function), K, V)


if __name__ == "__main__":
    support.main()
