# SPDX-License-Identifier: Apache-2.0
"""Iterators of itertools written in Python."""


def product_2(xs, ys):
    for x in xs:
        for y in ys:
            yield x, y


def product_3(xs, ys, zs):
    for x in xs:
        for y in ys:
            for z in zs:
                yield x, y, z


def chain_2(xs, ys):
    for x in xs:
        yield x
    for y in ys:
        yield y


def chain_3(xs, ys, zs):
    for x in xs:
        yield x
    for y in ys:
        yield y
    for z in zs:
        yield z


def combinations_2(xs):
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            yield xs[i], xs[j]


def combinations_3(xs):
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            for k in range(j + 1, len(xs)):
                yield xs[i], xs[j], xs[k]


def permutations_2(xs):
    for i in range(len(xs)):
        for j in range(len(xs)):
            if i != j:
                yield xs[i], xs[j]


def permutations_3(xs):
    for i in range(len(xs)):
        for j in range(len(xs)):
            for k in range(len(xs)):
                if i != j and i != k and j != k:
                    yield xs[i], xs[j], xs[k]


def with_replacement_2(xs):
    for i in range(len(xs)):
        for j in range(i, len(xs)):
            yield xs[i], xs[j]


def pairwise(xs):
    for i in range(len(xs) - 1):
        yield xs[i], xs[i + 1]


def accumulate(xs):
    if len(xs) > 0:
        total = xs[0]
        yield total
        for i in range(1, len(xs)):
            total = total + xs[i]
            yield total


def count(start=0, step=1):
    i = start
    while True:
        yield i
        i += step
