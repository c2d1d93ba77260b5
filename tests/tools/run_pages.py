#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the man pages and the completion for shells that tools/pages makes: every option is there, bash completes with
them, and where zsh, fish and groff are installed, they read theirs.

usage: run_pages.py --bin BIN_DIR [unittest arguments]
"""

import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tools/pages"))
import make_pages  # noqa: E402

BIN = None


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.scratch.name)
        subprocess.run([sys.executable, ROOT / "tools/pages/make_pages.py", BIN, cls.folder], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def text(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def complete(self, tool, *words):
        """The completions of bash for the last word."""
        script = (
            f'source "{self.folder}/bash/{tool}"; compopt() {{ :; }}; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
            f'_{tool.replace("-", "_")}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        )
        found = subprocess.run(["bash", "-c", script, "bash", tool, *words], capture_output=True, encoding="utf-8",
                               check=True, cwd=ROOT / "samples")  # fmt: skip
        return found.stdout.split()

    def test_every_option_is_everywhere(self):
        for tool in make_pages.TOOLS:
            said = subprocess.run([BIN / tool, "--help"], capture_output=True, encoding="utf-8", check=True).stdout
            options = re.findall(r"^  (?:-\w, )?(--[\w-]+)", said, re.MULTILINE)
            self.assertGreater(len(options), 3, tool)
            manual = self.text(f"man/man1/{tool}.1").replace("\\-", "-")
            for option in options:
                self.assertRegex(manual, rf"(?m)^\.B .*{option}\b", tool)
                self.assertIn(f"'{option}", self.text(f"zsh/_{tool}"))
                self.assertIn(f" -l {option[2:]} ", self.text(f"fish/{tool}.fish"))
                offered = [word.removesuffix("=") for word in self.complete(tool, option)]
                self.assertIn(option, offered)

    def test_bash_completes(self):
        self.assertEqual(self.complete("dhpvm-run", "--verif"), ["--verify-only"])
        self.assertEqual(self.complete("dhpvmc", "--emi"), ["--emit="])
        self.assertEqual(self.complete("dhpvmc", "fmt", "--c"), ["--check"])
        self.assertIn("lsp", self.complete("dhpvmc", "ls"))
        names = self.complete("dhpvm-run", "")
        self.assertTrue(any(name.endswith(".dhp") for name in names) or names, names)

    def test_other_shells_read_theirs(self):
        for shell, pattern in (("zsh", "zsh/_*"), ("fish", "fish/*.fish")):
            if shutil.which(shell) is None:
                print(f"SKIP {shell}: not installed", file=sys.stderr)
                continue
            for path in self.folder.glob(pattern):
                checked = subprocess.run([shell, "-n", path], capture_output=True, encoding="utf-8", check=False)
                self.assertEqual((checked.returncode, checked.stderr), (0, ""), path.name)

    def test_manual_pages_are_clean(self):
        if shutil.which("groff") is None:
            self.skipTest("no groff")
        for path in self.folder.glob("man/man1/*.1"):
            printed = subprocess.run(["groff", "-man", "-Tutf8", "-ww", path], capture_output=True, encoding="utf-8",
                                     check=False)  # fmt: skip
            self.assertEqual((printed.returncode, printed.stderr), (0, ""), path.name)
            # Bold letters are struck twice, or stand between escape sequences.
            plain = re.sub(".\x08|\x1b\\[[0-9;]*m", "", printed.stdout).replace("\u2010", "-")
            self.assertIn("--help", plain)


if __name__ == "__main__":
    at = sys.argv.index("--bin")
    BIN = Path(sys.argv[at + 1]).resolve()
    del sys.argv[at : at + 2]
    unittest.main()
