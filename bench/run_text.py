#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures text processing as anyone writes it beside Python and C++: the words of a text, a log, groups of a CSV file.

The programs are in bench/programs/text, with their Python twins beside; the C++ is in bench/baselines/text. They
take turns; what counts is the median of the processor time of the repetitions, with what the collector's threads
take, and without the time in which files are read.
"""

import argparse
import itertools
import random
import statistics
import sys
import tempfile
from pathlib import Path

from harness import (
    PROGRAMS,
    Figure,
    Program,
    Report,
    VirtualMachine,
    baseline,
    fail,
    progress,
)
from run_regex import log_text

BAR_PYTHON, BAR_CPP = 4.0, 0.6
WARM_UP = 2
VOCABULARY = 60_000


def words_text(size):
    """Lines of about ten words whose frequencies fall as those of a language do (Zipf's law)."""
    rng = random.Random(5)
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    words, seen = [], set()
    while len(words) < VOCABULARY:
        word = "".join(
            rng.choices(letters, range(26, 0, -1), k=min(1 + int(rng.expovariate(0.3)) + len(words) // 9000, 20))
        )
        if word not in seen:
            seen.add(word)
            words.append(word)
    weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))
    lines, length = [], 0
    while length < size:
        line = " ".join(rng.choices(words, cum_weights=weights, k=rng.randrange(4, 17)))
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines) + "\n"


def csv_text(size):
    rng = random.Random(9)
    first = ("North", "South", "East", "West", "Old", "New", "Saint ", "Upper ", "Lower ", "")
    last = ("ford", "ton", "bridge", "ville", "burgh", "haven", "mouth", "field", "stead", "minster")
    cities = [start + end for start in first for end in last]
    products = ["chair", "table", "lamp", "bookcase", "wardrobe", "kettle", "teapot"]
    lines, length = [], 0
    while length < size:
        price = rng.randrange(100, 99999) / 100
        line = f"{len(lines)},{rng.choice(cities)},{rng.choice(products)},{rng.randrange(1, 30)},{price}"
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines) + "\n"


TASKS = {"word_frequency": words_text, "log_analysis": log_text, "csv_groups": csv_text}


def measure(commands, name, runs):
    """Median processor seconds of each side."""
    programs = {side: Program(command, paced=True) for side, command in commands.items()}
    try:
        for _ in range(WARM_UP + runs):
            for program in programs.values():
                program.turn()
        results = {side: program.finish() for side, program in programs.items()}
    finally:
        for program in programs.values():
            program.end()
    printed = {side: sorted(result.lines) for side, result in results.items()}
    for side, lines in printed.items():
        if lines != printed["Python"]:
            fail(f"{name}: {side} prints {lines[:3]}, and Python {printed['Python'][:3]}")
    return {side: statistics.median(result.processor[WARM_UP:]) for side, result in results.items()}


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--bin", type=Path, required=True, help="the folder with dhpvm-run, dhpvmc and the baselines")
    parser.add_argument("--runs", type=int, default=5, help="timed runs of each program (default 5)")
    parser.add_argument("--size", type=int, default=50, metavar="MB", help="size of each text (default 50)")
    parser.add_argument(
        "--only", action="append", choices=list(TASKS), metavar="PROGRAM", help="this program alone; may be repeated"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write everything to FILE")
    options = parser.parse_args(arguments)
    if options.runs < 1 or options.size < 1:
        fail("--runs and --size must be at least 1")

    rows, figures = [], []
    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as work:
        vm = VirtualMachine(options.bin, work)
        file = Path(work, "text")
        for name in options.only or TASKS:
            progress(name)
            file.write_text(TASKS[name](options.size * 10**6), encoding="utf-8")
            program = vm.compile(PROGRAMS / "text" / f"{name}.dhp")
            commands = {
                "DHPVM": [vm.tool, *vm.flags("on"), program, file],
                "Python": [sys.executable, PROGRAMS / "text" / f"{name}.py", file],
                "C++": [baseline(options.bin, "text", name), file],
            }
            seconds = measure(commands, name, options.runs)
            python, cpp = seconds["Python"] / seconds["DHPVM"], seconds["C++"] / seconds["DHPVM"]
            rows.append((name, *(f"{seconds[side] * 1e3:.0f} ms" for side in commands), f"{python:.2f}", f"{cpp:.2f}"))
            figures.append(Figure.of(f"{name}: speed against Python", python, "times", BAR_PYTHON, True))
            figures.append(Figure.of(f"{name}: speed against C++", cpp, "times", BAR_CPP, True))
    progress("")
    report = Report(f"Python {sys.version.split()[0]}; {options.size} MB; medians of {options.runs} runs in turns, "
                    f"processor time of a round after {WARM_UP} others, with the collector's threads.")  # fmt: skip
    report.table(("program", "DHPVM", "Python", "C++", "times as fast as Python", "as C++"), rows)
    report.figures += figures
    report.print()
    report.write(options.json, runs=options.runs)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
