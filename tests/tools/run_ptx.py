#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests dhpvm-ptx from outside: arguments, files, exit codes, and kernels that are made wrong by hand.

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
SAXPY = ROOT / "tests" / "kernels" / "saxpy.ptx"


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


def single(value):
    """The value as f32 keeps it."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


class Mutants(PtxTest):
    """A mistake is put into a kernel by hand, and found."""

    COUNT = 50

    def saxpy(self, old="", new="", code=0, y=f"f32[{COUNT}]:range", error=""):
        """y[i] = 0.1 x[i] + y[i], as the compiler writes it, with one change; what it gives."""
        text = SAXPY.read_text()
        self.assertIn(old, text)
        factor = struct.unpack("<I", struct.pack("<f", 0.1))[0]
        arguments = ["u64:0", f"u64:{self.COUNT}", f"u64:{factor}", y, f"f32[{self.COUNT}]:range"]
        words = [word for argument in arguments for word in ("-a", argument)]
        done = self.expect(code, "-", "-e", "dhpvm_kernel", "-b", "64", *words, "-p", "3", text=text.replace(old, new, 1),
                           error=error)
        return [float(word) for word in done.stdout.split()]

    def rests(self, old="", new=""):
        """Makes y[i] the rounded -0.1 x[i], so that a correct sum leaves nothing."""
        products = ",".join(repr(-single(single(0.1) * i)) for i in range(self.COUNT))
        return [abs(value) for value in self.saxpy(old, new, y="f32[]:" + products)]

    def test_none(self):
        expected = [single(single(single(0.1) * i) + i) for i in range(self.COUNT)]
        self.assertEqual(list(map(single, self.saxpy())), expected)
        self.assertEqual(self.rests(), [0] * self.COUNT)

    def test_a_missing_bounds_check(self):
        self.saxpy("@%p1 bra \t$L__BB0_3;", "", code=3, error=r"thread \(5\d, 0, 0\) .* accesses 4 bytes at .* of a block of")

    def test_a_bounds_check_that_is_off_by_one(self):
        self.saxpy("setp.ge.u32", "setp.gt.u32", code=3, error=r"thread \(50, 0, 0\) .* 200 bytes behind the begin")

    def test_a_wrong_stride(self):
        self.saxpy("mul.wide.s32 \t%rd3, %r13, 4", "mul.wide.s32 \t%rd3, %r13, 2", code=3, error="multiple of 4|race")

    def test_a_wrong_rounding(self):
        self.assertNotEqual(self.rests("mul.rn.f32", "mul.rz.f32"), [0] * self.COUNT)

    def test_a_contraction(self):
        rests = self.rests("add.rn.f32 \t%f5, %f3, %f4", "fma.rn.f32 \t%f5, %f2, %f1, %f4")
        self.assertNotEqual(rests, [0] * self.COUNT)

    def test_a_read_of_what_nobody_has_written(self):
        self.saxpy(y=f"f32[{self.COUNT}]", code=3, error="reads 4 bytes at offset 0 .*, which nobody has written")

    def test_a_loop_that_goes_on_too_long(self):
        text = SAXPY.read_text().replace("setp.lt.u32 \t%p2, %r14, %r3", "setp.ge.u32 \t%p2, %r14, 0")
        self.expect(3, "-", "-e", "dhpvm_kernel", "-b", "1", "-a", "u64:0", "-a", "u64:1", "-a", "u64:0", "-a", "f32[1]:0",
                    "-a", "f32[1]:0", text=text, error="accesses 4 bytes")

    def reverse(self, old, new, error, threads=64):
        text = REVERSE.read_text()
        self.assertIn(old, text)
        self.expect(3, "-", "-e", "reverse", "-b", str(threads), "-a", "f32[64]:range", "-a", "f32[64]",
                    text=text.replace(old, new, 1), error=error)

    def test_a_missing_barrier(self):
        self.reverse("bar.sync 0;", "", "which nobody has written")

    def test_a_missing_barrier_in_a_warp(self):
        text = REVERSE.read_text().replace("252", "124").replace("bar.sync 0;", "")
        self.expect(3, "-", "-e", "reverse", "-b", "32", "-a", "f32[64]:range", "-a", "f32[64]", text=text,
                    error="thread 31 of the block in line 23 writes, with no barrier .*: a race")

    def test_a_barrier_that_some_threads_miss(self):
        self.reverse("bar.sync 0;", ".reg .pred %p<2>; setp.lt.u32 %p1, %r1, 32; @%p1 bar.sync 0;", "barrier|race|written")

    def test_a_tile_that_is_too_small(self):
        self.reverse("tile[256]", "tile[252]", "of shared memory, 252 bytes behind the begin of a block of 252")

    def test_results_at_one_place(self):
        self.reverse("add.s64 %d5, %d2, %d3;", "mov.u64 %d5, %d2;", "writes 4 bytes at offset 0 .*: a race")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "--bin":
        sys.exit(__doc__)
    BIN = Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
