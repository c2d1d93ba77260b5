#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Progress of long loops: whom it is told, and how it is drawn."""

import contextlib
import io
import sys
import types
import unittest
from unittest import mock

import numpy as np
import support

import dhpvm

drawn = sys.modules["dhpvm.progress"]

N = 100_000


@dhpvm.jit
def smooth(x, y):
    for i in dhpvm.prange(len(x)):
        s = 0.0
        for k in range(40):
            s += np.sin(x[i] * k)
        y[i] = s


@dhpvm.jit
def short(x):
    for i in dhpvm.prange(len(x)):
        x[i] += 1


def run():
    smooth(np.arange(float(N)), np.empty(N))


class Terminal(io.StringIO):
    def isatty(self):
        return True


class ProgressTests(unittest.TestCase):
    def test_tells_of_long_loops(self):
        told = []
        with dhpvm.progress(told.append, every=1e-3):
            run()
        self.assertGreater(len(told), 2)
        loop = told[0].loop
        self.assertRegex(loop, r"progress_test\.py:\d+$")
        self.assertEqual({(each.loop, each.total) for each in told}, {(loop, N)})
        self.assertEqual([each.has_ended for each in told], [False] * (len(told) - 1) + [True])
        self.assertEqual([each.done for each in told], sorted(each.done for each in told))
        self.assertEqual(told[-1].done, N)
        self.assertGreater(told[0].done, 0)
        self.assertGreater(told[-1].seconds, 1e-3)
        count = len(told)
        run()  # behind the block nobody is told
        self.assertEqual(len(told), count)

    def test_says_nothing_of_short_loops(self):
        told = []
        with dhpvm.progress(told.append, every=60):
            run()
            short(np.zeros(10))
        self.assertEqual(told, [])

    def test_the_innermost_block_is_told(self):
        outer, inner = [], []
        with dhpvm.progress(outer.append, every=1e-3):
            with dhpvm.progress(inner.append, every=1e-3):
                run()
            self.assertEqual(outer, [])
            self.assertNotEqual(inner, [])
            run()
        self.assertNotEqual(outer, [])

    def test_programs_in_the_language(self):
        told = []
        module = dhpvm.compile("fn f(x: [f64]) { parallel for i in 0..x.len { var s = x[i]; "
                               "for k in 0..1000 { s = s * 0.5 + 1.0; } x[i] = s; } }", name="long.dhp")
        with dhpvm.progress(told.append, every=1e-3):
            module.f(np.ones(N))
        self.assertEqual(told[-1][:3], ("long.dhp:1", N, N))

    def test_on_a_device(self):
        told = []
        with dhpvm.Engine(device="sim"), dhpvm.progress(told.append, every=1e-4):
            run()
        self.assertEqual({each.total for each in told}, {N})
        self.assertTrue(told[-1].has_ended)

    def test_an_exception_ends_the_call(self):
        def stop(moment):
            raise LookupError(f"enough of {moment.total}")

        for _ in range(2):
            with dhpvm.progress(stop, every=1e-3):
                with self.assertRaisesRegex(LookupError, f"enough of {N}"):
                    run()
            run()  # goes on as ever

    def test_the_function_cannot_use_the_program(self):
        said = []

        def again(_):
            with dhpvm.progress(print, every=0), contextlib.suppress(RuntimeError):
                run()
            try:
                run()
            except RuntimeError as refused:
                said.append(str(refused))

        with dhpvm.progress(again, every=1e-3):
            run()
        self.assertRegex(said[0], "cannot use the program")
        run()

    def test_loops_that_the_function_runs_are_not_told_of(self):
        other = dhpvm.compile("fn f(x: [f64]) { parallel for i in 0..x.len { var s = x[i]; "
                              "for k in 0..100 { s = s * 0.5 + 1.0; } x[i] = s; } }", name="other.dhp")
        loops = set()

        def show(moment):
            loops.add(moment.loop.rpartition("/")[2].partition(":")[0])
            other.f(np.ones(N))

        with dhpvm.progress(show, every=1e-3):
            run()
        self.assertEqual(loops, {"progress_test.py"})

    def test_a_block_may_be_entered_again(self):
        told = []
        block = dhpvm.progress(told.append, every=1e-3)
        with block, block:
            run()
        count = len(told)
        with block:
            run()
        self.assertGreater(len(told), count)
        count = len(told)
        run()
        self.assertEqual(len(told), count)

    def test_no_function(self):
        with self.assertRaisesRegex(TypeError, "int"):
            dhpvm.progress(3)
        with self.assertRaisesRegex(dhpvm.ArgumentError, "negative"):
            dhpvm.progress(every=-1)
        for every in (float("nan"), float("inf"), 1e300):
            with self.assertRaisesRegex(dhpvm.ArgumentError, "292 years"):
                dhpvm.progress(every=every)
        with self.assertRaisesRegex(TypeError, "number of seconds or a timedelta, and this is str"):
            dhpvm.progress(every="1")

    def test_terminal(self):
        stream = Terminal()
        with contextlib.redirect_stderr(stream), dhpvm.progress(every=1e-3):
            run()
        lines = stream.getvalue().split("\r\x1b[K")
        self.assertRegex(lines[1], r"^\[#*\.*\] \d+ %, \d+\.\d s, .* to go, progress_test.py:\d+$")
        self.assertEqual(lines[-1], "")  # the line is taken away

    def test_pipe(self):
        stream = io.StringIO()
        with contextlib.redirect_stderr(stream), dhpvm.progress(every=1e-3):
            run()
        self.assertEqual(stream.getvalue(), "")

    def test_notebook(self):
        shown = []

        class Handle:
            def update(self, html):
                shown.append(html)

        def display(html, display_id):
            shown.append(html)
            return Handle()

        shell = types.SimpleNamespace(kernel=object())
        modules = {"IPython": types.SimpleNamespace(get_ipython=lambda: shell),
                   "IPython.display": types.SimpleNamespace(HTML=str, display=display)}
        with mock.patch.dict(sys.modules, modules), dhpvm.progress(every=1e-3):
            run()
        self.assertRegex(shown[0], r'^<progress value="\d+" max="100000" .*></progress> \d+ %')
        self.assertIn('value="100000"', shown[-1])

    def test_words(self):
        moment = drawn.Progress("/home/me/blur.py:12", 25, 100, 30.0, False)
        self.assertEqual(drawn.text(moment), "25 %, 30 s, 1 min 30 s to go, blur.py:12")
        self.assertEqual(drawn.text(moment._replace(done=0)), "0 %, 30 s, blur.py:12")
        self.assertEqual(drawn.text(moment._replace(done=100, seconds=4000, has_ended=True)),
                         "100 %, 1 h 6 min, blur.py:12")
        self.assertNotIn("<b>", drawn.drawing(moment._replace(loop="<b>:1")))


if __name__ == "__main__":
    support.main()
