#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Translations on disk: a later process finds them, unless something that the function refers to has changed."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support

MODEL = """
import numpy as np
import dhpvm
import settings

OFFSETS = np.array([1.0, 2.0])
SCALE = 2.0

def twice(x):
    return SCALE * x

@dhpvm.jit
def f(x, i):
    import math
    def shifted(y):
        return y + settings.SHIFT
    return shifted(twice(x[i])) + OFFSETS[0] + math.floor(settings.limits["low"])
"""
SETTINGS = "SHIFT = 100.0\nlimits = {'low': 1000}\n"
RUN = """
import json, resource, sys
if len(sys.argv) > 2:
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
import numpy as np
import dhpvm
from model import f
index = int(sys.argv[1])
try:
    result = f(np.array([1.0, 2.0, 3.0]), index)
except dhpvm.Error as error:
    result = [type(error).__name__, [frame.line for frame in error.frames]]
print(json.dumps([result, "dhpvm.translate.unit" in sys.modules, f.inspect()]))
"""


class Cached(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.model, self.settings = Path(folder.name), MODEL, SETTINGS

    def run_once(self, index=0, *largest_file):
        """The result of a process, and whether it has translated."""
        (self.folder / "model.py").write_text(self.model)
        (self.folder / "settings.py").write_text(self.settings)
        own = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "caches"), "PYTHONDONTWRITEBYTECODE": "1"}
        own["PYTHONPATH"] = f"{self.folder}:{own.get('PYTHONPATH', '')}"
        done = subprocess.run([sys.executable, "-c", RUN, str(index), *map(str, largest_file)], env=own,
                              capture_output=True, text=True, check=False, timeout=100)
        self.assertEqual(done.returncode, 0, done.stderr)
        result, has_translated, text = json.loads(done.stdout)
        self.assertIn("fn f__0(x: [f64], i: i64", text)
        return result, has_translated

    def entries(self):
        return list((self.folder / "caches" / "dhpvm").glob("*.python"))

    def test_second_process(self):
        self.assertEqual(self.run_once(), (1103.0, True))
        self.assertEqual(self.run_once(), (1103.0, False))
        self.assertEqual(self.run_once(1), (1105.0, False))
        self.assertEqual(len(self.entries()), 1)

    def test_errors_have_lines(self):
        expected = ["IndexTrap", [MODEL.split("\n").index('    return shifted(twice(x[i])) + OFFSETS[0] + '
                                                           'math.floor(settings.limits["low"])') + 1]]
        self.assertEqual(self.run_once(7), (expected, True))
        self.assertEqual(self.run_once(7), (expected, False))

    def test_changes(self):
        """Each of these has to be seen, and nothing else."""
        self.run_once()
        changes = [
            ("model", "SCALE = 2.0", "SCALE = 3.0", 1104.0, True),
            ("model", "SCALE * x", "SCALE + x", 1105.0, True),
            ("model", "y + settings", "y - settings", 905.0, True),
            ("model", "[1.0, 2.0])", "[4.0, 2.0])", 908.0, False),  # elements of an array are no part of the code
            ("model", "[4.0, 2.0])", "[4, 2])", 908.0, True),
            ("settings", "100.0", "200.0", 808.0, True),
            ("settings", "1000", "2000", 1808.0, True),
            ("model", "import settings", "import settings  # with a remark", 1808.0, False),
            ("model", "import settings", "import settings\n", 1808.0, True),  # other lines
        ]
        for name, old, new, result, has_translated in changes:
            with self.subTest(new):
                text = getattr(self, name)
                self.assertIn(old, text)
                setattr(self, name, text.replace(old, new))
                self.assertEqual(self.run_once(), (result, has_translated))
                self.assertEqual(self.run_once(), (result, False))

    def test_functions_of_one_function(self):
        """Each finds its own entry: they differ in what they capture."""
        self.model = """
import numpy as np
import dhpvm

def factory(scale, table):
    @dhpvm.jit
    def f(x, i):
        return x[i] * scale + table[0]
    return f

f = factory(2.0, np.array([100.0]))
g = factory(3.0, np.array([200.0]))
h = factory(3.0, np.array([300.0]))
before = f

def f(x, i):
    return before(x, i) + g(x, i) * 1000 + h(x, i) * 1000000

f.inspect = before.inspect
"""
        expected = 102.0 + 203.0 * 1000 + 303.0 * 1000000
        self.assertEqual(self.run_once(), (expected, True))
        self.assertEqual(self.run_once(), (expected, False))
        self.assertEqual(len(self.entries()), 2)  # of arrays only the types count

    def test_files_of_others(self):
        """An entry that is damaged, or that others may write, is not used."""
        self.run_once()
        (entry,) = self.entries()
        content = entry.read_bytes()
        for position in (0, 10, len(content) // 2, len(content) - 1):
            damaged = bytearray(content)
            damaged[position] ^= 0x10
            entry.write_bytes(damaged)
            with self.subTest(position):
                self.assertEqual(self.run_once(), (1103.0, True))
        entry.write_bytes(b"")
        self.assertEqual(self.run_once(), (1103.0, True))
        self.assertEqual(self.run_once(), (1103.0, False))
        entry.chmod(0o666)
        self.assertEqual(self.run_once(), (1103.0, True))

    def test_full_disk(self):
        self.assertEqual(self.run_once(0, 100), (1103.0, True))
        self.assertEqual([path.name for path in (self.folder / "caches" / "dhpvm").iterdir() if path.is_file()], [])
        self.assertEqual(self.run_once(), (1103.0, True))
        self.assertEqual(self.run_once(), (1103.0, False))

    def test_arrays_as_defaults(self):
        self.model = MODEL.replace("def f(x, i):", "def f(x, i, more=np.array([7.0])):").replace("OFFSETS[0]",
                                                                                                 "more[0]")
        self.assertEqual(self.run_once(), (1109.0, True))
        self.assertEqual(self.run_once(), (1109.0, False))
        self.model = self.model.replace("7.0", "8.0")
        self.assertEqual(self.run_once(), (1110.0, False))


if __name__ == "__main__":
    support.main()
