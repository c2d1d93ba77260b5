#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The compiler warns of what the programs below programs/warnings expect, and of nothing in any other program.

usage: warnings_test.py --bin DIR [FILE...]
"""

import argparse
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import program as corpus

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ["tests/programs", "samples", "bench"]
# Import a module that the benchmark writes, and one that the application defines.
INCOMPLETE = {ROOT / "bench/programs/remote/product.dhp", ROOT / "samples/embed/filter.dhp"}
WARNING = re.compile(r"^(?P<file>.*?):(?P<line>\d+):\d+: warning: (?P<text>.*)$", re.MULTILINE)


def warnings_of(compiler, path):
    """(line, text) of each warning; the compiler must accept the program, warnings or not."""
    words = [compiler, "--check", path]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise corpus.BadProgram(f"{path}: does not compile\n{done.stderr}")
    return [(int(found["line"]), found["text"]) for found in WARNING.finditer(done.stderr)]


def problems_of(compiler, path):
    """The wrong warnings of a program: missing ones, and unexpected ones."""
    program = corpus.load(path) if path.is_relative_to(ROOT / "tests" / "programs") else None
    # The modules that others import are looked at with these.
    if program is not None and (program.errors or program.library):
        return []
    expected = [(warning.line, warning.text) for warning in program.warnings] if program is not None else []
    found = warnings_of(compiler, path)
    problems = [f"{path}:{line}: expected the warning '{text}'" for line, text in expected if (line, text) not in found]
    return problems + [f"{path}:{line}: warning: {text}" for line, text in found if (line, text) not in expected]


def werror_problems(compiler):
    """--werror fails for a warning, and for nothing else; and then leaves no output behind."""
    problems = []
    for source, code in [("fn main() { let unused = 1; }\n", 2), ("fn main() { print(1); }\n", 0)]:
        with tempfile.TemporaryDirectory() as work:
            path = Path(work, "a.dhp")
            path.write_text(source, encoding="utf-8")
            done = subprocess.run([compiler, "--werror", path], capture_output=True, text=True, check=False)
            written = path.with_suffix(".bc").exists()
            if done.returncode != code or written != (code == 0):
                problems.append(f"--werror: exit code {done.returncode}, expected {code}; {done.stderr}{source}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", type=Path, required=True, help="where dhpvmc is")
    parser.add_argument("files", type=Path, nargs="*", help="programs; by default all there are")
    arguments = parser.parse_args()
    compiler = arguments.bin / "dhpvmc"
    files = arguments.files or sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.dhp") if path not in INCOMPLETE)
    with ThreadPoolExecutor(max_workers=2) as pool:
        problems = [text for found in pool.map(lambda path: problems_of(compiler, path), files) for text in found]
    problems += werror_problems(compiler)
    print("\n".join(problems + [f"{len(files)} programs, {len(problems)} problems"]))
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
