#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unsupported code is an error at its line that says what to write instead; so are arguments that do not fit."""

import ast
import graphlib
import pathlib
import pickle
import re
import threading
import traceback
import unittest

import support  # noqa: F401: skips where there is no NumPy
import numpy as np

import dhpvm
from dhpvm import prange

TEXTS = np.array(["a"])
X = np.arange(4.0)


@dhpvm.jit
def doubled(x):
    return 2 * x


@dhpvm.jit
def beyond(x, k):
    s = 0.0
    for i in range(len(x)):
        s += x[i + k]  # traps here
    return s


def inner(x, i):
    return x[i]  # traps here, too


@dhpvm.jit
def outer(x):
    return inner(x, len(x))


def called_twice(x):
    return np.vectorize(abs)(x)


class Refused(unittest.TestCase):
    def refuse(self, function, advice, *arguments, line=None):
        with self.assertRaises(dhpvm.TranslationError) as caught:
            dhpvm.jit(function)(*arguments)
        self.assertRegex(str(caught.exception), advice)
        first = function.__code__.co_firstlineno
        shown = re.match(rf"{re.escape(__file__)}:(\d+): ", str(caught.exception))
        self.assertIsNotNone(shown, str(caught.exception))
        self.assertEqual(int(shown[1]) - first, 1 if line is None else line, str(caught.exception))

    def test_expressions(self):
        def f(x):
            return [[[i] for i in range(3)]]
        self.refuse(f, "return arrays of what is in it", 1)

        def f(x):
            return x[0:2]
        self.refuse(f, r"the caller has 'x' already: x\[0:2\]\.copy\(\)", X)

        def f(x):
            return int(x + 1)
        self.refuse(f, "a number is needed here", X)

        def f(x):
            return x.dumps()
        self.refuse(f, r"\.dumps\(\).* write a loop", X)

        def f(x):
            return x[x[0]:]
        self.refuse(f, "an integer is needed here", X)

        def f(x):
            return x[1, None, 1]
        self.refuse(f, "2 indices, and the array has 1", X)

        def f(x):
            return x[x > 1, 0]
        self.refuse(f, "an array of bool with 2 dimensions as an index of", np.ones((2, 2)))

        def f(x):
            return doubled(x) + doubled(x)[1:]
        self.refuse(f, "a name first", X)

        def f(x):
            return np.fft.fft(x)
        self.refuse(f, "call it outside of the function, and pass what it returns", X)

        def f(x):
            return np.random.zipf(2) + x[0]
        self.refuse(f, "zipf.* of a generator cannot be compiled; .*uniform", X)

        def f(x):
            return np.unwrap(x)
        self.refuse(f, "docs/python.md lists", X)

        def f(x):
            return np.tril(x)
        self.refuse(f, "is for arrays of 2 dimensions", X)

        def f(x):
            return np.array([[1, 2], [3]])
        self.refuse(f, "have one length", X)

        def f(x):
            return np.array([])
        self.refuse(f, "an empty list has no type", X)

        def f(x):
            return np.array([x[:, None], x[:, None]])
        self.refuse(f, "np.vstack", X)

        def f(x, k):
            return (x if k else 2 * x)[0]
        self.refuse(f, "choose between arrays with if", X, True)

        def f(x):
            return x.shape[3]
        self.refuse(f, "a tuple of 1 items has none at 3", X)

        def f(x):
            x[x > 1] = x
        self.refuse(f, "an array selects elements of one dimension", np.ones((2, 3)))

        def f(x):
            return x.sum(axis=1)
        self.refuse(f, "there is no axis 1", X)

        def f(x):
            return x @ 2
        self.refuse(f, "a product is one of arrays", X)

        def f(x):
            return np.sort(x)
        self.refuse(f, "sort is for arrays of 2 dimensions here", np.ones((2, 3, 1)))

        def f(x):
            for i in prange(len(x)):
                x *= 2
        self.refuse(f, "elements are computed one by one", X, line=2)

        def f(x):
            return "text"
        self.refuse(f, "a function returns numbers, arrays, lists", 1)

        def f(x):
            return abs(x) or 1
        self.refuse(f, "would be evaluated twice", 1)

        def f(x, out=None):
            if x > 1:
                out = 2.0
            return out
        self.refuse(f, "'out' is None before this block", 1, line=2)

        def f(x):
            return inner(x, j=1)
        self.refuse(f, "inner: missing a required argument: 'i'", X)

        def f(x):
            return x ** -2
        self.refuse(f, r"float\(x\) \*\* y", 1)

        def f(x):
            found = []

            def g(k):
                found.append(k)
                return k

            def h(a, b):
                return a - b
            return h(b=g(1), a=g(2))
        self.refuse(f, "write them in the order of the parameters", X, line=9)

        def f(x):
            return round(x, -2)
        self.refuse(f, "a constant number of digits", 1.5)

        def f(x):
            for i, y, z in enumerate(x):
                pass
        self.refuse(f, "enumerate gives an index and an element", X)

        def f(x):
            for i in prange(len(x)):
                x[i] = 1
            else:
                x[0] = 2
        self.refuse(f, "never left early", X, line=4)

        def f(x):
            return float("many")
        self.refuse(f, "could not convert", X)

        def f(x):
            return x[0.5]
        self.refuse(f, "an index is an integer", X)

        def f(x):
            return x[0, 1]
        self.refuse(f, "2 indices, and the array has 1", X)

        def f(x):
            return len(TEXTS)
        self.refuse(f, "pass it as an argument", 1)

        def f(x):
            return list(map(abs))
        self.refuse(f, r"\[f\(x\) for x in xs\]", X)

        def f(x):
            return undefined(x)  # noqa: F821
        self.refuse(f, "'undefined' is not defined", 1)

    def test_statements(self):
        def f(x):
            with open("x"):
                pass
        self.refuse(f, "With statements", 1)

        def f(x):
            for i in dhpvm.prange(len(x)):
                try:
                    x[i] += 1
                except ValueError:
                    pass
        self.refuse(f, "prange loop catches no exceptions: set a flag", X, line=2)

        def f(x):
            try:
                return 1 // x
            except ZeroDivisionError as error:
                return len(error.args)
        self.refuse(f, "an exception can be raised again and printed here", 1, line=4)

        def f(x):
            try:
                return 1 // x
            except x:
                return 2
        self.refuse(f, "'x' is no class of exceptions", 1, line=3)

        def f(x):
            yield x
        self.refuse(f, "fill an array or a list, and return it", 1)

        def f(x):
            del x[0]
        self.refuse(f, "elements of an array cannot", X)

        def f(x):
            import no_such_module
            return no_such_module.f(x)
        self.refuse(f, "No module named", 1)

        def f(x):
            x = 1.5 if x else 2
            x = TEXTS
        self.refuse(f, "pass it as an argument", 1, line=2)

        def f(x):
            y = x
            if len(x) > 1:
                y = 1
            return y
        self.refuse(f, "'y' is an int here .* a variable has one type", X, line=3)

        def f(x):
            x = x.copy()
            if len(x) > 1:
                x = 1
            return x
        self.refuse(f, "'x' is an int here", X, line=3)

        def f(x, k):
            y = x[1:]
            if k:
                y = x[2:]
            y[0] = 1
            return y.sum()
        self.refuse(f, "may be the memory of 'x'", X, 1)

        def f(x):
            x[1:] = np.ones((2, 3))
        self.refuse(f, "does not fit into 1 dimensions", X)

        def f(x):
            x += 0.5
        self.refuse(f, "write a = a \\+ b", np.arange(3))

        def f(x):
            if x[0] > 1:
                return 1
            return x.copy()
        self.refuse(f, "one type of result", X, line=3)

        def f(x):
            y = x
            return y
        self.refuse(f, "the caller has 'x' already", X, line=2)

        def f(x):
            return np.sum(x if x[0] > 1 else 2 * x)
        self.refuse(f, "if and else statements", X)

        def f(x, y=3):
            if x[0] > 1:
                return x
            return x.copy()
        self.refuse(f, "always or never", X, line=3)

    def test_functions_in_parallel_loops(self):
        def add(x, y):
            x[:] = y

        def f(x):
            for i in prange(1, x.shape[0]):
                add(x[i], x[0])
        self.refuse(f, "reads elements that it has written", np.ones((2, 3)), line=-2)

        def g(x):
            assert x > 0, f"{x}"
            return x

        def f(x):
            for i in prange(3):
                x[i] = g(x[i])
        self.refuse(f, "text of an exception is the same for all iterations", X, line=-3)

    def test_what_to_write(self):
        import functools
        import heapq
        import itertools
        for advice, function in (
                ("as functions over a list", lambda x: heapq.heappop([x])),
                ("as functions over a list", lambda x: heapq.nlargest(2, x)),
                ("each once for an array: write loops", lambda x: np.einsum("i,ii->", x, x)),
                ("rows and columns of two dimensions", lambda x: x[np.ix_([0], [1])]),
                (r"np.where\(a, x, np.where", lambda x: np.choose([0, 1], [x, x])),
                ("for row in a", lambda x: np.apply_along_axis(np.sum, 0, x)),
                ("keeps the best", lambda x: max(x[0], x[1], key=abs)),
                ("kind='stable'", lambda x: sorted(x, cmp=abs, key=abs)),
                (":= cannot be compiled: write an assignment before", lambda x: (y := x)),
                (r"d\[k\] = x", lambda x: dict(x)),
                (r"\[f\(x\) for x in xs\]", lambda x: list(map(abs))),
                ("where a loop goes over it", lambda x: itertools.product(x, x)),
                ("loops in each other", lambda x: list(itertools.product(x, x, x, x))),
                ("in a statement of its own", lambda x: functools.reduce(max, x, x[0])),
                (r"np.searchsorted\(values, a\)", lambda x: np.unique(x, return_inverse=True, return_counts=True)),
                ("a constant from 0 to 0", lambda x: np.sort(x, axis=1)),
                (": unique is for arrays of 1 dimension", lambda x: np.unique(np.eye(2), return_inverse=True)),
                ("define the function with def", called_twice)):
            with self.subTest(advice):
                self.refuse(function, advice, X, line=function is called_twice)

        def f(x):
            match x:
                case {}:
                    return 2
        self.refuse(f, "write if and elif", 1, line=2)

        def f(x):
            match x:
                case [a, b]:
                    return a + b
        self.refuse(f, r"match \(x, y\) and case \(0, y\)", X, line=2)

        def f(x):
            xs = [1, 2]
            return xs == [x]
        self.refuse(f, "np.array_equal", 1, line=2)

        def f(x):
            seen = {1, 2}
            seen -= {x}
        self.refuse(f, "seen = seen - others", 1, line=2)

        def f(x):
            return x - x
        self.refuse(f, r"write a \^ b", X > 1)

        def f(x):
            return -x
        self.refuse(f, "write ~a", X > 1)

        def f(x):
            return np.array(x)
        self.refuse(f, r"write np.array\(\[x\]\)", 1.5)

        def f(x):
            return x.astype(np.float64, copy=False)
        self.refuse(f, r"write np.asarray\(a, np.float32\)", X)

        def f(x):
            y = np.flip(x)
            y[0] = 1
            return y.sum()
        self.refuse(f, "may be the memory of 'x'", X)

        def f(x):
            return np.max(x, dtype=np.float64)
        self.refuse(f, "max has no dtype", X)

        def f(x, k):
            return x.shape[k:]
        self.refuse(f, "named by constants", X, 1)

        def f(x, k):
            return x.shape * k
        self.refuse(f, r"np.full\(n, x\)", X, 1)

        def f(x):
            for a in (x, x * 2):
                if a[0] > 1:
                    break
        self.refuse(f, "no break, continue or else", X)

        def f(x):
            for a in (x, x * 2):
                a = a + 1
        self.refuse(f, "'a' is a name for each array", X)

        def f(x):
            return ord(x)
        self.refuse(f, "are numbers already", 1)

        def f(x):
            a, *b, c, d = x.shape
            return a
        self.refuse(f, "4 variables for 2 values", np.ones((2, 2)))

        def f(x):
            return ()
        self.refuse(f, "a tuple that is returned has items", 1)

    def test_words_of_numba(self):
        with self.assertRaisesRegex(TypeError, "leave out parallel"):
            dhpvm.jit(parallel=True)
        with self.assertRaisesRegex(TypeError, "types are those of the arguments"):
            dhpvm.jit("f8(f8)")

        def prange(n):
            return range(n)

        prange.__module__ = "numba.misc.special"

        def f(x):
            for i in prange(3):
                x[i] = 1
        self.refuse(f, "write dhpvm.prange", X, line=1)

    def test_functions_in_functions(self):
        def f(x):
            if x:
                k = x
            def g(y):
                nonlocal k
                k = y
            g(1)
            return k
        self.refuse(f, "assign it first by a statement of its own, k = 0", 1, line=4)

        def f(x):
            if x:
                def g(y):
                    return y
            return g(1)
        self.refuse(f, "in the first level", 1, line=2)

        def f(x):
            def g(y=x):
                return y
            return g(x)
        self.refuse(f, "without decorators, and its defaults are numbers", 1)

    def test_sequences(self):
        def f(x):
            return np.arange(x, dtype=np.int32)
        self.refuse(f, "has no elements of type int32", 1.5)

        def f(x):
            return np.linspace(x, 1)
        self.refuse(f, r"float\(x\)", np.float32(1))

        def f(x):
            return np.linspace(x, 1, retstep=True)
        self.refuse(f, "takes start, stop, num", 1)

    def test_parallel_loops(self):
        def f(x):
            t = 0.0
            for i in prange(len(x)):
                x[i] = t
                t = x[i]
        self.refuse(f, "'t' passes a value from one iteration to the next", X, line=2)

        def f(x):
            for i in prange(len(x)):
                t = x[i]
            return t
        self.refuse(f, "'t' belongs to an iteration", X)

        def f(x):
            for i in prange(len(x)):
                if x[i] > 1:
                    break
        self.refuse(f, "break cannot leave it", X, line=3)

        def f(x):
            for i in prange(len(x)):
                y = np.zeros(i)
                x[i] = y[0]
        self.refuse(f, "make them before, one row", X, line=2)

        def f(x):
            for i in prange(1, len(x)):
                x[i] = x[i - 1]
        self.refuse(f, "iterations conflict", X, line=2)

        def f(x):
            for i in prange(x.shape[0]):
                x[i, 1:] = x[i, :-1]
        self.refuse(f, "reads elements that it has written", np.ones((2, 3)), line=2)

        def f(x):
            for i in prange(x.shape[0]):
                y = x[i, :i] + 1
                x[i, :i] = y * 2
        self.refuse(f, "whose size is not known before the loop", np.ones((2, 3)), line=2)

        def f(x):
            for i in prange(len(x)):
                return
        self.refuse(f, "return cannot leave it", X, line=2)

    def test_arguments(self):
        for wrong, advice in (("text", "this is the text 'text'"), ("ä", "is of type str"),
                              ([1, "a"], "numbers, or arrays of one"),
                              (b"12", "np.frombuffer"), (np.zeros(2, ">f8"), "newbyteorder"),
                              (np.zeros(2, np.clongdouble), "astype"),
                              (np.zeros((1, 1, 1, 1)), "reshape"), (np.zeros(2, [("t", "f8")]), "name its field"),
                              (np.array([None]), "astype"), (np.array(1j), "without dimensions")):
            with self.subTest(wrong), self.assertRaisesRegex(dhpvm.TranslationError, advice):
                doubled(wrong)
        self.assertRaises(OverflowError, doubled, 2**63)
        self.assertEqual(doubled(np.array(3.0)), 6.0)

    def test_read_only_and_shared_arrays(self):
        @dhpvm.jit
        def add(x, y):
            for i in prange(len(x)):
                x[i] += y[i]

        x = np.arange(6.0)
        x.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "read-only"):
            add(x, x.copy())
        y = np.zeros(6)
        add(y, x)
        add(y, y)
        self.assertEqual(list(y), [0, 2, 4, 6, 8, 10])
        with self.assertRaisesRegex(ValueError, "share memory"):
            add(y[1:], y[:-1])

        @dhpvm.jit
        def add_3(x, y, z):
            for i in range(len(x)):
                z[i] = x[i] + y[i]

        z = np.arange(6.0)
        for three in ((z[:-1], z[1:], z[:-1]), (z[1:], z[:-1], z[1:]), (z[:-1], z[:-1], z[1:])):
            with self.assertRaisesRegex(ValueError, "share memory"):
                add_3(*three)
        add_3(z, z, z)
        self.assertEqual(list(z), [0, 2, 4, 6, 8, 10])

    def test_methods_and_lambdas(self):
        self.assertRaises(TypeError, dhpvm.jit, 3)
        self.assertRaises(dhpvm.TranslationError, dhpvm.jit, lambda *x: x)
        self.assertEqual(dhpvm.jit(lambda x: 2 * x)(2), 4)
        two = dhpvm.jit(lambda x: x), lambda x: x
        self.assertRaises(dhpvm.TranslationError, two[0], 1)


