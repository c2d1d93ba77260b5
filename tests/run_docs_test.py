#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of the documentation runner, with a fake dhpvm-run: what a page says wrongly must be found."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import run_docs

# Prints what the program says after `//! out`; a program with `//! exit N` ends with it.
FAKE_RUN = """#!/bin/sh
while case "$1" in --*) true;; *) false;; esac; do shift; done
sed -n 's|^//! out ||p' "$1"
code=$(sed -n 's|^//! exit ||p' "$1")
exit ${code:-0}
"""
FAKE_DEV = """#!/bin/sh
[ "$1 $2" = "--dry-run test" ] || { echo "no such command: $2"; exit 2; }
echo "would test"
"""


class DocsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        for path in ("build/x/bin", "samples", "tests", "docs"):
            (self.root / path).mkdir(parents=True)
        for name, text in (("build/x/bin/dhpvm-run", FAKE_RUN), ("build/x/bin/dhpvmc", FAKE_RUN), ("dev", FAKE_DEV)):
            (self.root / name).write_text(text)
            (self.root / name).chmod(0o755)

    def run_text(self, text):
        (self.root / "README.md").write_text(text)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = run_docs.main(["--root", str(self.root), "--build", str(self.root / "build/x")])
        return code, output.getvalue()

    def assert_passes(self, text):
        code, output = self.run_text(text)
        self.assertEqual(code, 0, output)
        return output

    def assert_fails(self, text, expected):
        code, output = self.run_text(text)
        self.assertEqual(code, 1, output)
        self.assertIn(expected, output)

    def test_a_command_that_fails_is_found_and_its_line_named(self):
        self.assert_passes("```sh\necho a\ntrue\n```\n")
        self.assert_fails("x\n```sh\ntrue\nfalse\ntrue\n```\n", "false")
        self.assert_fails("x\n```sh\nfalse | cat\n```\n", "README.md:2")

    def test_blocks_of_a_page_share_a_folder_and_see_the_programs(self):
        self.assert_passes("```sh\necho '//! out 5' > a.dhp\n```\n```sh\ndhpvm-run a.dhp\n```\n```output\n5\n```\n")

    def test_output_is_compared(self):
        self.assert_passes("```sh\nprintf '1\\n2\\n3\\n'\n```\n```output\n1\n...\n```\n")
        self.assert_fails("```sh\nprintf '1\\n2\\n3\\n'\n```\n```output\n1\n2\n```\n", "prints something else")
        self.assert_fails("```output\n1\n```\n", "no sh block above")

    def test_dev_commands_are_checked_but_not_run(self):
        self.assert_passes("```sh\n./dev test\n```\n```output\nwould test\n```\n")
        self.assert_fails("```sh\n./dev tset\n```\n", "no such command: tset")

    def test_blocks_that_are_not_run_say_why(self):
        output = self.assert_passes("```sh\n```\n```sh no-run: needs a network\nfalse\n```\n")
        self.assertIn("SKIP README.md:3: needs a network", output)
        self.assert_fails("```sh no-run\nfalse\n```\n", "says why")
        self.assert_fails("```sh sometimes\nfalse\n```\n", "unknown option")

    def test_programs_are_run_with_their_expectations(self):
        self.assert_passes("```dhp\n//! out 1\n// expect: 1\n```\n")
        self.assert_passes("```dhp\nno expectations\n```\n")
        self.assert_fails("```dhp\n//! out 2\n// expect: 1\n```\n", "the output differs")
        self.assert_fails("```dhp\n//! exit 2\n```\n", "expected exit code 0, got 2")
        self.assert_fails("```dhp fragment\nx\n```\n", "unknown option")

    def test_quoted_sources_must_still_be_there(self):
        (self.root / "samples/a.cpp").write_text("int main() {\n  return 0;\n}\n")
        self.assert_passes("```cpp from=samples/a.cpp\nreturn 0;\n```\n")
        self.assert_fails("```cpp from=samples/a.cpp\nreturn 1;\n```\n", "no longer")
        self.assert_fails("```cpp from=samples/b.cpp\nreturn 1;\n```\n", "no file samples/b.cpp")
        self.assert_fails("```cpp\nreturn 0;\n```\n", "name the file")
        self.assert_fails("```python\nreturn 0;\n```\n", "```python from=PATH")
        self.assert_fails("```c from=samples/a.cpp\nreturn 1;\n```\n", "no longer")

    def test_documentation_without_anything_to_run_fails(self):
        self.assert_fails("nothing here\n```text\nx\n```\n", "0 passed")


if __name__ == "__main__":
    unittest.main()
