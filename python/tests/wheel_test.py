#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The build backend of the package: what pip makes of the wheels that it writes, without compiling anything."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import support

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "backend"))
import dhpvm_build  # noqa: E402: the backend is no part of the package


class Wheel(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def install(self, files):
        """The folder in which pip has installed a wheel with these files. It checks names, sizes and checksums."""
        name = dhpvm_build.write_wheel(self.folder, files)
        place = self.folder / "installed"
        done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index",
                               "--disable-pip-version-check", f"--target={place}", self.folder / name],
                              capture_output=True, text=True, check=False)
        if "No module named pip" in done.stderr:
            self.skipTest("pip is missing")
        self.assertEqual(done.returncode, 0, done.stderr)
        return place

    def test_contents(self):
        place = self.install({**dhpvm_build.python_files(), "dhpvm/_core.abi3.so": b"compiled"})
        self.assertEqual((place / "dhpvm" / "_core.abi3.so").read_bytes(), b"compiled")
        self.assertTrue((place / "dhpvm" / "translate" / "unit.py").is_file())
        show = "import importlib.metadata as m; d = m.distribution('dhpvm'); print(d.version, *d.requires)"
        told = subprocess.run([sys.executable, "-c", show], env={**os.environ, "PYTHONPATH": str(place)},
                              capture_output=True, text=True, check=True).stdout
        self.assertEqual(told.split()[0], dhpvm_build.version())
        self.assertIn("nanobind-backend>=1.0", told)

    def test_metadata_before_the_build(self):
        name = dhpvm_build.prepare_metadata_for_build_wheel(self.folder)
        self.assertIn("\nRequires-Python: >=3.10\n", (self.folder / name / "METADATA").read_text())

    def test_missing_tools(self):
        before = os.environ["PATH"]
        self.addCleanup(os.environ.__setitem__, "PATH", before)
        os.environ["PATH"] = str(self.folder)
        with self.assertRaisesRegex(SystemExit, "apt install cmake ninja-build"):
            dhpvm_build.build({})
        with self.assertRaisesRegex(dhpvm_build.UnsupportedOperation, "checkout"):
            dhpvm_build.build_sdist(self.folder)


if __name__ == "__main__":
    support.main()
