#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the module `regex` beside Python's `re`: finding all matches in generated log lines, and in Russian text.

Both find the matches one by one and add up their sizes, or those of a group. They take turns; what counts is the
median. """

import argparse
import random
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from harness import (
    PROGRAMS,
    Figure,
    Program,
    Report,
    VirtualMachine,
    fail,
    geometric_mean,
    progress,
)

# Expressions, and the group whose places are requested; all of them match something.
LOG_CASES = [
    ("ERROR", 0),
    (r"\b(?:WARN|ERROR)\b", 0),
    (r"\d+\.\d+\.\d+\.\d+", 0),
    (r"[\w.]+@[\w.]+", 0),
    (r"(?m)^(\S+) (ERROR|WARN)", 0),
    (r'"GET (/[^ "]*) HTTP/1\.\d', 0),
    (r"\w+", 0),
    (r"timeout after (\d+)ms", 0),
    (r"(?i)connection|timeout", 0),
    (r".*slow.*", 0),
    (r"(?m)^(\S+) (ERROR|WARN)", 1),
    (r'"GET (/[^ "]*) HTTP/1\.\d', 1),
    (r"(\d+)\.\d+\.\d+\.\d+", 1),
]
RUSSIAN_CASES = [(r"[а-яё]+х ", 0), (r"\d+", 0), ("выпей|чай", 0), (".*чаю.*", 0)]
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю. 12\n"
# The virtual machine compiles what is hot during the first ones.
WARM_UP = 3


def log_text(size):
    rng = random.Random(7)
    levels = ["INFO"] * 12 + ["DEBUG"] * 6 + ["WARN"] * 2 + ["ERROR"]
    paths = [
        "/api/v1/users",
        "/api/v2/orders",
        "/static/app.js",
        "/login",
        "/health",
        "/img/logo.png",
        "/search?q=shoes",
    ]
    rooms = ["net.http", "db.pool", "auth", "cache.redis", "worker"]
    texts = ["request served", "connection reset by peer", "slow query", "token refreshed for user=bob.k@example.com",
             "cache miss", "timeout after {}ms", "naïve café résumé"]  # fmt: skip
    lines, length = [], 0
    while length < size:
        n = rng.randrange
        lines.append(
            f"2026-11-{n(1, 31):02}T{n(24):02}:{n(60):02}:{n(60):02}.{n(1000):03}Z {rng.choice(levels)} [{rng.choice(rooms)}] "
            f'{n(256)}.{n(256)}.{n(256)}.{n(256)} "GET {rng.choice(paths)} HTTP/1.1" {rng.choice([200, 200, 304, 404, 500])} {n(10**5)} '
            f"{rng.choice(texts).format(n(10**5))}\n"
        )
        length += len(lines[-1].encode())
    return "".join(lines)


def find_all(expression, group, text):
    """Does the work of bench/programs/regex.dhp in Python; returns seconds."""
    start = time.perf_counter()
    matches = length = 0
    for found in expression.finditer(text):
        matches += 1
        length += found.end(group) - found.start(group)
    return time.perf_counter() - start


def result_of(expression, group, text):
    """The program's output for each repetition."""
    found = [m[group] for m in expression.finditer(text)]
    return [f"matches {len(found)}", f"bytes {len(''.join(found).encode())}"]


def measure(command, expression, group, text, runs):
    """Median seconds of our program and of Python, and how many matches there are."""
    python = re.compile(expression, re.ASCII)
    program = Program([*command, expression, group], paced=True)
    theirs = []
    try:
        for i in range(WARM_UP + runs):
            program.turn()
            if i >= WARM_UP:
                theirs.append(find_all(python, group, text))
        ours = program.finish()
    finally:
        program.end()
    expected = result_of(python, group, text)
    if ours.lines != expected * (WARM_UP + runs):
        fail(f"{expression}: {ours.lines[:2]}, and Python finds {expected}")
    return statistics.median(ours.times[WARM_UP:]), statistics.median(theirs), expected[0].split()[1]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-run and dhpvmc")
    parser.add_argument("--runs", type=int, default=7, help="timed runs of each expression (default 7)")
    parser.add_argument("--size", type=int, default=20, metavar="MB", help="size of each text (default 20)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything to FILE")
    options = parser.parse_args(arguments)
    if options.runs < 1 or options.size < 1:
        fail("--runs and --size must be at least 1")
    size = options.size * 10**6
    russian = RUSSIAN * (size // len(RUSSIAN.encode()) + 1)

    rows, speedups = [], []
    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as work:
        vm = VirtualMachine(options.bin, work)
        program = vm.compile(PROGRAMS / "regex.dhp")
        for text, cases in ((log_text(size), LOG_CASES), (russian, RUSSIAN_CASES)):
            file = Path(work, "text")
            file.write_text(text, encoding="utf-8")
            megabytes = file.stat().st_size / 1e6
            for expression, group in cases:
                progress(expression)
                command = [vm.tool, *vm.flags("on"), program, file]
                ours, theirs, matches = measure(command, expression, group, text, options.runs)
                speedups.append(theirs / ours)
                name = "`" + expression.replace("|", r"\|") + "`" + (f", group {group}" if group else "")
                rows.append(
                    (name, matches, f"{megabytes / ours:.0f}", f"{megabytes / theirs:.0f}", f"{theirs / ours:.2f}")
                )
    progress("")
    report = Report(f"Python {sys.version.split()[0]}; all matches in {options.size} MB, one by one, after warming up; medians "
                    f"of {options.runs} runs in turns; MB/s.")  # fmt: skip
    report.figures += [
        Figure.of("speed against Python's re, geometric mean", geometric_mean(speedups), "times", None, True),
        Figure.of("speed against Python's re, worst", min(speedups), "times", None, True),
    ]

    rows.sort(key=lambda row: float(row[-1]))
    report.table(("expression", "matches", "DHPVM", "Python", "times as fast"), rows)
    report.print()
    report.write(options.json, runs=options.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
