#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls that change something are evaluated once, and in Python's order: stack.pop() as an index, in arrays and slices,
random numbers beside each other."""

import support
from support import np

import dhpvm

# Each is a function's body: x are ten numbers, and stack is a list.
RIGHT = """
y = np.zeros(9); y[stack.pop()] += 1.0; return y, len(stack)
x[stack.pop():] += 5.0; return len(stack)
y = np.zeros((5, 5)); y[stack.pop(), stack.pop()] -= 1; return y, len(stack)
t = [[0] * 3 for _ in range(5)]; t[stack.pop()][stack.pop() - 2] += 5; return t[1][0], len(stack)
stack[stack.pop()] += stack.pop(); return stack
x[stack.pop()] = stack.pop(); return len(stack)
stack[stack.pop()] = stack.pop() * 10; return stack
y = np.array([stack.pop(), stack.pop(), 5]); return y, len(stack)
y = x[[stack.pop(), stack.pop()]]; return y, len(stack)
y = x.copy(); y[x > stack.pop()] += stack.pop(); return y, len(stack)
y = x * stack.pop() - stack.pop(); return y, len(stack)
return max(stack.pop(), 2), abs(stack.pop()), stack.pop() ** 2, stack.pop() % 2, len(stack)
y = np.arange(stack.pop(), stack.pop() + 5, 1); return y, len(stack)
d = {}; d[stack.pop()] = stack.pop(); d[stack.pop()] = 1; return d, len(stack)
return [i * v for i, v in enumerate(x, stack.pop())], len(stack)
return heapq.heappop(stack) * 10 + heapq.heappop(stack), len(stack)
"""
REFUSED = """
a, b = divmod(stack.pop(), 2); return a, b
y = x[stack.pop():].copy(); return y
x[stack.pop():] = 5.0
t = [[0] * 3 for _ in range(5)]; t[stack.pop()][stack.pop() - 2] = 5; return t[1]
return x[::stack.pop() + 1].sum()
v = stack.pop() or 7; return v
"""


def functions(bodies, name):
    for number, body in enumerate(bodies.strip().splitlines()):
        text = f"import heapq\ndef f(x):\n    stack = [3, 2, 1, 4, 2, 1]\n    {body}\n"
        yield support.define(text, f"<{name} {number}>")


def bumped(counts):
    counts[0] += 1
    return counts[0]


def by_functions(counts):
    found = np.zeros(9)
    for _ in range(4):
        found[bumped(counts)] += 2.0
    pair = np.array([bumped(counts), bumped(counts)])
    return found, pair, counts


def random_numbers(seed):
    rng = np.random.default_rng(seed)
    np.random.seed(seed)
    pair = np.array([rng.random(), rng.random()])
    others = np.array([np.random.rand(), np.random.rand()])
    spread = np.zeros(4) + rng.random() - rng.random()
    hits = np.zeros(9, np.int64)
    for _ in range(200):
        hits[rng.integers(0, 9)] += 1
    return pair[0] != pair[1], others[0] != others[1], spread[0] != 0.0, hits.sum()


class Once(support.Comparisons):
    def test_right(self):
        for function in functions(RIGHT, "right"):
            self.compare(function, np.arange(10.0))

    def test_refused(self):
        for function in functions(REFUSED, "refused"):
            self.assertRaisesRegex(dhpvm.TranslationError, "give its result a name", dhpvm.jit(function),
                                   np.arange(10.0))

    def test_functions(self):
        self.compare(by_functions, np.zeros(1, np.int64))
        self.compare(random_numbers, 3)


if __name__ == "__main__":
    support.main()
