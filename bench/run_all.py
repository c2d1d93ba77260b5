#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every report, one after the other, and makes docs/performance.md from their results, which docs/performance.json
keeps.

A report that cannot run on this machine, or that fails, keeps its former results; each says of which commit, day and
machine it is. The machine should have nothing else to do: the load before each report is on the page. --take puts a
report onto the page that was made on another machine, such as kernels.json of `./dev gpu-check`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import performance_page
from harness import BENCH, fail

# A run of all takes half an hour on two cores. More runs are for the report alone: ./dev bench kernels --runs 9.
OPTIONS = {
    "kernels": ["--runs=5"],
    "jit": ["--runs=5"],
    "vm": ["--runs=3"],
    "text": ["--runs=3"],
    "regex": ["--runs=3"],
    "python": ["--rounds=2"],
    "offload": ["--runs=5"],
    "batching": ["--runs=3"],
    "remote": ["--turns=3", "--runs=9"],
    "lab": ["--runs=3"],
    "memory": [],
    "gpu": [],
}
SKIPPED = 77


def commit():
    command = ["git", "rev-parse", "--short", "HEAD"]
    done = subprocess.run(command, cwd=BENCH, stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.strip() or "unknown"


def kept(file, load):
    """What docs/performance.json keeps of a report."""
    report = json.loads(file.read_text(encoding="utf-8"))
    del report["details"]
    return report | {"commit": commit(), "date": time.strftime("%Y-%m-%d"), "load": round(load, 1)}


def measure(name, binaries, folder):
    """The report; none if it failed, and an empty one if it was skipped, which it has said itself."""
    file, load = Path(folder) / f"{name}.json", os.getloadavg()[0]
    print(f"==== {name} (load average {load:.1f})\n", flush=True)
    command = [sys.executable, BENCH / f"run_{name}.py", f"--bin={binaries}", f"--json={file}", *OPTIONS[name]]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        print(f"{name}: {'skipped' if done.returncode == SKIPPED else f'exit code {done.returncode}'}\n", flush=True)
        return {} if done.returncode == SKIPPED else None
    return kept(file, load)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("--bin", type=Path, required=True, help="the folder with programs, benchmarks and baselines")
    parser.add_argument("--only", action="append", choices=list(OPTIONS), metavar="REPORT", help="may be repeated")
    parser.add_argument("--page", action="store_true", help="measure nothing: make the page from docs/performance.json")
    parser.add_argument("--take", nargs=2, metavar=("REPORT", "FILE"), help="measure nothing: take this report in")
    options = parser.parse_args(arguments)
    results = performance_page.load()
    if options.take:
        name, file = options.take
        if name not in OPTIONS:
            parser.error(f"there is no report {name}")
        results[name] = kept(Path(file), 0.0)
    missing = []
    with tempfile.TemporaryDirectory(prefix="dhpvm-bench-") as folder:
        for name in [] if options.page or options.take else options.only or OPTIONS:
            report = measure(name, options.bin, folder)
            if report:
                results[name] = report
                performance_page.store(results)
            elif report is None:
                missing.append(name)
    performance_page.store(results)
    if missing:
        fail(f"no new results of {', '.join(missing)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
