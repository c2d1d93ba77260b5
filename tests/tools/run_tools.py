#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests dhpvm-run and dhpvmc from outside: exit codes, streams, options, bad input.

usage: run_tools.py --bin BIN_DIR [unittest arguments]
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

BIN = None

HELLO = 'fn main() { print("hello"); }\n'
ARGUMENTS = 'fn main(args: [str]) -> i32 { for arg in args { print("[" + arg + "]"); } return args.len as i32; }\n'
SPIN = "fn main() { var i = 0; while true { i += 1; } }\n"
TRAP = 'import io;\nfn main() {\n    io.write("before\\n");\n    let xs = [1, 2, 3];\n    print(xs[xs.len]);\n}\n'
GARBAGE = """class Node { next: Node? = null; }
fn main() { for i in 0..500000 { let n = Node(); n.next = Node(); } print("done"); }
"""
KEEP = "class Node { next: Node?; }\nfn main() { var n: Node? = null; while true { n = Node(n); } }\n"
RECURSE = "fn deeper(n: i64) -> i64 => deeper(n + 1) + 1;\nfn main() { print(deeper(0)); }\n"
BIG = "fn main(args: [str]) { let a = [f64](10000000); print(a.len); }\n"
RACE = """fn main(args: [str]) {
    let a = [i64](8);
    let n = args.len;
    parallel for i in 0..8 { a[i * n] = i; }
    print("done");
}
"""


class ToolTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="dhpvm-tools-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def write(self, name, content):
        path = self.folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run_tool(self, tool, *arguments, stdin=b"", stdout=subprocess.PIPE):
        command = [str(BIN / tool), *map(str, arguments)]
        return subprocess.run(
            command, input=stdin, stdout=stdout, stderr=subprocess.PIPE, cwd=self.folder, timeout=120, check=False
        )

    def expect(self, code, tool, *arguments, stdin=b"", out=None, error=""):
        """Runs the tool, and insists on its exit code, its standard output (if given), and a part of its errors."""
        done = self.run_tool(tool, *arguments, stdin=stdin)
        errors = done.stderr.decode()
        self.assertEqual(done.returncode, code, f"{arguments}: {errors}")
        if out is not None:
            self.assertEqual(done.stdout.decode(), out)
        self.assertIn(error, errors)
        if code == 0 and not error:
            self.assertEqual(errors, "")
        return done

    def compile(self, name, source, *options):
        path = self.write(name + ".dhp", source)
        self.expect(0, "dhpvmc", path, *options)
        return self.folder / (name + ".bc")


class ExitCodes(ToolTest):
    def test_programs_of_every_kind(self):
        bytecode = self.compile("hello", HELLO)
        self.expect(0, "dhpvm-run", bytecode, out="hello\n")
        self.expect(0, "dhpvm-run", self.folder / "hello.dhp", out="hello\n")
        self.expect(0, "dhpvmc", "hello.bc", "--emit=dasm")
        self.expect(0, "dhpvm-run", "hello.dasm", out="hello\n")

    def test_the_result_of_main(self):
        self.write("a.dhp", ARGUMENTS)
        self.expect(3, "dhpvm-run", "a.dhp", "x", "", "y z", out="[x]\n[]\n[y z]\n")
        self.expect(0, "dhpvm-run", "a.dhp", out="")
        self.write("exit.dhp", 'import os;\nfn main() { print("out"); os.exit(42); print("never"); }\n')
        self.expect(42, "dhpvm-run", "exit.dhp", out="out\n")

    def test_traps(self):
        self.write("trap.dhp", TRAP)
        done = self.expect(3, "dhpvm-run", "trap.dhp", out="before\n", error="index out of range")
        self.assertRegex(done.stderr.decode(), r"at main \(.*trap\.dhp:5\)")

    def test_compile_errors(self):
        self.write("bad.dhp", "fn main() {\n    let x: i64 = \"text\";\n    y = 1;\n}\n")
        done = self.expect(2, "dhpvm-run", "bad.dhp", out="")
        self.assertGreaterEqual(len(re.findall(r"^bad\.dhp:\d+:\d+: error: ", done.stderr.decode(), re.MULTILINE)), 2)

    def test_formatting(self):
        loose = "fn main( ) {\n  print(1+2 );}\n"
        tidy = "fn main() {\n    print(1 + 2);\n}\n"
        self.expect(0, "dhpvmc", "fmt", "-", stdin=loose.encode(), out=tidy)
        path = self.write("loose.dhp", loose)
        (self.folder / "inner").mkdir()
        self.write("inner/other.dhp", loose)
        self.expect(1, "dhpvmc", "fmt", "--check", ".", out="./inner/other.dhp\n./loose.dhp\n")
        self.assertEqual(Path(path).read_text(), loose)
        # A wrong file is named, stays as it is, and does not keep the others from being formatted.
        wrong = self.write("wrong.dhp", "fn main( {\n")
        self.expect(2, "dhpvmc", "fmt", "wrong.dhp", "missing.dhp", ".", out="", error="wrong.dhp:1")
        self.assertEqual(Path(wrong).read_text(), "fn main( {\n")
        self.assertEqual(Path(path).read_text(), tidy)
        self.expect(0, "dhpvmc", "fmt", "--check", "loose.dhp", "inner", out="")
        self.expect(2, "dhpvmc", "fmt", error="write dhpvmc fmt FILE.dhp")
        self.expect(2, "dhpvmc", "fmt", "--chekc", "x", error="did you mean --check?")
        self.expect(0, "dhpvmc", "fmt", "--help")

    def test_files_that_are_not_there(self):
        for tool in ("dhpvm-run", "dhpvmc"):
            self.expect(2, tool, "missing.dhp", error="missing.dhp")
            self.expect(2, tool, self.folder, error="directory")
            self.expect(2, tool, error="given")
        if os.geteuid() != 0:
            self.write("secret.dhp", HELLO).chmod(0)
            self.expect(2, "dhpvm-run", "secret.dhp", error="Permission denied")

    def test_a_program_without_main(self):
        self.write("library.dhp", "fn f() -> i64 => 1;\n")
        self.expect(2, "dhpvm-run", "library.dhp", error="fn main() { ... }")

    def test_options_behind_a_program_that_looks_at_none(self):
        self.write("none.dhp", HELLO)
        self.expect(0, "dhpvm-run", "none.dhp", "--jit=off", out="hello\n", error="--jit has no effect behind the program")
        self.expect(0, "dhpvm-run", "none.dhp", "--mine", "x", out="hello\n")
        self.write("some.dhp", ARGUMENTS)
        self.expect(1, "dhpvm-run", "some.dhp", "--jit=off", out="[--jit=off]\n")
        self.expect(2, "dhpvm-run", "--worker", "none.dhp", "--listen=127.0.0.1:0", error="leave out 'none.dhp'")

    def test_host_functions_are_missing(self):
        self.write("host.dhp", "extern fn log(text: str);\nfn main() { log(\"x\"); }\n")
        self.expect(2, "dhpvm-run", "host.dhp", error="host.log")


