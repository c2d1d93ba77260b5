#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tuples as variables, as items of lists, and in results; lists that are repeated; what `and` and `or` give."""

import numpy as np
import support

import dhpvm


def collatz(n):
    best = (0, 0)
    for s in range(1, n):
        c, x = 0, s
        while x != 1:
            x = x // 2 if x % 2 == 0 else 3 * x + 1
            c += 1
        if c > best[1]:
            best = (s, c)
    return best


def fibonacci(n):
    p = (0, 1)
    for _ in range(n):
        p = (p[1], p[0] + p[1])
        q = p
        a, b = p
    return p, q[0] + a - b


def of_two_types(n):
    low = (0.5, n)
    if n > 3:
        low = (1.0, n + 1)
    return low


def nested(n):
    return n, of_two_types(n), ((1, 2.5), np.ones(2), (n == 3,))


def taken_apart(n):
    a, (b, c), ((d, e), f, (g,)) = nested(n)
    h, k = nested(n)[1]
    return a + b + c + d + e + f.sum() + g + h + k


def compared(i, j):
    t = 0
    for a in (-1, 0, 1):
        for b in (-1, 0, 1):
            if (a, b) != (0, 0):
                t += a * 3 + b
            if (i, a) == (b, j):
                t += 100
    return t, (i, j) == (1, 2), (i, j) != (1, 2), (i, j) == (1, 2, 3)


def repeated(n, x):
    a = [0] * n
    b = 3 * [x, 1.5]
    for i in range(n):
        a[i] = a[i - 1] + i if i > 0 else 1
    a[-1] += 2
    return np.array(a), np.array(b), sum(a), len(b), max(a)


def stack(n):
    s = [(0, 0.5)]
    total = 0.0
    while s:
        i, x = s.pop()
        total += x * i
        if i < n:
            s.append((i + 1, x + 1))
            if not i % 3:
                s.append((i + 2, x))
    if not s:
        total += 100
    return total


def pairs(n):
    found = []
    for i in range(n):
        if i % 3:
            found.append((i, i * 0.5))
    t = 0.0
    for i, x in found:
        t += i * x
    for p in found:
        t += p[0] - p[1]
    found[0] = (7, 8.0)
    last = found.pop()
    return np.array(found), len(found), t, found[-1][0], found[0][1], bool(found), last


def chosen(a, b, c):
    return a and b, a or b, a or b or c, (a and b) or c, a and b and c


def searched(n):
    for i in range(n):
        if i == 5:
            break
    else:
        i = -1
    return i


def chosen_elements(image, table):
    rows, columns = np.nonzero(image > 3)
    (a, b), (c, d) = image[:2, :2]
    return table[image], image[rows, columns], image[rows - 1, columns], rows, np.where(image > 5), a * d - b * c, \
        np.average(table), np.average(table, weights=table), np.diagflat(table[:2]), np.vstack([table, table]).T.copy()


def changed_items(x):
    found, pairs = [1.0, x, x * 2], [(1, 2), (3, 4)]
    for i, y in enumerate(found):
        found[i] = y * 10
        if i + 1 < len(found):
            found[i + 1] += 1
    for i, (a, b) in enumerate(pairs):
        pairs[1] = (a + 100, b + i)
    return np.array(found), np.array(pairs)


def another_list(n):
    found = [n, 2]
    s = 0
    for x in found:
        s += x
        found = [7, 8, s]
    return s, len(found)


def numbers_of_both(x):
    found, pairs = [0.0], [(0, 0.0)]
    for i in range(len(x)):
        found.append(x[i])
        pairs.append((i, x[i]))
    found[0] = 2.5
    return np.array(found), np.array(pairs)


def grown(n):
    found = [n]
    for x in found:
        if x > 0:
            found.append(x - 1)
    return len(found)


def shrunk(n):
    found = [(n, 1), (n, 2)]
    for i, (a, b) in enumerate(found):
        found.pop()
    return len(found)


def passed_on(n, x):
    if n > 5:
        return results(n, x)
    return results(n + 1, x)


def results(n, x):
    return n, (x, n * x)


def histogram(x):
    return np.histogram(x, 2)


class Tuples(support.Comparisons):
    def test_variables(self):
        self.compare(collatz, 30)
        self.compare(fibonacci, 9)
        for i, j in ((1, 2), (0, 1)):
            self.compare(compared, i, j)

    def test_results(self):
        for n in (3, 4):
            self.compare(nested, n, fit=support.nearly)
            self.compare(taken_apart, n)
        self.assertEqual(dhpvm.jit(nested)(3)[1:2], ((0.5, 3),))

    def test_lists(self):
        for n in (1, 4):
            self.compare(repeated, n, 2.5)
        for n in (0, 6):
            self.compare(stack, n)
        self.compare(pairs, 10)

    def test_lists_that_loops_run_over(self):
        self.compare(changed_items, 2.5)
        self.compare(another_list, 3)
        self.compare(numbers_of_both, np.array([0.5, 1.5]))
        self.compare(grown, 3)
        self.compare(shrunk, 3)

    def test_results_of_calls(self):
        self.compare(passed_on, 3, 0.5)
        self.compare(histogram, np.array([1.0, 2.0, 2.5]))

    def test_values_of_conditions(self):
        for numbers in ((0, 3, 2), (2, 0, 0), (1.5, 0.0, 4.0), (0.0, -0.0, 0.0), (False, True, False)):
            self.compare(chosen, *numbers)

    def test_loops_with_else(self):
        self.compare(searched, 3)
        self.compare(searched, 9)

    def test_choice_of_elements(self):
        self.compare(chosen_elements, np.arange(12).reshape(3, 4) % 7, np.arange(7.0) + 0.5)


if __name__ == "__main__":
    support.main()
