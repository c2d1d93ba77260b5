#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests explanations, traces, code for GPUs, cells of notebooks, and tensors of other packages."""

import contextlib
import importlib.util
import io
import json
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import support  # noqa: F401: skips where there is no NumPy
import numpy as np

import dhpvm
from dhpvm import drawing, notebook

CELL = """fn twice(x: f64) -> f64 => 2.0 * x;
fn fill(x: [f64]) { parallel for i in 0..x.len { x[i] = i as f64; } }
"""


@dhpvm.jit
def spread(x, y):
    for i in dhpvm.prange(1, len(x) - 1):
        y[i] = (x[i - 1] + x[i + 1]) / 2


class Shell:
    """The part of IPython's shell that notebook.py uses."""

    def __init__(self):
        self.user_ns = {}

    def push(self, names):
        self.user_ns.update(names)


class Tensor:
    """As packages have it whose arrays have no buffer."""

    def __init__(self, array, device=1):
        self._array, self._device = array, device

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._device, 0


class Notebooks(unittest.TestCase):
    def test_explanations(self):
        self.assertIn("No parallel loop", dhpvm.jit(spread.__wrapped__).explain()._repr_html_())
        spread(np.arange(1000.0), np.zeros(1000))
        text = spread.explain()
        line = spread.__wrapped__.__code__.co_firstlineno + 2
        self.assertRegex(text, f"notebook_test.py:({line}|{line + 1}) ")
        self.assertEqual(text._repr_html_().count("<details open>"), 1)
        self.assertIn("&lt;b&gt;", drawing.Explanation("loop at <b>\n  ran")._repr_html_())

    def test_traces(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run.json"
            with dhpvm.trace(path) as run:
                x = np.arange(1000.0)
                spread(x, x.copy())
            names = {event["name"] for event in json.loads(path.read_text())["traceEvents"]}
            self.assertTrue(any(name.startswith("parallel for spread") for name in names), names)
            picture = ElementTree.fromstring(run._repr_html_())
        self.assertTrue(any("parallel for" in title.text for title in picture.findall(".//{*}title")))
        many = [{"name": f"e{i}", "ph": "X", "tid": 0, "ts": i, "dur": 1} for i in range(4000)]
        self.assertIn("The 1000 shortest events", drawing.timeline(many))
        self.assertIn("Nothing has run", drawing.timeline([]))

    def test_code_for_gpus(self):
        x, y = np.arange(1000.0), np.zeros(1000)
        self.assertRegex(spread.inspect_ptx(x, y), r"(?s)\.target sm_80.*\.entry")
        self.assertRegex(spread.inspect_ptx(x, y, target="opencl"), "kernel ")
        self.assertTrue((y == 0).all())

    def test_cells(self):
        shell = Shell()
        notebook.run(shell, "", CELL)
        self.assertEqual(shell.user_ns["twice"](4), 8)
        notebook.run(shell, "kernels deadline=1.5", CELL.replace("2.0", "3.0"))
        notebook.run(shell, "", CELL.replace("2.0", "4.0"))  # a cell that is run again
        self.assertEqual((shell.user_ns["kernels"].twice(4), shell.user_ns["twice"](4)), (12, 16))
        self.assertRaisesRegex(dhpvm.CompileError, r"cell\d+\.dhp:1", notebook.run, shell, "", "fn f( {")
        self.assertRaisesRegex(ValueError, "takes a name and options", notebook.run, shell, "a b", CELL)
        self.assertRaisesRegex(TypeError, "there is no option 'fast'", notebook.run, shell, "fast=1", CELL)
        with contextlib.redirect_stdout(io.StringIO()) as output:
            notebook.run(shell, "", 'fn main() { print("here"); }')
        self.assertEqual(output.getvalue(), "here\n")

    @unittest.skipUnless(importlib.util.find_spec("IPython"), "IPython is not installed")
    def test_ipython(self):
        from IPython.core.interactiveshell import InteractiveShell

        shell = InteractiveShell.instance()
        shell.run_line_magic("load_ext", "dhpvm")
        shell.run_cell_magic("dhpvm", "", CELL)
        self.assertEqual(shell.user_ns["twice"](4), 8)
        for factor in (2, 3):  # a cell of Python that is run again
            cell = f"@dhpvm.jit\ndef times(x):\n    return x * {factor}\nresult = times(7)"
            shell.push({"dhpvm": dhpvm})
            self.assertTrue(shell.run_cell(cell).success)
            self.assertEqual(shell.user_ns["result"], 7 * factor)
        shown = shell.display_formatter.format(spread.explain())[0]
        self.assertIn("text/html", shown)

    def test_tensors(self):
        x, y = np.arange(5.0), np.zeros(5)
        spread(Tensor(x), Tensor(y))
        self.assertEqual(y[2], 2)
        program = dhpvm.compile(CELL)
        program.fill(Tensor(y))
        self.assertEqual(y[4], 4)
        for function in (spread, program.fill):
            arguments = (Tensor(x, 2), y)[:2 if function is spread else 1]
            self.assertRaisesRegex(TypeError, r"on a device: .* x\.cpu\(\)", function, *arguments)
        self.assertTrue((np.from_dlpack(program_array()) == 3).all())


def program_array():
    return dhpvm.jit(new_array)(4)


def new_array(n):
    return np.full(n, 3.0)


if __name__ == "__main__":
    support.main()