class BadBytecode(ToolTest):
    def test_damage_is_one_clear_line(self):
        good = self.compile("hello", HELLO).read_bytes()
        cases = {"empty": b"", "cut": good[: len(good) // 2], "short": good[:10], "text": b"fn main() {}"}
        for position in range(0, len(good), max(1, len(good) // 40)):
            flipped = bytearray(good)
            flipped[position] ^= 0x40
            cases[f"flipped at {position}"] = bytes(flipped)
        refused = 0
        for name, content in cases.items():
            with self.subTest(name):
                self.write("x.bc", content)
                done = self.run_tool("dhpvm-run", "x.bc")
                # A flipped bit in a checksum's padding or in a name may leave a module that runs.
                self.assertIn(done.returncode, (0, 2))
                refused += done.returncode == 2
                if done.returncode == 2:
                    self.assertEqual(len(done.stderr.decode().splitlines()), 1, done.stderr)
                    self.assertEqual(done.stdout, b"")
        self.assertGreater(refused, len(cases) * 3 // 4)

    def test_newer_versions_are_refused(self):
        newer = bytearray(self.compile("hello", HELLO).read_bytes())
        newer[4] += 1
        self.write("newer.bc", bytes(newer))
        self.expect(2, "dhpvm-run", "newer.bc", error="version")

    def test_verify_only(self):
        bytecode = self.compile("trap", TRAP)
        self.expect(0, "dhpvm-run", "--verify-only", bytecode, out="")
        self.write("bad.dasm", "module 1.0\ntype string str\ntype resource resource\n"
                               "function f(i64) registers 1 0\n  add.i64 p0, p0, p7\n  return\nend\n")  # fmt: skip
        self.expect(2, "dhpvm-run", "--verify-only", "bad.dasm", out="", error="verification failed")


class CommandLine(ToolTest):
    def test_unknown_options_suggest_the_nearest(self):
        self.expect(2, "dhpvm-run", "--stat", "x", error="did you mean --stats?")
        self.expect(2, "dhpvm-run", "--gc_verify", "x", error="did you mean --gc-verify?")
        self.expect(2, "dhpvmc", "--stripp", "x", error="did you mean --strip?")
        self.expect(2, "dhpvmc", "--qqqqqqqq", "x", error="Try 'dhpvmc --help'")

    def test_help_and_version(self):
        for tool, options in (
            ("dhpvm-run", "--disasm --verify-only --stats --trace --limits --fuel --deadline --gc-stress --gc-verify"
                          " --check-races --version"),
            ("dhpvmc", "--output --import-path --strip --emit --check --version"),
        ):  # fmt: skip
            done = self.expect(0, tool, "--help")
            for option in options.split():
                self.assertIn(option, done.stdout.decode())
            self.assertLessEqual(max(map(len, done.stdout.decode().splitlines())), 120)
            self.assertRegex(self.expect(0, tool, "--version").stdout.decode(), rf"^{tool} \d+\.\d+\.\d+\n$")

    def test_options_after_the_program_are_the_programs(self):
        self.write("a.dhp", ARGUMENTS)
        self.expect(3, "dhpvm-run", "a.dhp", "--stats", "--", "-h", out="[--stats]\n[--]\n[-h]\n")
        self.expect(1, "dhpvm-run", "--", "a.dhp", "--version", out="[--version]\n")

    def test_a_processor_that_is_unknown(self):
        self.write("hello.dhp", HELLO)
        done = self.run_tool("dhpvm-run", "--jit=eager", "--cpu=nonsense", "hello.dhp")
        if b"could not be loaded" in done.stderr:
            self.skipTest("SKIP: this build has no native code")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"knows no processor 'nonsense'", done.stderr)
        # Found out while the program runs: it goes on, and says so.
        self.write("hot.dhp", "fn f(n: i64) -> i64 { var s = 0; for i in 0..n { s += i; } return s; }\n"
                   "fn main() { var t = 0; for k in 0..300 { t += f(20_000) & 1; } print(t); }\n")
        done = self.run_tool("dhpvm-run", "--jit=on", "--jit-wait", "--cpu=nonsense", "hot.dhp")
        self.assertEqual((done.returncode, done.stdout), (0, b"0\n"))
        self.assertEqual(done.stderr.count(b"knows no processor 'nonsense'"), 1)

    def test_output_is_whole_when_a_compilation_is_cut_short(self):
        self.write("cut.dhp", "fn main() -> i32 {\n    var sum = 0;\n    for i in 0..200_000 { sum = sum * 3 + i; }\n"
                   "    for i in 0..2000 { print(sum + i); }\n    return 7;\n}\n")
        expected = self.run_tool("dhpvm-run", "--jit=off", "cut.dhp")
        self.assertEqual(expected.returncode, 7)
        for _ in range(5):
            done = self.run_tool("dhpvm-run", "--no-cache", "cut.dhp")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (7, expected.stdout, b""))

    def test_short_programs_find_their_code_in_the_cache(self):
        if os.environ.get("DHPVM_SANITIZED"):
            self.skipTest("SKIP: an instrumented compiler takes longer than a program waits for it at its end")
        # A map of the library is compiled in one piece, which takes longer than the program.
        self.write("short.dhp", "import map;\nfn main() {\n    let m = Map<i64, i64>();\n"
                   "    for i in 0..200_000 { m[i * 7919 % 65_537] = i; }\n    print(m.len());\n}\n")
        run = ("dhpvm-run", "--cache-dir=cache", "--stats=json", "short.dhp")
        first = self.run_tool(*run)
        if json.loads(first.stderr)["compiles"] == 0 and not (self.folder / "cache").exists():
            self.skipTest("SKIP: this build has no native code")
        for _ in range(10):
            statistics = json.loads(self.run_tool(*run).stderr)
            if statistics["compiles"] == 0 and statistics["cache_hits"] > 0:
                return
        self.fail(f"the program is compiled in every run: {statistics}")

    def test_a_compilation_that_outlasts_programs_is_in_the_cache_after_some_runs(self):
        if os.environ.get("DHPVM_SANITIZED"):
            self.skipTest("SKIP: an instrumented compiler takes longer than any run waits")
        # A function whose compilation takes several times as long as the first run waits for it.
        loops = "".join(f"    for i in 0..a.len {{ if a[i] % {n + 3} == {n % 3} {{ sum += a[i] * {n + 1}; }} }}\n"
                        for n in range(40))
        self.write("large.dhp", f"fn work(a: [i64]) -> i64 {{\n    var sum = 0;\n{loops}    return sum;\n}}\n"
                   "fn main() {\n    let a = [i64](200);\n    var sum = 0;\n"
                   "    for i in 0..20 { sum += work(a); }\n    print(sum);\n}\n")
        run = ("dhpvm-run", "--cache-dir=cache", "--stats=json", "large.dhp")
        self.run_tool(*run)
        if not (self.folder / "cache").exists():
            self.skipTest("SKIP: this build has no native code")
        # On a busy machine three runs may not be enough, and a run may end before it looks.
        for _ in range(10):
            statistics = json.loads(self.run_tool(*run).stderr)
            if statistics["cache_hits"] > 0:
                break
        else:
            self.fail(f"the code is in no run's cache: {statistics}")
        self.assertEqual(statistics["compiles"], 0)
        self.assertEqual(list((self.folder / "cache").glob("*.attempts")), [])

    def test_no_library_comes_from_the_current_folder(self):
        for tool in ("dhpvm-run", "dhpvmc", "dhpvm-ptx"):
            listed = subprocess.run(["ldd", BIN / tool], stdout=subprocess.PIPE, text=True, check=True).stdout
            names = re.findall(r"^\s*(\S+) => /", listed, re.MULTILINE)
            self.assertIn("libc.so.6", names)
            for name in names:
                self.write(name, "no library")
            self.expect(0, tool, "--version")

    def test_code_of_the_compiler_leaves_memory(self):
        if os.environ.get("DHPVM_SANITIZED"):
            self.skipTest("SKIP: an instrumented library has more code than the bound")
        program = """import io;
import time;
fn fib(n: i64) -> i64 { if n < 2 { return n; } return fib(n - 1) + fib(n - 2); }
fn main() { print(fib(32)); io.flush(); time.sleep(60.0); }
"""
        command = [BIN / "dhpvm-run", "--no-cache", self.write("compiles.dhp", program)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            try:
                process.stdout.readline()
                # In MiB: the compiler's library has 28 of its code in memory at first.
                end = time.monotonic() + 50
                while (resident := self.file_pages(process.pid)) > 16 and time.monotonic() < end:
                    time.sleep(0.1)
                self.assertLess(resident, 16)
            finally:
                process.kill()

    @staticmethod
    def file_pages(pid):
        """MiB of files that are mapped and in memory."""
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        return int(re.search(r"^RssFile:\s+(\d+) kB$", status, re.MULTILINE)[1]) / 1024

    def test_few_long_iterations_are_compiled(self):
        self.write("long.dhp", "fn main() {\n    let x = [i64](64);\n    parallel for i in 0..x.len {\n"
                   "        for k in 0..300_000 { x[i] = x[i] * 3 + k; }\n    }\n    print(x[7]);\n}\n")
        expected = self.run_tool("dhpvm-run", "--jit=off", "long.dhp").stdout
        if b"could not be loaded" in self.run_tool("dhpvm-run", "--jit=eager", "long.dhp").stderr:
            self.skipTest("SKIP: this build has no native code")
        done = self.run_tool("dhpvm-run", "--explain-offload", "--no-cache", "long.dhp")
        self.assertEqual(done.stdout, expected)
        self.assertRegex(done.stderr, rb"ran on the host: [1-9]\d* of 64 iterations compiled")

    def test_loops_with_limited_fuel_say_that_it_is_the_reason(self):
        self.write("loop.dhp", "fn main() {\n    let x = [i64](1000);\n"
                   "    parallel for i in 0..x.len { x[i] = i * 31; }\n    print(x[7]);\n}\n")
        for device in "auto", "host", "sim", "host,sim":
            self.expect(0, "dhpvm-run", "--explain-offload", "--fuel=1000000", f"--device={device}", "loop.dhp",
                        out="217\n", error="  interpreted, because fuel is limited")

    def test_loops_without_a_code_generator_say_so(self):
        self.write("loop.dhp", "fn main() {\n    let x = [i64](1000);\n"
                   "    parallel for i in 0..x.len { x[i] = i * 31; }\n    print(x[7]);\n}\n")
        if b"could not be loaded" in self.run_tool("dhpvm-run", "--jit=eager", "loop.dhp").stderr:
            self.skipTest("SKIP: this build has no native code")
        for device in "auto", "host", "sim":
            done = self.expect(0, "dhpvm-run", "--explain-offload", "--cpu=no-such", f"--device={device}", "loop.dhp",
                               out="217\n", error="interpreted, because there is no code generator")
            self.assertIn(b"knows no processor 'no-such'", done.stderr)

    def test_code_for_devices_is_printed_where_it_is_used(self):
        if b"opencl:0 " not in self.run_tool("dhpvm-run", "--list-devices").stdout:
            self.skipTest("SKIP: there is no OpenCL device")
        self.write("loop.dhp", "fn main() {\n    let x = [i64](100);\n"
                   "    parallel for i in 0..x.len { x[i] = i * 31; }\n    print(x[7]);\n}\n")
        for device in ("opencl:0", "host,opencl:0"):
            done = self.run_tool("dhpvm-run", "--jit-wait", f"--device={device}", "--print-kernel=opencl", "loop.dhp")
            self.assertEqual((done.returncode, done.stdout), (0, b"217\n"))
            self.assertEqual(done.stderr.count(b"kernel void"), 1, done.stderr)

    def test_a_device_that_is_required_fails_with_a_code_of_its_own(self):
        self.write("loop.dhp", "fn main() {\n    let x = [i64](100);\n"
                   "    parallel for i in 0..x.len { x[i] = i * 31; }\n    print(x[7]);\n}\n")
        self.expect(0, "dhpvm-run", "--require-device", "--device=sim", "loop.dhp", out="217\n")
        unable = "--device=sim?load_fail=1000"
        done = self.expect(4, "dhpvm-run", "--require-device", unable, "loop.dhp", out="", error="loop.dhp:3")
        self.assertNotIn(b"runs on the host", done.stderr)
        self.expect(0, "dhpvm-run", unable, "loop.dhp", out="217\n", error="loop.dhp:3 runs on the host")
        self.expect(4, "dhpvm-run", "--require-device", "--device=cuda:99", "loop.dhp", out="", error="cuda:99")
        self.expect(4, "dhpvm-run", "--require-device", "--device=sim", "--fuel=1000000", "loop.dhp", error="fuel")
        self.write("kept.dhp", 'fn main() {\n    let x = [i64](8);\n    @device("host") parallel for i in 0..8 { x[i] = i; }\n'
                   "    parallel for i in 0..x[0] { x[i] = 7; }\n    print(x[5]);\n}\n")
        for fuel in ((), ("--fuel=1000000",)):
            self.expect(0, "dhpvm-run", "--require-device", "--device=sim", *fuel, "kept.dhp", out="5\n")
        for wrong in ((), ("--device=host",), ("--device=host,sim",), ("--device=sim", "--check-races")):
            self.expect(2, "dhpvm-run", "--require-device", *wrong, "loop.dhp", error="require")

    def test_a_program_whose_name_starts_with_a_dash(self):
        self.write("-a.dhp", HELLO)
        self.expect(0, "dhpvm-run", "--", "-a.dhp", out="hello\n")

    def test_the_limits_reject_nonsense(self):
        for text, part in (
            ("--limits=heap=x", "'x' is not a size"),
            ("--limits=heap", "write it like heap=64M"),
            ("--limits=height=3", "'height' is not a limit"),
            ("--fuel=-1", "'-1' is not a number"),
            ("--deadline=2", "'2' is not a duration"),
            ("--heap=99999999T", "larger than any memory"),
            ("--stats=xml", "--stats=json"),
            ("--gc-stress=-1", "is not a number"),
        ):
            self.expect(2, "dhpvm-run", text, "x.bc", error=part)

    def test_options_that_belong_to_a_missing_one_are_refused(self):
        self.write("p.dhp", HELLO)
        for option, needed in (
            ("--reason=lunch", "--end-session"),
            ("--end-session=3", "--worker-status"),
            ("--json", "--worker-status"),
            ("--metrics=127.0.0.1:0", "--worker"),
        ):
            refused = f"{option.split('=')[0]} belongs to {needed}: write that as well"
            for program in [], ["p.dhp"]:
                self.expect(2, "dhpvm-run", option, *program, out="", error=refused)
        # Behind the program, such words are its own.
        self.write("words.dhp", "fn main(words: [str]) { print(words[0]); }\n")
        self.expect(0, "dhpvm-run", "words.dhp", "--json", out="--json\n")


class Measuring(ToolTest):
    def test_wrong_command_lines(self):
        self.expect(2, "dhpvm-bench", error="say what to measure: dhpvm-bench batching, or dhpvm-bench remote")
        self.expect(2, "dhpvm-bench", "remote", error="--connect=HOST:PORT")
        self.expect(2, "dhpvm-bench", "remote", "--connect=127.0.0.1:1", "--only=nothing", error="loops, overlap, several and products")
        self.expect(2, "dhpvm-bench", "remote", "--connect=127.0.0.1:1", "--data=1", error="at least 1M")

    def test_help_of_a_command_has_its_options_alone(self):
        batching, remote = ("usage: dhpvm-bench batching", "--kernel"), ("usage: dhpvm-bench remote", "--small")
        for command, has, lacks in (
            (["batching"], batching, remote),
            (["remote"], remote, batching),
            ([], batching + remote, ()),
        ):
            text = self.expect(0, "dhpvm-bench", *command, "--help").stdout.decode()
            for part in (*has, "--device", "--runs", "--json", "--threads"):
                self.assertIn(part, text)
            for part in lacks:
                self.assertNotIn(part, text)


class Limits(ToolTest):
    def expect_trap(self, source, options, part):
        self.write("p.dhp", source)
        done = self.expect(3, "dhpvm-run", *options, "p.dhp", error=part)
        self.assertRegex(done.stderr.decode(), r"at \w+ \(p\.dhp:\d+\)")

    def test_each_ends_in_a_trap_with_a_stack(self):
        self.expect_trap(SPIN, ["--fuel=100_000"], "out of fuel")
        self.expect_trap(SPIN, ["--deadline=50ms"], "deadline exceeded")
        self.expect_trap(SPIN, ["--limits=stack=1M,deadline=0.05s,heap=1M"], "deadline exceeded")
        self.expect_trap(KEEP, ["--heap=4M"], "out of memory")
        self.expect_trap(RECURSE, ["--stack=1M"], "stack overflow")
        self.expect_trap(RECURSE, [], "stack overflow")
        self.expect_trap(BIG, ["--off-heap=16M"], "off-heap memory exhausted")

    def test_0_leaves_nothing_and_none_is_no_limit(self):
        self.expect_trap(SPIN, ["--fuel=0"], "out of fuel")
        self.expect_trap(SPIN, ["--deadline=0s"], "deadline exceeded")
        self.expect_trap(KEEP, ["--heap=0"], "out of memory")
        self.expect_trap(BIG, ["--limits=off-heap=0"], "off-heap memory exhausted")
        no_room = "stack overflow: the stack limit leaves no room for a call"
        self.expect(3, "dhpvm-run", "--stack=0", "p.dhp", out="", error=no_room)
        self.write("p.dhp", BIG)
        self.expect(0, "dhpvm-run", "--limits=fuel=none,deadline=none,off-heap=none,device-memory=none,heap=none", "p.dhp")
        self.expect(2, "dhpvm-run", "--stack=none", "p.dhp", error="give it a size")
        self.expect(2, "dhpvm-run", "--threads=0", "p.dhp", error="leave --threads out")
        self.expect(2, "dhpvm-run", "--batch=0", "p.dhp", error="leave --batch out")

    def test_device_memory_is_a_limit_of_devices_alone(self):
        self.write("p.dhp", BIG)
        self.expect(0, "dhpvm-run", "--device-memory=1M", "p.dhp")
        self.expect(3, "dhpvm-run", "--limits=device-memory=64M,off-heap=16M", "p.dhp", error="off-heap memory")
        self.expect(2, "dhpvm-run", "--device-memory=much", "p.dhp", error="'much' is not a size")

    def test_the_system_can_be_out_of_reach(self):
        self.write("p.dhp", 'import io;\nfn main() { print(io.exists("/")); }\n')
        self.expect(0, "dhpvm-run", "p.dhp", out="true\n")
        done = self.expect(2, "dhpvm-run", "--no-system", "p.dhp", out="", error="may not reach files")
        self.assertIn(b"--allow=read:DIR,write:DIR,env,run permits what it lists", done.stderr)
        self.write("p.dhp", "import io;\nfn main() { print(1); }\n")
        self.expect(0, "dhpvm-run", "--no-system", "p.dhp", out="1\n")

    def test_programs_are_started_under_a_parent_that_ignores_its_children(self):
        path = self.write("p.dhp", 'import process;\nfn main() { print(process.output(["echo", "x"])!); }\n')
        ignore = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
        command = [sys.executable, "-c", ignore, BIN / "dhpvm-run", path]
        done = subprocess.run(command, capture_output=True, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"x\n\n", b""))

    def test_fuel_is_exact(self):
        self.write("p.dhp", "fn main() { for i in 0..1000 { } print(1); }\n")
        done = self.expect(0, "dhpvm-run", "--stats=json", "p.dhp", out="1\n", error="{")
        used = json.loads(done.stderr)["fuel_used"]
        self.assertGreater(used, 900)
        self.expect(0, "dhpvm-run", f"--fuel={used}", "p.dhp", out="1\n")
        self.expect(3, "dhpvm-run", f"--fuel={used - 1}", "p.dhp", error="out of fuel")


class Testing(ToolTest):
    SOURCE = """fn test_sums() { assert(1 + 1 == 2); }
fn read() -> i64! { return Error("bad").wrap("cannot read"); }
fn test_reading() -> void! {
    print("first");
    let n = try read();
    print(n);
}
fn test_index() {
    let xs = [1, 2];
    print(xs[xs.len]);
}
fn sign(n: i64) -> i64 {
    if n < 0 {
        return -1;
    }
    return 1;
}
fn test_sign() {
    var sum = 0;
    for i in 0..7 {
        sum += sign(i);
    }
    assert(sum == 7);
}
"""
    FAILURES = """FAILED  test_reading
    trap: cannot read
      because: bad
      at read (sums.dhp:2)
      at test_reading (sums.dhp:5)
    it wrote:
      first
FAILED  test_index
    index out of range: index 2 is out of range for length 2
      at test_index (sums.dhp:10)
"""

    def test_each_ends_by_itself(self):
        self.write("sums.dhp", self.SOURCE)
        text = "ok      test_sums\n" + self.FAILURES + "ok      test_sign\n"
        for options in [], ["--jobs=1"], ["--jit=off"]:
            out = text + "2 passed, 2 failed, 0 left out\n"
            self.expect(1, "dhpvm-run", "--test", *options, "sums.dhp", out=out)
        self.expect(0, "dhpvmc", "sums.dhp")
        self.expect(1, "dhpvm-run", "--test", "sums.bc", out=text + "2 passed, 2 failed, 0 left out\n")
        several = f"sums.bc:\n{text}sums.dhp:\n{text}4 passed, 4 failed, 0 left out\n"
        self.expect(1, "dhpvm-run", "--test", "sums.bc", "sums.dhp", out=several)
        again = f"sums.bc:\n{text}sums.dhp:\n{text}sums.bc:\n{text}6 passed, 6 failed, 0 left out\n"
        self.expect(1, "dhpvm-run", "--test", "sums.bc", "sums.dhp", "sums.bc", out=again)

    def test_filters(self):
        self.write("sums.dhp", self.SOURCE)
        chosen = "ok      test_sums\nok      test_sign\n2 passed, 0 failed, 2 left out\n"
        for filters in ["--filter=test_s*"], ["--filter=sum", "--filter=*_si?n"]:
            self.expect(0, "dhpvm-run", "--test", *filters, "sums.dhp", out=chosen)
        self.expect(2, "dhpvm-run", "--test", "--filter=sum*", "sums.dhp", out="", error="no test has a name")

    def test_reports(self):
        self.write("sums.dhp", self.SOURCE)
        self.expect(1, "dhpvm-run", "--test", "--junit=tests.xml", "--coverage=lines.info", "sums.dhp")
        suite = ElementTree.parse(self.folder / "tests.xml").getroot()[0]
        self.assertEqual((suite.get("tests"), suite.get("failures")), ("4", "2"))
        self.assertEqual([case.get("name") for case in suite if case.find("failure") is not None],
                         ["test_reading", "test_index"])
        lines = (self.folder / "lines.info").read_text().split()
        self.assertEqual(lines[1], "SF:sums.dhp")
        counts = dict(line[3:].split(",") for line in lines if line.startswith("DA:"))
        self.assertEqual({line: counts[str(line)] for line in (1, 2, 6, 9, 13, 14, 16, 21, 23)},
                         {1: "1", 2: "1", 6: "0", 9: "1", 13: "7", 14: "0", 16: "7", 21: "7", 23: "1"})
        # Bytecode tells the lines of what can stop, unless it is made for this.
        self.expect(0, "dhpvmc", "--all-lines", "sums.dhp")
        self.expect(1, "dhpvm-run", "--test", "--coverage=again.info", "sums.bc")
        self.assertEqual((self.folder / "again.info").read_text().split(), lines)
        self.expect(0, "dhpvmc", "--strip", "sums.dhp")
        self.expect(2, "dhpvm-run", "--test", "--coverage=none.info", "sums.bc", error="compile it without")

    def test_what_is_no_test_is_remarked(self):
        self.write("odd.dhp", "fn test_a(n: i64) {}\nfn test_b() -> i64 => 1;\nfn test_c() {}\n")
        done = self.expect(0, "dhpvm-run", "--test", "odd.dhp", error="test_a(i64) is no test")
        self.assertIn(b"test_b() -> i64 is no test", done.stderr)
        self.write("none.dhp", HELLO)
        self.expect(2, "dhpvm-run", "--test", "none.dhp", error="none.dhp has no tests: write")

    def test_a_test_cannot_end_the_others(self):
        self.write("ends.dhp", "import os;\nfn test_a() { os.exit(0); }\nfn test_b() { while true {} }\nfn test_c() {}\n")
        done = self.expect(1, "dhpvm-run", "--test", "--deadline=0.1s", "ends.dhp")
        self.assertIn(b"called os.exit(0)", done.stdout)
        self.assertIn(b"deadline exceeded", done.stdout)
        self.assertIn(b"1 passed, 2 failed", done.stdout)

    def test_interrupts_end_what_runs(self):
        self.write("spin.dhp", "fn test_a() { while true {} }\nfn test_b() { while true {} }\n")
        command = [str(BIN / "dhpvm-run"), "--test", "--jobs=1", "spin.dhp"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder) as process:
            # Until it runs: the signal is only taken from then on.
            while "SigBlk:\t0000000000004002" not in Path(f"/proc/{process.pid}/status").read_text():
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertIn(b"0 passed, 2 failed", out)
        self.assertIn(b"not run, because the tests were stopped", out)

    def test_a_program_that_cannot_run_fails_once(self):
        self.write("host.dhp", 'extern "host.f" fn f() -> i64;\nfn test_a() { f(); }\nfn test_b() {}\n')
        self.expect(2, "dhpvm-run", "--test", "host.dhp", out="", error="imports 'host.f'")

    def test_wrong_command_lines(self):
        self.write("sums.dhp", self.SOURCE)
        self.expect(2, "dhpvm-run", "--junit=x.xml", "sums.dhp", error="write --test before it")
        self.expect(2, "dhpvm-run", "--test", error="no program given")
        self.expect(2, "dhpvm-run", "--test", "--jobs=0", "sums.dhp", error="from 1 up")
        for option in "--junit", "--coverage":
            self.expect(2, "dhpvm-run", "--test", f"{option}=", "sums.dhp", error=f"{option} needs a file")
        self.expect(2, "dhpvm-run", "--test", "sums.dhp", "--filter=x", error="move '--filter=x' to the front")
        self.expect(2, "dhpvm-run", "--test", "--stats", "sums.dhp", error="does not go together with --test")


class Profiling(ToolTest):
    SOURCE = """class Node { next: Node?; }
fn spin(n: i64) -> i64 {
    var sum = 0;
    for i in 0..n { sum += i * i % 7; }
    return sum;
}
fn calls(n: i64) -> i64 => if n < 2 { spin(100) % 2 + n } else { calls(n - 1) + calls(n - 2) };
fn list(n: i64) -> i64 {
    var head: Node? = null;
    for i in 0..n { head = Node(if i % 1000000 == 0 { null } else { head }); }
    return n;
}
fn main() { print(spin(20000000) + calls(20) + list(4000000)); }
"""

    def stacks(self, *options):
        """The time of each stack, by functions alone."""
        self.write("work.dhp", self.SOURCE)
        self.expect(0, "dhpvm-run", *options, "--profile=work.folded", "work.dhp", error="profile of")
        times = {}
        for line in (self.folder / "work.folded").read_text().splitlines():
            frames, _, time_spent = line.rpartition(" ")
            names = tuple(re.sub(r" \(.*", "", frame) for frame in frames.split(";"))
            times[names] = times.get(names, 0) + int(time_spent)
        return times

    def test_functions_are_found_interpreted_and_compiled(self):
        # Compiled ones may be inlined: what is innermost is seen always.
        for options in ["--jit=off"], ["--jit=eager"], ["--jit-threshold=1", "--jit-wait"]:
            stacks = self.stacks(*options)
            self.assertTrue(all(stack[0] == "main" for stack in stacks), stacks)
            self.assertIn("spin", {stack[-1] for stack in stacks})
            self.assertTrue(any("[garbage collection]" in stack for stack in stacks), stacks)
        interpreted = self.stacks("--jit=off")
        self.assertIn(("main", "spin"), interpreted)
        self.assertTrue(any(stack[:4] == ("main", "calls", "calls", "calls") for stack in interpreted))

    def test_forms(self):
        self.write("work.dhp", self.SOURCE)
        done = self.expect(0, "dhpvm-run", "--profile=work.json", "work.dhp", error="work.dhp:4")
        self.assertIn(b" function\n", done.stderr)
        document = json.loads((self.folder / "work.json").read_text())
        profile = document["profiles"][0]
        self.assertEqual(sum(profile["weights"]), profile["endValue"])
        used = {frame for sample in profile["samples"] for frame in sample}
        self.assertEqual(used, set(range(len(document["shared"]["frames"]))))
        self.expect(0, "dhpvm-run", "--profile=work.html", "work.dhp", error="profile of")
        page = (self.folder / "work.html").read_text()
        ElementTree.fromstring(page[page.index("<svg") :])
        self.assertIn("spin", page)
        self.expect(2, "dhpvm-run", "--profile=work.txt", "work.dhp", error="end the name in .html")
        self.expect(2, "dhpvm-run", "--profile=", "work.dhp", error="--profile needs a file")

    def test_devices_have_frames_of_their_own(self):
        source = """fn main() {
    let a = [f64](300000);
    var total = 0.0;
    for r in 0..5 {
        parallel for i in 0..a.len { a[i] = a[i] * 1.5 + (i % 7) as f64; }
        total += a[r];
    }
    print(total);
}
"""
        self.write("loops.dhp", source)
        self.expect(0, "dhpvm-run", "--device=sim", "--profile=loops.folded", "loops.dhp", error="[sim: kernels]")
        stacks = (self.folder / "loops.folded").read_text()
        self.assertIn("main (loops.dhp:5);[sim: kernels] ", stacks)
        self.assertIn(";[sim: transfers] ", stacks)

    def test_a_program_that_is_over_at_once(self):
        self.write("hello.dhp", "fn main() {}\n")
        self.expect(0, "dhpvm-run", "--profile=x.html", "hello.dhp", error="profile")


class Watching(ToolTest):
    def test_stats(self):
        self.write("p.dhp", GARBAGE)
        table = self.expect(0, "dhpvm-run", "--stats", "p.dhp", out="done\n", error="minor_collections").stderr.decode()
        self.assertRegex(table, r"(?m)^bytes_allocated +\d+\.\d MiB  ")
        counters = json.loads(self.run_tool("dhpvm-run", "--stats=json", "p.dhp").stderr)
        self.assertGreaterEqual(counters["bytes_allocated"], 500000 * 2 * 16)
        self.assertGreater(counters["main_time"], 0)
        # After a trap as well.
        self.write("trap.dhp", TRAP)
        self.expect(3, "dhpvm-run", "--stats", "trap.dhp", error="host_calls")

    def test_trace(self):
        self.write("p.dhp", GARBAGE)
        self.expect(0, "dhpvm-run", "--trace=t.json", "p.dhp", out="done\n")
        document = json.loads((self.folder / "t.json").read_text())
        events = document["traceEvents"] if isinstance(document, dict) else document
        names = {event.get("name") for event in events}
        self.assertIn("main", names)
        self.assertTrue(any("collection" in str(name) for name in names), names)
        self.expect(2, "dhpvm-run", "--trace=no/such/folder/t.json", "p.dhp", error="no/such/folder")

    def test_debug_modes(self):
        self.write("p.dhp", "fn main() { var s = \"\"; for i in 0..50 { s = s + str(i); } print(s.len); }\n")
        plain = self.run_tool("dhpvm-run", "p.dhp").stdout.decode()
        for options in (["--gc-stress"], ["--gc-stress=3", "--gc-verify"], ["--gc-verify"]):
            self.expect(0, "dhpvm-run", *options, "p.dhp", out=plain)
        self.write("race.dhp", RACE)
        self.expect(0, "dhpvm-run", "race.dhp", out="done\n")
        self.expect(0, "dhpvm-run", "--check-races", "race.dhp", "one argument", out="done\n")
        self.expect(3, "dhpvm-run", "--check-races", "race.dhp", error="data race")


class Streams(ToolTest):
    def test_programs_come_from_pipes(self):
        bytecode = self.compile("hello", HELLO).read_bytes()
        self.expect(0, "dhpvm-run", "-", stdin=HELLO.encode(), out="hello\n")
        self.expect(0, "dhpvm-run", "-", stdin=bytecode, out="hello\n")
        done = subprocess.run(
            ["bash", "-c", '"$0" <(cat hello.bc)', BIN / "dhpvm-run"], cwd=self.folder, capture_output=True, check=False
        )
        self.assertEqual((done.returncode, done.stdout), (0, b"hello\n"))
        self.expect(2, "dhpvm-run", "-", stdin=b"fn main( {", error="<stdin>:1:")
        self.expect(0, "dhpvmc", "-", "-o", "x.bc", stdin=HELLO.encode())
        self.expect(2, "dhpvmc", "-", stdin=HELLO.encode(), error="use -o FILE")
        piped = self.run_tool("dhpvmc", "-", "-o", "-", stdin=HELLO.encode()).stdout
        self.assertTrue(piped.startswith(b"DHPV"))
        self.expect(0, "dhpvm-run", "-", stdin=piped, out="hello\n")

    def test_standard_input_is_the_programs(self):
        self.write("cat.dhp", "import io;\nfn main() { while true { let l = io.read_line(); if l == null { return; } print(l); } }\n")
        self.expect(0, "dhpvm-run", "cat.dhp", stdin=b"one\ntwo", out="one\ntwo\n")

    def test_closed_and_full_output(self):
        self.write("much.dhp", 'fn main() { for i in 0..100000 { print("some text that fills a pipe", i); } }\n')
        self.write("hello.dhp", HELLO)
        for program in ("much.dhp", "hello.dhp"):
            with open("/dev/full", "wb") as full:
                done = self.run_tool("dhpvm-run", program, stdout=full)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"cannot write to standard output: No space left on device", done.stderr)
            reader, writer = os.pipe()
            os.close(reader)
            with os.fdopen(writer, "wb") as closed:
                done = self.run_tool("dhpvm-run", program, stdout=closed)
            self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))

    def test_a_reader_that_goes_away_ends_all_tools_quietly(self):
        self.write("much.dhp", 'fn main() { for i in 0..100000 { print("some text that fills a pipe", i); } }\n')
        for command in ("dhpvm-run much.dhp", "dhpvm-run --stats=json much.dhp", "dhpvm-run --help", "dhpvmc --emit=dasm -o - much.dhp"):
            line = f"PATH={BIN}:$PATH; {command} | head -c 20 >/dev/null; echo ${{PIPESTATUS[0]}}"
            done = subprocess.run(["bash", "-c", line], cwd=self.folder, capture_output=True, check=False)
            # The help text is small enough to be written before `head` ends.
            self.assertIn(done.stdout, (b"141\n", b"0\n") if "much" not in command or "dhpvmc" in command else (b"141\n",))
            errors = [line for line in done.stderr.splitlines() if not line.startswith(b"{")]
            self.assertEqual(errors, [], command)

    def test_a_parent_that_ignores_broken_pipes_is_told(self):
        self.write("much.dhp", 'fn main() { for i in 0..100000 { print("some text that fills a pipe", i); } }\n')
        line = f"trap '' PIPE; {{ {BIN}/dhpvm-run much.dhp; echo code $? >&2; }} | true"
        done = subprocess.run(["bash", "-c", line], cwd=self.folder, capture_output=True, check=False)
        self.assertRegex(done.stderr, rb"^dhpvm-run: .*cannot write to standard output: Broken pipe\ncode 2\n$")

    def test_errors_and_output_keep_their_order(self):
        self.write("o.dhp", 'import io;\nfn main() { io.write("1"); io.write_error("2"); io.write("3"); trap("4"); }\n')
        done = subprocess.run(
            [BIN / "dhpvm-run", "o.dhp"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
        self.assertRegex(done.stdout.decode(), r"^123dhpvm-run: trap: 4\n")

    def test_interrupts_are_clean_traps_and_end_by_their_signal(self):
        for source in (SPIN, "import time;\nfn main() { time.sleep(60.0); }\n"):
            self.write("spin.dhp", source)
            for number in (signal.SIGINT, signal.SIGTERM):
                running = subprocess.Popen(
                    [BIN / "dhpvm-run", "spin.dhp"], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE
                )
                time.sleep(0.5)
                running.send_signal(number)
                _, errors = running.communicate(timeout=30)
                self.assertEqual(running.returncode, -number, errors)
                self.assertIn(b"interrupted", errors)
                self.assertIn(b"at main (spin.dhp:", errors)

    def test_launches_that_nobody_can_interrupt_end_with_the_process(self):
        if b"opencl:0 " not in self.run_tool("dhpvm-run", "--list-devices").stdout:
            self.skipTest("SKIP: there is no OpenCL device")
        # One iteration, which takes an hour.
        turns = "for k in 0..1_000_000_000_000 { x = x * 1.0000001 + 0.5; }"
        loop = f"parallel for i in 0..1 {{ var x = i as f64; {turns} out[i] = x; }}"
        self.write("long.dhp", f"fn main() {{ let out = [f64](1); {loop} print(out[0]); }}\n")
        self.expect(3, "dhpvm-run", "--device=opencl:0", "--deadline=1s", "long.dhp", error="deadline exceeded")
        for device in ("opencl:0", "opencl:0,sim"):
            running = subprocess.Popen(
                [BIN / "dhpvm-run", f"--device={device}", "long.dhp"], cwd=self.folder, stderr=subprocess.PIPE
            )
            time.sleep(1)
            running.send_signal(signal.SIGTERM)
            _, errors = running.communicate(timeout=60)
            self.assertEqual(running.returncode, -signal.SIGTERM, errors)

    def test_errors_of_main_name_it(self):
        self.write("m.dhp", 'fn main() -> void! { return Error("no luck"); }\n')
        self.expect(3, "dhpvm-run", "m.dhp", error="dhpvm-run: trap: no luck\n  at main (m.dhp:1)\n")


class Compiling(ToolTest):
    def test_outputs(self):
        self.write("p.dhp", HELLO)
        self.expect(0, "dhpvmc", "p.dhp", out="")
        self.assertTrue((self.folder / "p.bc").is_file())
        self.expect(0, "dhpvmc", "-o", "q.bc", "p.dhp")
        self.assertEqual((self.folder / "p.bc").read_bytes(), (self.folder / "q.bc").read_bytes())
        self.expect(0, "dhpvmc", "p.dhp", "--strip", "-o", "small.bc")
        self.assertLess((self.folder / "small.bc").stat().st_size, (self.folder / "p.bc").stat().st_size)
        self.expect(0, "dhpvm-run", "small.bc", out="hello\n")
        text = self.run_tool("dhpvmc", "p.dhp", "--emit=dasm", "-o", "-").stdout
        self.assertEqual(text, self.run_tool("dhpvm-run", "--disasm", "p.bc").stdout)
        self.write("p2.dasm", text)
        self.expect(0, "dhpvmc", "p2.dasm")
        self.assertEqual((self.folder / "p2.bc").read_bytes(), (self.folder / "p.bc").read_bytes())

    def test_nothing_is_left_behind_by_failure(self):
        self.write("bad.dhp", "fn main() { x; }\n")
        self.expect(2, "dhpvmc", "bad.dhp")
        self.write("good.dhp", HELLO)
        self.write("out.bc", "older")
        self.expect(2, "dhpvmc", "bad.dhp", "-o", "out.bc")
        self.assertEqual((self.folder / "out.bc").read_text(), "older")
        self.expect(2, "dhpvmc", "good.dhp", "-o", "/dev/full", error="No space left on device")
        self.expect(2, "dhpvmc", "good.dhp", "-o", "missing/out.bc", error="missing/out.bc")
        self.expect(2, "dhpvmc", "good.dhp", "-o", self.folder, error=str(self.folder))
        self.assertEqual(sorted(p.name for p in self.folder.iterdir()), ["bad.dhp", "good.dhp", "out.bc"])

    def test_check_writes_nothing(self):
        self.write("p.dhp", HELLO)
        self.expect(0, "dhpvmc", "--check", "p.dhp", out="")
        self.expect(0, "dhpvmc", "--check", "-", stdin=HELLO.encode(), out="")
        self.assertEqual([p.name for p in self.folder.iterdir()], ["p.dhp"])

    def test_the_source_is_never_replaced(self):
        for name, options in (("p.bc", []), ("p.dasm", ["--emit=dasm"])):
            self.write(name, "fn main() {}")
            self.expect(2, "dhpvmc", name, *options, error="use -o FILE")
            self.assertEqual((self.folder / name).read_text(), "fn main() {}")

    def test_imports(self):
        (self.folder / "lib").mkdir()
        self.write("lib/tools.dhp", "fn twice(x: i64) -> i64 => 2 * x;\n")
        self.write("p.dhp", "import tools;\nfn main() { print(tools.twice(21)); }\n")
        self.expect(2, "dhpvm-run", "p.dhp", error="tools")
        self.expect(0, "dhpvm-run", "-I", "lib", "p.dhp", out="42\n")
        self.expect(0, "dhpvm-run", "-I", "missing", "--import-path=lib", "p.dhp", out="42\n")
        self.expect(0, "dhpvmc", "-Ilib", "p.dhp")
        self.expect(0, "dhpvm-run", "p.bc", out="42\n")

    def test_wrong_command_lines(self):
        self.write("p.dhp", HELLO)
        self.expect(2, "dhpvmc", "p.dhp", "p.dhp", error="more than one source")
        self.expect(2, "dhpvmc", "p.dhp", "--emit=exe", error="bc or dasm")
        self.expect(2, "dhpvmc", "p.dhp", "-o", error="needs a value")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "--bin":
        sys.exit(__doc__)
    BIN = Path(sys.argv[2]).resolve()
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
