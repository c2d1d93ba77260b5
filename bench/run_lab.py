#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures by experiments of dhpvm-lab what unlike workers, crowds and stops cost, and holds the figures against the
bars.

usage: run_lab.py --bin BIN_DIR [--runs N] [--quick]
"""

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import Figure, Report, fail, progress

BAR_UNLIKE, BAR_CROWD, BAR_START_MS, BAR_STOP_MS, BAR_FREE_MS = 1.15, 1.3, 60.0, 200.0, 500.0
TESTS = Path(__file__).resolve().parent.parent / "tests" / "lab"

SLOW_LINK = """program transfers.dhp 20 1000000
worker a
worker b
worker slow
link slow proxy rate=10Mbit
client c --device={devices}
expect right
"""
# The first execution measures the workers, and compiles for them; seven more show what was learnt.
SLOW_CORE = """program long-loops.dhp 8 100000
worker a
worker b
worker slow share=0.1
within 100s
client c --device={devices}
expect right
"""
BEST, ALL = "remote/{a},remote/{b}", "remote/{a},remote/{b},remote/{slow}"
CROWD = "program rounds.dhp 40 100000 0\nworker a\nclient c count=20\nexpect right\n"
# The second client finds the code of the first in the cache of the worker.
START = """program rounds.dhp 1 20000 0
worker a
client first
client second late {where}
at 1s start second
expect right
"""
STOP = "program long-loop.dhp 100000000000\nworker a\nclient c\nat kernel+300ms interrupt c\n"


class Lab:
    def __init__(self, options, folder):
        self.options, self.folder = options, Path(folder)
        for program in TESTS.glob("*.dhp"):
            (self.folder / program.name).write_bytes(program.read_bytes())

    def perform(self, text, *more):
        """The record of an experiment."""
        path, out = self.folder / "scenario.lab", self.folder / "all.json"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [self.options.bin / "dhpvm-lab", "--json", out, *more, path], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            fail(done.stdout + done.stderr)
        (record,) = json.loads(out.read_text(encoding="utf-8"))
        return record

    def ratio(self, text):
        """The time with all workers, over the time with the best choice of them; both in turns."""
        times = {BEST: [], ALL: []}
        for _ in range(self.options.runs):
            for devices, taken in times.items():
                taken.append(self.perform(text.replace("{devices}", devices))["clients"]["c"]["seconds"])
        return statistics.median(times[ALL]) / statistics.median(times[BEST])


def stops(lab, runs):
    """Milliseconds from Ctrl-C to the client's end, and until the worker has nothing left of its session."""
    ends, frees = [], []
    for _ in range(runs):
        record = lab.perform(STOP)
        at = float(re.match(r"([\d.]+) s: interrupt", record["events"][0])[1])
        ends.append((record["clients"]["c"]["seconds"] - at) * 1000)
        frees.append(ends[-1] + record["freed"]["a"] * 1000)
    return statistics.median(ends), statistics.median(frees)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--quick", action="store_true", help="one run of each; figures mean nothing then")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all figures to FILE")
    options = parser.parse_args()
    options.runs = 1 if options.quick else options.runs
    report = Report(f"Medians of {options.runs} runs.")

    def add(name, value, unit, bar):
        report.figures.append(Figure.of(name, value, unit, bar, at_least=False))

    with tempfile.TemporaryDirectory() as folder:
        lab = Lab(options, folder)
        for name, text in (
            ("one of three workers behind 10 Mbit/s, over the other two", SLOW_LINK),
            ("one of three workers has a tenth of a core, over the other two", SLOW_CORE),
        ):
            progress(name)
            add(name, lab.ratio(text), "times", BAR_UNLIKE)
        progress("a crowd")
        crowd = [[client["seconds"] for client in lab.perform(CROWD)["clients"].values()] for _ in range(options.runs)]
        add(
            "20 clients at a worker for 16, longest over shortest",
            statistics.median(max(each) / min(each) for each in crowd),
            "times",
            BAR_CROWD,
        )
        progress("starts")
        there, here = (
            [lab.perform(START.replace("{where}", where))["clients"]["second"]["seconds"] for _ in range(options.runs)]
            for where in ("--jit-wait", "--jit=off --device=host")
        )
        add(
            "a program with a session, over the interpreter",
            (statistics.median(there) - statistics.median(here)) * 1000,
            "ms",
            BAR_START_MS,
        )
        progress("stops")
        end, free = stops(lab, options.runs)
        add("from Ctrl-C to the client's end", end, "ms", BAR_STOP_MS)
        add("from Ctrl-C until the worker's processors are free", free, "ms", BAR_FREE_MS)
    progress("")
    report.print()
    report.write(options.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
