#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""All code points in upper and lower case: the module `unicode` says what Python does.

usage: unicode_against_python.py --bin BIN_DIR

Letters that Unicode has got since the module's version, 14, may stay as they are; then Python's Unicode is newer.
"""

import subprocess
import sys
import tempfile
import unicodedata
from pathlib import Path

PROGRAM = """
import io;
import unicode;

fn main(args: [str]) -> void! {
    let text = try io.read_text(args[0]);
    try io.write_text("upper", unicode.upper(text));
    try io.write_text("lower", unicode.lower(text));
    try io.write_text("again", try unicode.from_code_points(unicode.code_points(text)));
    print(unicode.length(text));
}
"""
VERSION = (14, 0, 0)
# Each version adds some dozens of pairs, and gives a few older letters their other case.
MOST_NEWER = 500


def main(arguments):
    if len(arguments) != 2 or arguments[0] != "--bin":
        print(__doc__)
        return 2
    # Beyond the second plane are no letters that have cases: a sample of it is enough.
    codes = [*range(0x20, 0xD800), *range(0xE000, 0x20000), *range(0x20000, 0x110000, 97)]
    characters = [chr(code) for code in codes]
    with tempfile.TemporaryDirectory(prefix="dhpvm-unicode-") as scratch:
        folder = Path(scratch)
        text = "\n".join(characters)
        (folder / "all").write_text(text, encoding="utf-8", newline="")
        (folder / "cases.dhp").write_text(PROGRAM)
        command = [Path(arguments[1]).resolve() / "dhpvm-run", "cases.dhp", "all"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
        if done.returncode != 0 or int(done.stdout) != len(text):
            print(f"the program counts {done.stdout}, not {len(text)} code points: {done.stderr}")
            return 1
        found = {name: (folder / name).read_bytes().decode().split("\n") for name in ("upper", "lower", "again")}
    wrong = []
    newer = 0
    is_newer = tuple(map(int, unicodedata.unidata_version.split("."))) > VERSION
    for name, of_python in ("upper", str.upper), ("lower", str.lower), ("again", lambda c: c):
        for character, changed in zip(characters, found[name], strict=True):
            if changed == of_python(character):
                continue
            if is_newer and changed == character:
                newer += 1
                continue
            wrong.append(f"{name} of U+{ord(character):04X}: {changed!r}, and Python says {of_python(character)!r}")
    print(*wrong[:20], sep="\n")
    print(f"{len(wrong)} of {len(characters)} code points differ, {newer} are newer than the module")
    return 1 if wrong or newer > MOST_NEWER else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
