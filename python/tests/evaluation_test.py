# SPDX-License-Identifier: Apache-2.0
"""The order in which the parts of statements are evaluated, and variables that have no value where they are read."""

import support
from support import np

import dhpvm

case = support.Cases()


# ---- Order.

@case(np.arange(6.0), 3)
def targets_from_the_left(a, n):
    xs, i, j = [0] * 4, 0, 0
    i, xs[i] = 2, 9
    j, a[j], (k, a[i]) = n, 77.0, (n, 5.0)
    return xs, i, j, k


@case(4)
def targets_in_loops(n):
    xs, i = [0] * (n + 1), 0
    for k in range(n):
        i, xs[i] = k + 1, k
    return xs


@case(5)
def lists_and_others(n):
    xs, d, s, k, a = [1, n], {1: n}, {n, 2}, n, np.zeros(2)
    xs, ys = [xs[1]], [7]
    for i in range(2):
        ys, zs = [i], [ys[0]]
    return xs, ys, zs, d, len(s), k, a


@case(3)
def lists_are_returned_at_the_end(n):
    xs, d = [1, 2, n], {1: 2, n: 4}
    return xs, xs.pop(), (d, d.pop(1), len(d)), len(xs)


@case(3)
def dictionaries_of_results(n):
    xs = [1, 2, n]
    return {"all": xs, "last": xs.pop(), "left": len(xs)}


@case(np.arange(4.0))
def numbers_are_returned_from_the_left(x):
    def bump(a):
        a[0] += 1
        return a[0]
    xs = [1]
    return x[0], x[:2].copy(), bump(x), x[:2].copy(), xs, x[0], x * 2


# ---- Variables that may have no value.

def first_above(x, limit):
    for i in range(len(x)):
        if x[i] > limit:
            best = i
            break
    return best


def last_of(n):
    for k in range(n):
        pass
    return k


def made_in_a_block(n):
    if n > 0:
        xs, a = [1, 2], np.zeros(2)
    return len(xs) + len(a)


def in_a_handler(x, i):
    try:
        a = x[i]
        b = 3
    except IndexError:
        a = 4.0
    return a + b


@case(np.arange(8.0), 100.0)
def caught(x, limit):
    for i, v in enumerate(x):
        if v > limit:
            y = i
    try:
        return y
    except UnboundLocalError:
        return -1


@case(4)
def surely_given(n):
    for k in range(3):
        s = k
    while True:
        q = n
        if n > 3:
            break
        n += 1
    found = False
    for j in range(n):
        if j > 2:
            found, p = True, j
        if found and p > 1:
            q += p
    return s, k, q, n


@case(5)
def first_in_the_second_branch(n):
    for i in range(n):
        if i > 0:
            t += i
        else:
            t = 0
    return t


def captured(n):
    def g(v, is_used):
        return v * k if is_used else v
    first = g(2, False)
    k = n
    return first + g(3, True)


class Evaluation(support.Comparisons):
    def test_all(self):
        case.compare(self)

    def test_variables_without_a_value(self):
        x = np.arange(8.0)
        for function, good, bad in ((first_above, (x, 3.0), (x, 100.0)), (last_of, (4,), (0,)),
                                    (made_in_a_block, (1,), (0,)), (in_a_handler, (x, 2), (x, 99))):
            self.compare(function, *good)
            with self.subTest(function.__name__):
                with self.assertRaises(UnboundLocalError):
                    function(*bad)
                with self.assertRaisesRegex(UnboundLocalError, "where it is not associated with a value"):
                    dhpvm.jit(function)(*bad)

    def test_what_is_captured_may_come_later(self):
        self.assertEqual(dhpvm.jit(captured)(4), 14)

    def test_variables_that_never_have_a_value(self):
        def total(n):
            s += n  # noqa: F821
            return s
        with self.assertRaisesRegex(dhpvm.TranslationError, "'s' has no value here: assign it before"):
            dhpvm.jit(total)(3)


if __name__ == "__main__":
    support.main()
