#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests --allow from outside: programs that may read and write some folders try to reach others.

usage: run_rights.py --bin BIN_DIR [unittest arguments]
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BIN = None

# Tries one thing after the other, and prints the kind of the error, or what came out.
ATTEMPTS = """import compress;
import csv;
import image;
import io;
import json;
import log;
import npy;
import os;
import process;

fn tell<T>(what: str, result: T!) {
    let value = result catch err { print(what, err.kind.name()); return; };
    print(what, value);
}
fn done(what: str, result: void!) {
    result catch err { print(what, err.kind.name()); return; };
    print(what, "done");
}
fn size_of(bytes: [u8]!) -> i64! => (try bytes).len;
fn rows_of(table: Table!) -> i64! => (try table).len();
fn width_of(picture: Image!) -> i64! => (try picture).width;
fn opened(path: str, mode: str) -> i64! {
    use file = try io.open(path, mode);
    return file.size();
}
fn trapped(what: str, f: fn()) {
    try { f(); } catch err { print(what, err.message.split(";")[0]); return; }
    print(what, "done");
}

BODY
"""


class Rights(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="dhpvm-rights-")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name).resolve()
        for name in ("in", "in/deep", "out", "secret", "int"):
            (self.folder / name).mkdir()
        for name in ("in/a.txt", "in/deep/b.txt", "secret/key", "int/c.txt", "out/old"):
            (self.folder / name).write_text("text")
        (self.folder / "in/to_key").symlink_to("../secret/key")
        (self.folder / "in/to_secret").symlink_to(self.folder / "secret")
        (self.folder / "in/to_deep").symlink_to("deep")
        (self.folder / "in/root").symlink_to("/")
        (self.folder / "in/around").symlink_to("around")
        (self.folder / "out/to_new").symlink_to("../secret/new")
        (self.folder / "out/to_in").symlink_to("../in/a.txt")

    def run_program(self, body, *options, environment=None):
        program = self.folder / "p.dhp"
        program.write_text(ATTEMPTS.replace("BODY", "fn main() {\n" + body + "\n}"))
        command = [BIN / "dhpvm-run", "--jit=off", *options, program]
        variables = {**os.environ, **(environment or {})}
        done = subprocess.run(
            list(map(str, command)), cwd=self.folder, env=variables, capture_output=True, text=True, timeout=120, check=False
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def outcomes(self, calls, *options, **more):
        """The outcome of each call, `tell` or `done` by the type of its result."""
        lines = self.run_program("\n".join(calls), *options, **more)
        self.assertEqual(len(lines), len(calls), lines)
        return lines

    def assert_all(self, lines, outcome):
        self.assertEqual([line for line in lines if not line.endswith(outcome)], [])

    def test_reading_stays_inside(self):
        inside = ["in/a.txt", "./in/../in/a.txt", "in/to_deep/b.txt", "in/deep/../a.txt", f"{self.folder}/in/a.txt", "in//a.txt"]
        outside = ["secret/key", "in/../secret/key", "in/to_key", "in/to_secret/key", f"in/root{self.folder}/secret/key",
                   "int/c.txt", "/etc/passwd", "in/root/etc/passwd", "secret/none", "in/to_secret/none", "/proc/self/environ"]  # fmt: skip
        calls = [f'tell("{path}", io.read_text("{path}"));' for path in inside]
        self.assert_all(self.outcomes(calls, "--allow=read:in"), " text")
        readers = ['io.read_text("PATH")', 'size_of(io.read_bytes("PATH"))', 'opened("PATH", "r")', 'opened("PATH", "r+")', 'os.read_link("PATH/x")',
                   'os.list_dir("PATH")', 'os.real_path("PATH")', 'os.walk("PATH")', 'npy.describe("PATH")', 'width_of(image.read("PATH"))', 'json.read("PATH")',
                   'rows_of(csv.read("PATH"))', 'compress.read_text("PATH")']  # fmt: skip
        calls = [f'tell("{n}", {reader.replace("PATH", path)});' for path in outside for n, reader in enumerate(readers)]
        self.assert_all(self.outcomes(calls, "--allow=read:in,write:out"), " permission denied")
        calls = [f'print(io.exists("{path}"), os.is_dir("{path}"), os.is_file("{path}"));' for path in outside + ["secret", "/"]]
        self.assert_all(self.outcomes(calls, "--allow=read:in"), "false false false")
        self.assert_all(self.outcomes(['tell("circle", io.read_text("in/around"));'], "--allow=read:in"), "input/output failed")
        self.assert_all(self.outcomes(['tell("none", io.read_text("in/none"));'], "--allow=read:in"), "not found")

    def test_writing_stays_inside(self):
        outside = ["secret/key", "out/../secret/key", "out/to_new", "out/to_in", "in/a.txt", "secret/made/deeper", "outer"]
        writers = ['io.write_text("PATH", "x")', 'io.append_text("PATH", "x")', 'os.mkdir("PATH")', 'image.create(1, 1).write("PATH")',
                   'io.write_bytes("PATH", [1])', 'npy.write("PATH", [1.0])']  # fmt: skip
        calls = [f'done("{path}", {writer.replace("PATH", path)});' for path in outside for writer in writers]
        calls += [f'tell("{path}", opened("{path}", "{mode}"));' for path in outside for mode in ("w", "a", "r+")]
        calls += [f'done("{path}", os.rename("{path}", "out/x"));' for path in ("secret/key", "in/a.txt", "out/../in/a.txt")]
        calls += [f'done("{path}", os.rename("out/old", "{path}"));' for path in ("secret/x", "in/x", "in/to_secret/x")]
        calls += ['done("remove", os.remove("secret/key"));', 'tell("remove all", os.remove_all("in"));']
        calls += ['done("link", os.link("/etc/passwd", "out/l"));', 'done("link", os.link("../secret/new", "out/l"));', 'done("link", os.link("old", "in/l"));']
        before = sorted(path.relative_to(self.folder) for path in self.folder.rglob("*"))
        lines = self.outcomes(calls, "--allow=read:in", "--allow=write:out")
        self.assert_all(lines, " permission denied")
        after = sorted(path.relative_to(self.folder) for path in self.folder.rglob("*"))
        self.assertEqual([path for path in after if path not in before], [Path("p.dhp")])
        self.assertEqual((self.folder / "in/a.txt").read_text(), "text")
        calls = ['done("write", io.write_text("out/new", "x"));', 'done("folder", os.mkdir("out/f/g"));', 'done("link", os.link("new", "out/l"));',
                 'done("rename", os.rename("out/new", "out/f/g/new"));', 'done("a link itself", os.remove("out/to_new"));']  # fmt: skip
        self.assert_all(self.outcomes(calls, "--allow=write:out"), " done")
        self.assert_all(self.outcomes(['tell("both", opened("out/old", "r+"));'], "--allow=write:out"), " permission denied")
        self.assert_all(self.outcomes(['tell("both", opened("out/old", "r+"));'], "--allow=write:out,read:out"), " 4")

    def test_a_link_that_the_program_makes_is_no_way_out(self):
        calls = ['done("link", os.link("later/key", "out/l"));', 'tell("dangling", io.read_text("out/l"));']
        lines = self.outcomes(calls, "--allow=read:out,write:out")
        self.assertEqual(lines, ["link done", "dangling not found"])

    def test_what_is_moved_is_no_way_out(self):
        (self.folder / "out/deep").mkdir()
        (self.folder / "out/deep/up").symlink_to("../old")
        calls = ['done("parent", os.link("../old", "out/deep/l"));', 'done("moved", os.rename("out/deep/up", "out/up"));',
                 'tell("all", os.remove_all("out"));', 'done("whole", os.rename("in", "out/in"));', 'done("back", os.rename("out/deep", "in"));']  # fmt: skip
        self.assert_all(self.outcomes(calls, "--allow=read:/,write:in,write:out"), " permission denied")
        self.assert_all(self.outcomes(['done("inside", os.rename("out/deep/up", "out/deep/new"));'], "--allow=write:out"), " done")

    def test_temporary_files_need_the_right_to_write_there(self):
        calls = ['tell("file", os.make_temp_file());', 'tell("folder", os.make_temp_dir());']
        self.assert_all(self.outcomes(calls, "--allow=read:/,write:out", environment={"TMPDIR": str(self.folder / "secret")}), " permission denied")
        self.assertEqual(os.listdir(self.folder / "secret"), ["key"])
        self.outcomes(calls, "--allow=write:out", environment={"TMPDIR": str(self.folder / "out")})
        self.assertEqual(len(os.listdir(self.folder / "out")), 5)

    def test_the_environment_and_other_programs(self):
        calls = ['trapped("env", fn() { os.env("HOME"); });', 'tell("run", process.output(["printf", "x"]));']
        lines = self.outcomes(calls, "--allow=read:in")
        self.assertEqual(lines, ["env the program may not read the environment", "run permission denied"])
        self.assertEqual(self.outcomes(calls[:1], "--allow=env"), ["env done"])
        self.assertEqual(self.outcomes(calls[1:], "--allow=run")[0], "run x")

    def test_the_command_line(self):
        (self.folder / "p.dhp").write_text("fn main() { print(1); }\n")
        for option, reason in [
            ("--allow=read", "'read' is not known"),
            ("--allow=read:", "'read:' is not known"),
            ("--allow=read:in,", "'' is not known"),
            ("--allow=net", "write read:DIR, write:DIR, env or run"),
            ("--allow=read:none", "there is no folder 'none'"),
        ]:
            done = subprocess.run(
                [str(BIN / "dhpvm-run"), option, "p.dhp"], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
            )
            self.assertEqual(done.returncode, 2, option)
            self.assertIn(reason, done.stderr)
        done = subprocess.run(
            [str(BIN / "dhpvm-run"), "--no-system", "--allow=env", "p.dhp"], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
        )
        self.assertIn("leave out one of both", done.stderr)


def main():
    global BIN
    arguments = sys.argv[:]
    if "--bin" not in arguments:
        print(__doc__)
        return 2
    at = arguments.index("--bin")
    BIN = Path(arguments[at + 1]).resolve()
    unittest.main(argv=[arguments[0], *arguments[1:at], *arguments[at + 2 :]])
    return 0


if __name__ == "__main__":
    sys.exit(main())
