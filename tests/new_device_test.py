#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/adding-a-device.md can be followed: what its first step makes compiles, and all files that it names are there.

usage: new_device_test.py BUILD

BUILD is a build folder with a compile_commands.json. Nothing is built: the compiler checks the syntax of the copy.
"""

import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/adding-a-device.md"
MODEL = ROOT / "offload/devices/null"
NAME = "proof"
# As device_kinds.cpp declares it, from the line in the table.
DECLARATION = f"namespace dhpvm::offload {{ std::unique_ptr<DeviceFactory> {NAME}_factory(); }}\n"
# Files that a path of the page may mean, in backticks: from the root, or from one of these rooms.
ROOMS = ["", "offload", "offload/devices", "codegen/device", "tests", "codegen", "offload/drivers"]


def renamed(text):
    """The first step: `null` where it stands alone or before an underscore, `Null` of the types, and the folder."""
    text = re.sub(r"\bnull(?=\b|_)", NAME, text)
    text = re.sub(r"\bNull(?=[A-Z])", NAME.capitalize(), text)
    return text.replace(f"offload/devices/{NAME}", f"offload/drivers/{NAME}")


def compiler_of(build):
    """The words that compile the model's room, without a file and its output."""
    commands = json.loads((build / "compile_commands.json").read_text(encoding="utf-8"))
    command = next(entry for entry in commands if "/dhpvm_offload_devices.dir/" in entry["command"])
    words = shlex.split(command["command"])
    if Path(words[0]).name == "ccache":
        del words[0]
    words = words[: words.index("-o")]
    return [word for word in words if word not in ("-c", "-Winvalid-pch")], command["directory"]


def compile_problems(build):
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work, "offload/drivers", NAME)
        folder.mkdir(parents=True)
        for suffix in (".h", ".cpp"):
            text = renamed((MODEL / f"null_device{suffix}").read_text(encoding="utf-8"))
            end = DECLARATION if suffix == ".cpp" else ""
            (folder / f"{NAME}_device{suffix}").write_text(text + end, encoding="utf-8")
        words, directory = compiler_of(build)
        words += [f"-I{work}", "-fsyntax-only", str(folder / f"{NAME}_device.cpp")]
        done = subprocess.run(words, cwd=directory, capture_output=True, text=True, check=False)
        return [f"the copy of {MODEL.name}/ does not compile:\n{done.stderr}"] if done.returncode != 0 else []


def missing_files():
    """Paths of the page in backticks that are no files. Those with NAME in them are its reader's to make."""
    for path in re.findall(r"`([\w.-]+(?:/[\w.-]*)+|[\w-]+\.(?:h|def|cpp|py))`", PAGE.read_text(encoding="utf-8")):
        is_pattern = "NAME" in path or path.startswith("_")
        if not is_pattern and not any((ROOT / room / path).exists() for room in ROOMS):
            yield f"{PAGE.name}: there is no {path}"


def main():
    if len(sys.argv) != 2:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    problems = [*missing_files(), *compile_problems(Path(sys.argv[1]))]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