class Errors(unittest.TestCase):
    def check(self, call, *lines):
        try:
            call()
        except IndexError as error:
            text = traceback.format_exc()
            for line in lines:
                self.assertIn(line, text)
            self.assertEqual(error.frames[0].file, __file__)
            return
        self.fail("no IndexError")

    def test_traps_have_pythons_lines(self):
        self.check(lambda: beyond(X, 1), "in beyond", "s += x[i + k]  # traps here")
        self.check(lambda: outer(X), "in inner", "in outer", "return inner(x, len(x))", "traps here, too")

    def test_explanations_have_pythons_lines(self):
        @dhpvm.jit
        def total(x):
            s = 0.0
            for i in prange(len(x)):
                s += x[i]
            return s

        total(X)
        first = total.__wrapped__.__code__.co_firstlineno
        found = re.search(rf"{re.escape(__file__)}:(\d+) ", total.explain())
        self.assertIn(int(found[1]) - first, (3, 4))  # the head of the loop or its body

    def test_debug_finds_races(self):
        @dhpvm.jit(debug=True)
        def scatter(x, where):
            for i in prange(len(where)):
                x[where[i]] = i

        scatter(X.copy(), np.array([0, 1, 2]))
        with self.assertRaisesRegex(dhpvm.Trap, rf"writes element 1 .* at {re.escape(__file__)}:\d+"):
            scatter(X.copy(), np.array([0, 1, 1]))

    def test_raise_and_assert(self):
        @dhpvm.jit
        def check(x):
            assert x > 0, "x is too small"
            if x > 10:
                raise ValueError("x is too large")
            return x

        self.assertEqual(check(3), 3)
        self.assertRaisesRegex(dhpvm.Trap, "x is too small", check, 0)
        self.assertRaisesRegex(dhpvm.Trap, "x is too large", check, 11)

    def test_messages_with_numbers(self):
        def check(x, n, how="sum"):
            assert x > 0, f"x is {x}, {{n}} is {n}"
            if n > 10:
                raise ValueError(f"{how} of {n}: {x:.2f}")
            if n > 5:
                raise KeyError(f"{n:5d} cannot be formatted here")
            assert n > 2, n
            return x

        compiled = dhpvm.jit(check)
        for arguments in ((-0.5, 3), (0.125, 11), (2.0, 20, "max")):
            with self.assertRaises((AssertionError, ValueError)) as caught:
                check(*arguments)
            with self.assertRaises(type(caught.exception)) as found:
                compiled(*arguments)
            self.assertEqual(str(found.exception).splitlines()[0], str(caught.exception))
        self.assertRaises(KeyError, compiled, 1.0, 6)
        self.assertRaisesRegex(AssertionError, "^n", compiled, 1.0, 1)

    def test_threads_compile_and_call_at_once(self):
        @dhpvm.jit
        def add(x, y):
            for i in prange(len(x)):
                x[i] += y

        def work(dtype):
            for _ in range(20):
                x = np.zeros(100, dtype)
                add(x, 1)
                if not (x == 1).all():
                    wrong.append(dtype)

        wrong = []
        threads = [threading.Thread(target=work, args=(dtype,)) for dtype in ("f8", "f4", "i8", "f8")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_imports_of_the_translator_run_one_way(self):
        imports = {}
        for path in (pathlib.Path(dhpvm.__file__).parent / "translate").glob("*.py"):
            nodes = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                     if isinstance(node, ast.ImportFrom) and node.level == 1]
            imports[path.stem] = {name for node in nodes
                                  for name in ([node.module] if node.module else [each.name for each in node.names])}
        graphlib.TopologicalSorter(imports).prepare()  # raises for a circle, and names it

    def test_pickles(self):
        self.assertIs(pickle.loads(pickle.dumps(doubled)), doubled)

    def test_functions_of_notebooks(self):
        import linecache

        text = "def cell(x):\n    return 3 * x\n"
        linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(True), "<cell 1>")
        names = {}
        exec(compile(text, "<cell 1>", "exec"), names)
        self.assertEqual(dhpvm.jit(names["cell"])(2), 6)
        names = {}
        exec("def nowhere(x): return x", names)
        with self.assertRaisesRegex(dhpvm.TranslationError, "define it in a file"):
            dhpvm.jit(names["nowhere"])(2)


if __name__ == "__main__":
    support.main()
