#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the extension for VS Code with the real server, on a stand-in of the editor that Node.js runs.

usage: run_extension.py --bin BIN_DIR [unittest arguments]
"""

import json
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = None
SOURCE = """// Doubles a number.
fn twice(n: i64) -> i64 => n * 2;
fn main() {
  let count = twice(4);
    print(cuont);
}
"""


@unittest.skipIf(shutil.which("node") is None, "there is no Node.js")
class Extension(unittest.TestCase):
    def run_extension(self, compiler):
        with tempfile.TemporaryDirectory(prefix="dhpvm-extension-") as scratch:
            maker = ROOT / "tools/editors/make_extensions.py"
            subprocess.run([sys.executable, maker, scratch], check=True)
            with zipfile.ZipFile(Path(scratch) / "dhpvm.vsix") as archive:
                archive.extractall(scratch)
            folder = Path(scratch) / "extension"
            manifest = json.loads((folder / "package.json").read_text())
            self.assertTrue((folder / manifest["main"]).is_file())
            source = Path(scratch) / "twice.dhp"
            source.write_text(SOURCE)
            stand_in = ROOT / "tests/tools/vscode_stand_in.js"
            done = subprocess.run(["node", stand_in, folder, compiler, source, SOURCE], capture_output=True, timeout=60)
            self.assertEqual(done.returncode, 0, done.stderr.decode())
            return json.loads(done.stdout)

    def test_every_provider(self):
        given = self.run_extension(BIN / "dhpvmc")
        self.assertEqual(given["errors"], [])
        wrong = given["firstDiagnostics"]
        self.assertEqual(
            [(d["severity"], d["range"]["start"]["line"]) for d in wrong if "cuont" in d["message"]], [(0, 4)]
        )
        self.assertEqual(given["diagnostics"], [])  # after the change
        self.assertIn("Doubles a number", given["hover"]["contents"]["value"])
        self.assertEqual(given["definition"][0]["range"]["start"], {"line": 1, "character": 3, "is": "position"})
        self.assertEqual(len(given["references"]), 2)
        self.assertEqual(len(given["highlights"]), 2)
        self.assertIn("twice", {item["label"] for item in given["completion"]})
        self.assertIn("n: i64", given["signature"]["signatures"][0]["label"])
        self.assertEqual([symbol["name"] for symbol in given["symbols"]], ["twice", "main"])
        self.assertEqual([hint["position"]["line"] for hint in given["hints"]], [3])
        self.assertTrue(given["formatting"])
        self.assertTrue(any("count" in action["title"] for action in given["actions"]))
        self.assertEqual(given["place"]["placeholder"] if "placeholder" in given["place"] else "twice", "twice")
        (edits,) = given["rename"]["files"].values()
        self.assertEqual([edit["newText"] for edit in edits], ["double", "double"])

    def test_a_compiler_that_is_not_there(self):
        given = self.run_extension("/nowhere/dhpvmc")
        self.assertEqual(len(given["errors"]), 1)
        self.assertIn("The setting dhpvm.compiler says where", given["errors"][0])


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] != "--bin":
        sys.exit(__doc__)
    BIN = Path(sys.argv[2]).resolve()
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
