#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs what the documentation says: README.md, CONTRIBUTING.md and docs/*.md.

Fenced blocks and what happens to them:
  ```sh                 run by bash, stopping at the first command that fails, in a scratch folder that looks like the
                        project's root: samples/, tests/ and build/release/bin are there, the programs are on the PATH,
                        and ./dev checks its arguments and says what it would do. All blocks of a page share the folder.
  ```sh no-run: REASON  not run
  ```output             what the sh block above it prints; a line `...` stands for any number of lines
  ```dhp                compiled and run by dhpvm-run, with the same expectations as the corpus (tests/README.md)
  ```dhp file=NAME      written to NAME in the scratch folder, for other blocks to use
  ```cpp from=PATH      must occur in that file of the project, apart from indentation; likewise ```c and ```python
Every other info string of these languages is an error.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import program as corpus
import run_programs

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>.*)$")
CHECKED_LANGUAGES = {"sh", "output", "dhp", "cpp", "c", "python"}


@dataclass
class Block:
    page: Path
    line: int  # of the opening fence
    language: str
    option: str
    text: str


def blocks_of(page, text):
    """The fenced blocks of a page, in order."""
    blocks, opened, body = [], None, []
    for number, line in enumerate(text.splitlines(), start=1):
        fence = FENCE.match(line)
        if opened is None and fence:
            opened = (number, fence["info"].strip(), len(fence["indent"]))
            body = []
        elif opened and fence and not fence["info"]:
            start, info, indent = opened
            language, _, option = info.partition(" ")
            lines = [line[indent:] for line in body]
            blocks.append(Block(page, start, language, option.strip(), "\n".join(lines) + "\n"))
            opened = None
        else:
            body.append(line)
    return blocks


class Page:
    """One page while its blocks are run, in a scratch folder of its own."""

    def __init__(self, root, build, folder, timeout):
        self.root, self.build, self.folder, self.timeout = root, build, Path(folder), timeout
        self.runner = run_programs.Runner(build / "bin", timeout)
        self.output = None  # of the last sh block
        for name in ("samples", "tests", "docs"):
            (self.folder / name).symlink_to(root / name)
        (self.folder / "build").mkdir()
        (self.folder / "build" / "release").symlink_to(build)
        shim = self.folder / "dev"
        shim.write_text(f'#!/bin/sh\nexec "{root}/dev" --dry-run "$@"\n')
        shim.chmod(0o755)

    def run(self, block):
        """The problems of the block: a list of texts."""
        handler = getattr(self, "run_" + block.language)
        return list(handler(block))

    def run_sh(self, block):
        self.output = None
        if block.option.startswith("no-run"):
            if not re.match(r"no-run: \S", block.option):
                yield "a block that is not run says why: ```sh no-run: REASON"
            return
        if block.option:
            yield f"unknown option '{block.option}'"
            return
        # A cache of compiled code of its own: the user's may be missing, and is not there for tests.
        environment = dict(
            os.environ, PATH=f"{self.build / 'bin'}:{os.environ['PATH']}", XDG_CACHE_HOME=str(self.folder / ".cache")
        )
        # The line that failed is named by bash itself.
        script = "trap 'echo \"line $((LINENO - 1)) failed: $BASH_COMMAND\" >&2' ERR\n" + block.text
        command = ["bash", "-Eeuo", "pipefail", "-c", script]
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=self.timeout, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            yield f"still running after {self.timeout:g} s"
            return
        self.output = run_programs.text_of(done.stdout)
        if done.returncode != 0:
            yield f"exit code {done.returncode}:\n{self.output}"

    def run_output(self, block):
        if self.output is None:
            yield "there is no sh block above it that was run"
            return
        expected, actual = run_programs.lines_of(block.text), run_programs.lines_of(self.output)
        pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in expected)
        if not re.fullmatch(pattern, "".join(line + "\n" for line in actual)):
            yield "the block above prints something else:\n" + "\n".join(actual)

    def run_dhp(self, block):
        if block.option.startswith("file="):
            (self.folder / block.option.removeprefix("file=")).write_text(block.text)
            return
        if block.option:
            yield f"unknown option '{block.option}'"
            return
        path = self.folder / f"line{block.line}.dhp"
        path.write_text(block.text)
        try:
            example = corpus.parse(path, block.text, needs_expectations=False)
        except corpus.BadProgram as problem:
            yield str(problem)
            return
        outcome = self.runner.run(example, run_programs.EXECUTORS[0])
        problems = run_programs.compare(example, outcome)
        if problems:
            yield "\n".join(problems) + "\n" + outcome.stderr

    def run_part(self, block):
        source = block.option.removeprefix("from=")
        if not source or source == block.option:
            yield f"name the file that this is a part of: ```{block.language} from=PATH"
            return
        if not (self.root / source).is_file():
            yield f"there is no file {source}"
            return
        if unindented(block.text) not in unindented((self.root / source).read_text(encoding="utf-8")):
            yield f"is not, or no longer, a part of {source}"

    run_cpp = run_c = run_python = run_part


def unindented(text):
    return "\n".join(line.strip() for line in text.strip().splitlines())


def run_page(root, build, page, timeout):
    """Runs all blocks of a page. Returns passed, failed, skipped."""
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory(prefix="dhpvm-docs-") as folder:
        scratch = Page(root, build, folder, timeout)
        for block in blocks_of(page, page.read_text(encoding="utf-8")):
            if block.language not in CHECKED_LANGUAGES:
                continue
            where = f"{page.relative_to(root)}:{block.line}"
            problems = scratch.run(block)
            if problems:
                failed += 1
                text = "\n".join(problems).rstrip().replace("\n", "\n  ")
                print(f"FAILED {where} ({block.language}):\n  {text}")
            elif block.option.startswith("no-run"):
                skipped += 1
                print(f"SKIP {where}: {block.option.removeprefix('no-run: ')}")
            else:
                passed += 1
    return passed, failed, skipped


def default_pages(root):
    pages = [root / "README.md", root / "CONTRIBUTING.md"] + sorted((root / "docs").rglob("*.md"))
    return [page for page in pages if page.is_file()]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("pages", nargs="*", type=Path, help="default: README.md, CONTRIBUTING.md, docs/")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
    parser.add_argument("--build", type=Path, required=True, help="a build folder, such as build/release")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for each block (default 120)")
    options = parser.parse_args(arguments)
    root = options.root.resolve()
    total = [0, 0, 0]
    for page in options.pages or default_pages(root):
        counts = run_page(root, options.build.resolve(), page.resolve(), options.timeout)
        total = [a + b for a, b in zip(total, counts)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] or not total[0] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
