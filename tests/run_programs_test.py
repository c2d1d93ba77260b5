#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the program runner itself, with fake executables: above all, that every kind of expectation can fail."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import program as corpus
import run_programs

# The fake tools do what the comments of the "program" say: `//! out TEXT`, `//! err TEXT`, `//! exit N`,
# `//! compile-err TEXT` (the compiler fails with it), `//! echo-stdin`, `//! echo-args`, `//! lose-line-in-text`.
FAKE_RUN = """#!/bin/sh
flags=
[ "$1" != --worker ] || { echo "12:00:00 listening at fake:1" >&2; exec sleep 60; }
while [ "${1#--}" != "$1" ]; do flags="$flags $1"; shift; done
source=$1; shift
case "$flags" in *fake:1*) : >"$(dirname "$0")/used-the-worker";; esac
case "$flags" in *--disasm*) grep -v lose-line-in-text "$source"; exit 0;; esac
message=$(sed -n 's|^//! compile-err ||p' "$source")
[ -z "$message" ] || { echo "$message" >&2; exit 2; }
case "$flags" in *--gc-stress*) sed -n 's|^//! stress-out ||p' "$source";; esac
sed -n 's|^//! out ||p' "$source"
grep -q 'lose-line' "$source" && echo line
sed -n 's|^//! err ||p' "$source" >&2
grep -q '^//! echo-stdin' "$source" && cat
grep -q '^//! echo-args' "$source" && echo "$flags $*"
code=$(sed -n 's|^//! exit ||p' "$source")
exit ${code:-0}
"""
FAKE_COMPILER = """#!/bin/sh
message=$(sed -n 's|^//! compile-err ||p' "$1")
[ -z "$message" ] || { echo "$message" >&2; grep -q '^//! litter' "$1" && : >"$3"; exit 2; }
cp "$1" "$3"
"""


class RunnerTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        for name, text in (("dhpvm-run", FAKE_RUN), ("dhpvmc", FAKE_COMPILER)):
            (self.folder / name).write_text(text)
            (self.folder / name).chmod(0o755)

    def run_source(self, source, *executors, name="t.dhp"):
        """Runs one program; returns (exit code, everything printed)."""
        path = self.folder / name
        path.write_text(source)
        arguments = [str(path), "--bin", str(self.folder)]
        for executor in executors or ("interpreter",):
            arguments += ["--executor", executor]
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = run_programs.main(arguments)
        return code, output.getvalue()

    def assert_passes(self, source, *executors):
        code, output = self.run_source(source, *executors)
        self.assertEqual(code, 0, output)
        return output

    def assert_fails(self, source, *expected, executors=()):
        code, output = self.run_source(source, *executors)
        self.assertEqual(code, 1, output)
        for text in expected:
            self.assertIn(text, output)

    def test_output_lines_are_compared_in_order(self):
        self.assert_passes("//! out 1\n//! out 2\n// expect: 1\nprint(2); // expect: 2\n")
        self.assert_fails("//! out 2\n//! out 1\n// expect: 1\n// expect: 2\n", "the output differs", "-1", "+1")

    def test_missing_and_additional_output_fails(self):
        self.assert_fails("//! out 1\n// expect: 1\n// expect: 2\n", "-2")
        self.assert_fails("//! out 1\n//! out 2\n// expect: 1\n", "+2")

    def test_a_worker_runs_beside_programs_with_loops(self):
        output = self.assert_passes("//! out 1\n// expect: 1\nparallel for\n", "device-remote")
        self.assertIn("1 passed", output)
        self.assertTrue((self.folder / "used-the-worker").exists())
        code, output = self.run_source("//! out 1\n// expect: 1\n", "device-remote")
        self.assertEqual((code, output), (run_programs.EXIT_SKIPPED, "0 passed, 0 failed, 0 skipped\n"))

    def test_the_worker_may_be_of_another_build(self):
        other = self.folder / "other"
        other.mkdir()
        (other / "dhpvm-run").write_text(FAKE_RUN.replace("*fake:1*)", "*none*)").replace("fake:1", "fake:2"))
        (other / "dhpvm-run").chmod(0o755)
        (self.folder / "t.dhp").write_text("//! echo-args\n// expect: fake:2\nparallel for\n")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            run_programs.main([str(self.folder / "t.dhp"), "--bin", str(self.folder), "--worker-bin", str(other),
                               "--executor", "device-remote"])
        self.assertIn("remote/fake:2/host", output.getvalue())

    def test_an_exit_code_that_was_not_expected_fails(self):
        self.assert_fails("//! out 1\n//! exit 70\n// expect: 1\n", "expected exit code 0, got 70")
        self.assert_passes("//! exit 7\n// expect exit: 7\n")
        self.assert_fails("//! exit 0\n// expect exit: 7\n", "expected exit code 7, got 0")

    def test_a_trap_needs_its_text_its_exit_code_and_its_line(self):
        trap = "//! err trap: index out of range: 9\n//! err   at native\n//! err   at f (t.dhp:7)\n"
        trap += "//! err   at main (t.dhp:9)\n"
        self.assert_passes(trap + "//! exit 3\n// expect trap: index out of range at line 7\n")
        self.assert_passes(trap + "//! exit 3\n// expect trap: index out of range\n")
        self.assert_fails(
            trap + "//! exit 3\n// expect trap: index out of range at line 9\n", "innermost frame is at line 7"
        )
        self.assert_fails(trap + "//! exit 0\n// expect trap: index out of range\n", "expected exit code 3, got 0")
        self.assert_fails(trap + "//! exit 3\n// expect trap: null reference\n", "expected the trap 'null reference'")
        self.assert_fails("//! err boom\n//! exit 3\n// expect trap: boom at line 1\n", "no frame with a line")

    def test_a_compile_error_needs_its_text_its_exit_code_and_its_line(self):
        error = "//! compile-err t.dhp:4:2: error: unknown name 'x'\n"
        both = ("interpreter", "bytecode")
        self.assert_passes(error + "// expect error: unknown name\n", *both)
        self.assert_passes(error + "// expect error: unknown name at line 4\n", *both)
        self.assert_fails(
            error + "// expect error: unknown name at line 5\n", "found line 4: unknown name 'x'", executors=both
        )
        self.assert_fails(error + "// expect error: type\n", "expected the compile error 'type'", executors=both)
        self.assert_fails("//! out 1\n// expect error: type\n", "expected exit code 2, got 0")
        self.assert_fails(error + "// expect: 1\n", "expected exit code 0, got 2")

    def test_a_failed_compilation_leaves_nothing_behind(self):
        source = "//! compile-err boom\n//! litter\n// expect error: boom\n"
        self.assert_fails(source, "left files behind: a.bc", executors=("bytecode",))

    def test_executors_are_compared_with_the_same_expectations(self):
        every = [executor.name for executor in run_programs.EXECUTORS if executor.device is None]
        output = self.assert_passes("//! out 1\n// expect: 1\n// parallel for\n", *every)
        self.assertIn(f"{len(every)} passed, 0 failed, 0 skipped", output)
        self.assert_fails(
            "//! out 1\n//! stress-out bad\n// expect: 1\n", "on gc-stress", "+bad", executors=("gc-stress",)
        )
        self.assert_fails("//! lose-line-in-text\n// expect: line\n", "-line", executors=("roundtrip",))

    def test_arguments_flags_and_input_reach_the_program(self):
        source = "//! echo-stdin\n//! echo-args\n// stdin: a b\n// stdin: c\n// args: x 'y z'\n// flags: --fuel=5\n"
        self.assert_passes(source + "// expect: a b\n// expect: c\n// expect:  --fuel=5 --jit=off x y z\n")

    def test_skips_say_why(self):
        code, output = self.run_source("// skip: no disk here\n// expect: 1\n")
        self.assertEqual(code, run_programs.EXIT_SKIPPED)
        self.assertIn("no disk here", output)
        output = self.assert_passes("//! out 1\n// skip bytecode: a reason\n// expect: 1\n", "interpreter", "bytecode")
        self.assertIn("1 passed, 0 failed, 1 skipped", output)
        self.assert_fails("// skip:\n// expect: 1\n", "a skip needs a reason")

    def test_a_loop_that_does_not_reach_the_device_is_a_failure(self):
        self.assert_fails("//! out 1\n//! err runs on the host: OpenCL C has nothing like 'phi'\n// expect: 1\n",
                          "cannot be printed as OpenCL C")

    def test_slow_programs_run_without_stress(self):
        output = self.assert_passes("// slow\n//! out 1\n// expect: 1\n", "interpreter", "gc-stress")
        self.assertIn("1 passed, 0 failed, 0 skipped", output)

    def test_a_program_that_cannot_fail_is_refused(self):
        self.assert_fails("fn main() {}\n", "has no expectations")
        self.assert_fails("// expects: 1\n", "not a directive")
        self.assert_fails("// expect traps: 1\n// expect: 2\n", "not a directive")
        self.assert_fails("// expect error: a\n// expect: 2\n", "expects a compile error, and also")
        self.assert_fails("// library\n", "no programs to run")

    def test_a_program_that_hangs_is_stopped(self):
        (self.folder / "dhpvm-run").write_text("#!/bin/sh\nexec sleep 60\n")
        path = self.folder / "t.dhp"
        path.write_text("// expect: 1\n")
        runner = run_programs.Runner(self.folder, timeout=0.3)
        outcome = runner.run(corpus.load(path), run_programs.EXECUTORS[0])
        self.assertIn("stopped it after 0.3 s", outcome.stderr)
        self.assertTrue(run_programs.compare(corpus.load(path), outcome))

    def test_a_missing_tool_is_a_failure(self):
        (self.folder / "dhpvmc").unlink()
        self.assert_fails("// expect: 1\n", "dhpvmc is not there")


if __name__ == "__main__":
    unittest.main()
