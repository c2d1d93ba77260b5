#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests dhpvm-ptx from outside: arguments, files, exit codes, what is told.

usage: run_ptx.py --bin BIN_DIR [unittest arguments]
"""

import re
import struct
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = None
ROOT = Path(__file__).resolve().parent.parent.parent
REVERSE = ROOT / "samples" / "ptx" / "reverse.ptx"


class PtxTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="dhpvm-ptx-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def run_ptx(self, *words, text=None):
        command = [BIN / "dhpvm-ptx", *words]
        return subprocess.run(command, cwd=self.folder, input=text, capture_output=True, text=True, timeout=60, check=False)

    def expect(self, code, *words, out=None, error="", text=None):
        done = self.run_ptx(*words, text=text)
        self.assertEqual(done.returncode, code, f"{words}: {done.stdout} {done.stderr}")
        if out is not None:
            self.assertEqual(done.stdout.strip(), out, words)
        self.assertIsNotNone(re.search(error, done.stderr), done.stderr)
        if code != 0:
            self.assertLessEqual(done.stderr.count("\n"), 2, done.stderr)
        return done


class CommandLine(PtxTest):
    def test_lists_kernels(self):
        self.expect(0, REVERSE, out="reverse(.u64 from, .u64 to)")
        self.expect(0, "-", text=REVERSE.read_text(), out="reverse(.u64 from, .u64 to)")
        self.expect(0, "--help")

    def test_wrong_words(self):
        run = [REVERSE, "-e", "reverse", "-b", "64"]
        array = "f32[64]:range"
        for words, error in [
            ([], "one file is expected"),
            (["nothing.ptx"], "nothing.ptx"),
            ([REVERSE, "-e", "forward"], "no kernel 'forward': the file has reverse"),
            ([*run, "-a", array], "2 parameters, and 1 arguments"),
            ([*run, "-a", array, "-a", "f32:1"], "argument 1 has 4 bytes"),
            ([*run, "-a", array, "-a", "f31[4]"], "'f31' is no type"),
            ([*run, "-a", array, "-a", "s8[]:300"], "'300' is no number of type s8"),
            ([*run, "-a", array, "-a", "f32[x]"], "is no argument"),
            ([*run, "-a", array, "-a", "f32[99999999999999]"], "larger than"),
            ([*run, "-a", array, "-a", "f32[]:@missing"], "missing"),
            ([*run, "-a", array, "-a", "f32[64]", "-p", "2"], "argument 2 is no array"),
            ([*run, "-a", array, "-a", "f32[64]", "-o", "1"], "names no file"),
            ([*run, "-g", "0"], "not one to three numbers above 0"),
            ([REVERSE, "-e", "reverse", "-b", "64,64"], "block of 4096 threads is too large"),
            ([*run, "--shared=1G"], "shared memory"),
            ([*run, "--limit=x"], "not a number"),
            ([*run, "--gird=2"], "did you mean --grid"),
        ]:
            with self.subTest(error=error):
                self.expect(2, *words, error=error)

    def test_wrong_text(self):
        for text, error in [("", "^-:1:1: PTX begins"), (REVERSE.read_text()[:500], r"^-:\d+:\d+: "), ("\0\1", "^-:1:1: ")]:
            self.expect(2, "-", text=text, error=error)

    def test_files(self):
        (self.folder / "in.raw").write_bytes(struct.pack("<64f", *range(64)))
        run = [REVERSE, "-e", "reverse", "-b", "64", "-a", "f32[]:@in.raw"]
        self.expect(0, *run, "-a", "f32[64]", "-o", "1:out.npy", "-o", "1:out.raw")
        self.assertEqual(struct.unpack("<64f", (self.folder / "out.raw").read_bytes()), tuple(map(float, range(63, -1, -1))))
        stored = (self.folder / "out.npy").read_bytes()
        self.assertRegex(stored, rb"^\x93NUMPY\x01\x00")
        self.assertIn(b"{'descr': '<f4', 'fortran_order': False, 'shape': (64,), }", stored)
        self.assertEqual(stored[-256:], (self.folder / "out.raw").read_bytes())
        back = self.expect(0, REVERSE, "-e", "reverse", "-b", "64", "-a", "@out.npy", "-a", "f32[64]", "-p", "1")
        self.assertEqual(back.stdout.split(), [str(i) for i in range(64)])
        (self.folder / "cut.npy").write_bytes(stored[:-1])
        (self.folder / "order.npy").write_bytes(stored.replace(b"False", b"True "))
        self.expect(2, *run, "-a", "@cut.npy", error="size is not that of its shape")
        self.expect(2, *run, "-a", "@order.npy", error="columns come first")
        self.expect(2, *run, "-a", "f64[]:@out.npy", error="elements of type f32, not f64")

    def test_a_limit(self):
        text = REVERSE.read_text().replace("bar.sync 0;", "AGAIN: bra AGAIN;")
        self.expect(3, "-", "-e", "reverse", "-b", "64", "-a", "f32[64]:0", "-a", "f32[64]", "--limit=100_000", text=text,
                    error="^-:24:10: .*still running after 100000 instructions")

    def test_time(self):
        self.expect(0, REVERSE, "-e", "reverse", "-b", "64", "-a", "f32[64]:0", "-a", "f32[64]", "--time",
                    error=r"^\d+ instructions of all threads in [\d.]+ s")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "--bin":
        sys.exit(__doc__)
    BIN = Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
