# SPDX-License-Identifier: Apache-2.0
"""A test program of the corpus: its source and the expectations in its comments. See tests/README.md for the list."""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

DIRECTIVE = re.compile(
    r"//\s*(?P<name>expect trap|expect error|expect warning|expect exit|expect|args|stdin|flags|environment|skip(?: [\w-]+)?)\s*:(?P<text>.*)$"
)
MARK = re.compile(r"^\s*//\s*(?P<name>slow|library)\s*(?:\.|$)")
# Looks like a directive, but is none: it would be a test that silently checks nothing.
SUSPECT = re.compile(r"^\s*//\s*(expect|arg|stdin|flag|environment|skip)[\w -]*:")
AT_LINE = re.compile(r"^(?P<text>.*?)\s*\bat line (?P<line>\d+)$")


class BadProgram(Exception):
    """The expectations themselves are wrong; the message says how."""


@dataclass
class Failure:
    """An expected trap or compile error: a text, and the source line if one is given."""

    text: str
    line: int | None

    @staticmethod
    def parse(text):
        match = AT_LINE.match(text)
        if match:
            return Failure(match["text"], int(match["line"]))
        return Failure(text, None)

    def __str__(self):
        return self.text if self.line is None else f"{self.text} at line {self.line}"


@dataclass
class Program:
    path: Path
    stdout: list[str] = field(default_factory=list)
    trap: Failure | None = None
    errors: list[Failure] = field(default_factory=list)
    warnings: list[Failure] = field(default_factory=list)  # warnings_test.py compares them
    exit_code: int | None = None
    args: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    stdin: list[str] = field(default_factory=list)
    skips: dict[str, str] = field(default_factory=dict)  # executor, or "" for all of them: the reason
    slow: bool = False
    library: bool = False

    @property
    def expected_exit_code(self):
        if self.errors:
            return 2
        if self.trap:
            return 3
        return self.exit_code or 0

    def apply(self, name, text):
        """Takes in one directive."""
        if name == "expect":
            # One space after the colon belongs to the comment; further ones belong to the output.
            self.stdout.append(text.removeprefix(" ").rstrip())
            return
        text = text.strip()
        if name == "expect trap":
            if self.trap:
                raise BadProgram("a program can trap only once, and expects two traps")
            self.trap = Failure.parse(text)
        elif name == "expect error":
            self.errors.append(Failure.parse(text))
        elif name == "expect warning":
            self.warnings.append(Failure.parse(text))
        elif name == "expect exit":
            self.exit_code = int(text)
        elif name == "stdin":
            self.stdin.append(text)
        elif name == "args":
            self.args += shlex.split(text)
        elif name == "flags":
            self.flags += shlex.split(text)
        elif name == "environment":
            variable, sign, value = text.partition("=")
            if not sign:
                raise BadProgram("write `// environment: NAME=value`")
            self.environment[variable] = value
        else:
            if not text:
                raise BadProgram("a skip needs a reason: `// skip: REASON`")
            self.skips[name.removeprefix("skip").strip()] = text

    def validate(self):
        if self.library:
            return
        if not (self.stdout or self.trap or self.errors or self.exit_code is not None):
            raise BadProgram(
                "has no expectations, so the test cannot fail; mark a module that others import with `// library`"
            )
        if self.errors and (self.stdout or self.trap or self.exit_code):
            raise BadProgram("expects a compile error, and also something that only happens when it runs")


def parse(path, source, needs_expectations=True):
    """The Program in `source`. Raises BadProgram."""
    program = Program(path)
    for number, line in enumerate(source.splitlines(), start=1):
        directive = DIRECTIVE.search(line)
        mark = MARK.match(line)
        try:
            if directive:
                program.apply(directive["name"], directive["text"])
            elif mark:
                setattr(program, mark["name"], True)
            elif SUSPECT.match(line):
                raise BadProgram("this is not a directive that the runner knows (tests/README.md lists them)")
        except (BadProgram, ValueError) as problem:
            raise BadProgram(f"{path}:{number}: {problem}") from problem
    if not needs_expectations and program.exit_code is None:
        program.exit_code = 0
    try:
        program.validate()
    except BadProgram as problem:
        raise BadProgram(f"{path}: {problem}") from problem
    return program


def load(path):
    return parse(path, path.read_text(encoding="utf-8"))
